"""Use UTF-8 for all files, whatever the locale; text that a terminal cannot show is escaped."""

from __future__ import annotations

import io
import locale
import os
import sys

_UTF8 = ("utf-8", "utf8")


def everywhere() -> None:
    """Restart this program in Python's UTF-8 mode, unless files are UTF-8 already.

    The program's workers then use UTF-8, too. The terminal keeps its encoding.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    preferred = locale.getpreferredencoding(False).lower()
    if preferred in _UTF8 or os.environ.get("PYTHONUTF8") == "1":
        return
    os.environ["PYTHONUTF8"] = "1"
    os.environ.setdefault("PYTHONIOENCODING", f"{sys.stdout.encoding}:backslashreplace")
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
