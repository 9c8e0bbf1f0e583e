"""The parts of a kernel file that identify it: its source, and its code.

The source is everything but the `// Measured: …` line. That line is written from a committed run of
this source. If it were part of the source, writing it would invalidate that run.

The code is the source without its comments. In C++, every line keeps its place: a run of the same
code measured the same machine code, and the line numbers in its journal still hold.
"""

from __future__ import annotations

import hashlib
import re

from harness.files.statements import statements

MEASURED = b"// Measured:"
_ENDS = rb"[^\n]*(?<![\\\s])(?<!\?\?/)[ \t\r]*$"
"""The rest of a comment line that does not continue on the next line."""
_ABOVE = rb"\A((?://" + _ENDS + rb"\n)*?)"
"""Comment lines from the file's beginning: what looks like one further below may be part of another
comment or of a string."""
_LINE = re.compile(_ABOVE + rb"// Measured:" + _ENDS, re.MULTILINE)
_PARAGRAPH = re.compile(_ABOVE + rb"//\n// Measured:" + _ENDS + rb"\n", re.MULTILINE)
_TOKEN = re.compile(
    rb"""
    (?P<comment> //(?:[^\n\\]|\\.)* | /\*.*?\*/ )
    | R"(?P<end>[^\s()\\]*)\(.*?\)(?P=end)"     # a raw string
    | "(?:[^"\\\n]|\\.)*"                      # a string
    | (?<![0-9A-Za-z_])'(?:[^'\\\n]|\\.)*'     # a character; in a number, ' separates digits
    """,
    re.DOTALL | re.VERBOSE,
)
_SPACE = re.compile(rb"[ \t\r]+$", re.MULTILINE)
C_SUFFIXES = (".cu", ".cuh", ".cpp", ".h", ".hpp", ".inl")


def sha256(content: bytes) -> str:
    """Hash a file's content, ignoring its `// Measured: …` line."""
    return hashlib.sha256(_LINE.sub(rb"\1" + MEASURED, content)).hexdigest()


def is_of(content: bytes, known: str) -> bool:
    """Return whether the file, with or without its measurement line, has this hash or one that
    begins with it."""
    hashes = sha256(content), sha256(_PARAGRAPH.sub(rb"\1", content))
    return known != "" and any(found.startswith(known) for found in hashes)


def code_sha256(content: bytes, suffix: str) -> str:
    """Hash the code of a Python or C++ file, by its suffix: a Python file's statements; a C++ file
    without comments, but with every line in its original place."""
    if suffix == ".py":
        code = statements(content.decode(errors="surrogateescape"), suffix)
        return hashlib.sha256(code.encode(errors="surrogateescape")).hexdigest()
    return hashlib.sha256(without_comments(content)).hexdigest()


def without_comments(content: bytes) -> bytes:
    """Replace each comment of a C++ file by its line breaks, or by a space."""

    def kept(token: re.Match[bytes]) -> bytes:
        comment = token["comment"]
        return token[0] if comment is None else b"\n" * comment.count(b"\n") or b" "

    return _SPACE.sub(b"", _TOKEN.sub(kept, content)).rstrip() + b"\n"
