"""Write source files that are generated. This module needs only Python's standard library."""

from __future__ import annotations

import os
from pathlib import Path


def keep(path: Path, text: str) -> Path:
    """Write the text to the file unless the file already contains it; return the path.

    This creates the folder if it is missing, and replaces the file in one step, because other
    processes may be reading or writing it.
    """
    if not path.exists() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        own = path.with_suffix(f".{os.getpid()}")
        own.write_text(text, encoding="utf-8")
        own.replace(path)
    return path
