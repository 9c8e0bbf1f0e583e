"""Escape untrusted text for each place where it is shown.

Names, reasons and remarks come from a run's folder, which may be untrusted, and from compilers and
kernels. Characters that could act where they are shown, or disguise the text, are replaced by
their escapes: terminal control sequences, carriage returns, bidirectional marks, invisible
characters. Markup is escaped as each kind of file requires.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_ACTS = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"  # terminal commands; tabs and new lines are kept
    "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"  # control the writing direction
    "\\u2028\\u2029"  # treated as new lines by some programs only
    "\\u180e\\u200b\\u2060-\\u2065\\u206a-\\u206f\\ufeff\\ufff9-\\ufffb"  # invisible characters
    "\\U000e0000-\\U000e007f"
)
_IN_TEXT = re.compile(f"[{_ACTS}]")
_IN_LINE = re.compile(f"[{_ACTS}\\t\\n]")

_COMMAND = re.compile(r"^\s*::|##\[", re.MULTILINE)

_FORMULA = ("=", "+", "-", "@")
"""The characters that begin a formula, even after spaces, and their full-width forms."""

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""

_GAP = re.compile("[ \t\n]+")
"""Blanks that are replaced: all except the narrow space between a number and its unit."""

_MENTION = re.compile(r"(?<=[@#])(?=\w)")


def text(said: str) -> str:
    """Escape text of several lines, keeping its line breaks: the sequence that clears the screen
    becomes `\\x1b[2J`."""
    return _IN_TEXT.sub(_escape, said.replace("\r\n", "\n"))


def line(said: str) -> str:
    """Escape one line, including any newline: a newline in a name could forge an extra line."""
    return said if is_plain(said) else _IN_LINE.sub(_escape, said)


def no_workflow_command(said: str) -> str:
    """Escape what GitHub's runner would execute in a job's output: `::` at the beginning of a line,
    even after spaces, and its older form `##[` anywhere."""
    return _COMMAND.sub(lambda found: f"{found[0][:-1]} {found[0][-1]}", said)


def is_plain(said: str) -> bool:
    """Return whether the text contains nothing active or hidden; fast, because a journal has
    millions of texts."""
    return said.isascii() and said.isprintable()


def data(value: Any) -> Any:
    """Escape every text and key in JSON lists and objects, as one line each."""
    if isinstance(value, str):
        return line(value)
    if isinstance(value, dict):
        return {data(key): data(each) for key, each in value.items()}
    if isinstance(value, list | tuple) and not (value and isinstance(value[0], float)):
        make = getattr(value, "_make", type(value))  # a named tuple takes its items as arguments
        return make(data(each) for each in value)
    return value


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def cell(value: Any) -> Any:
    """Escape a CSV cell: text that looks like a spreadsheet formula gets a leading apostrophe."""
    if not isinstance(value, str):
        return value
    is_formula = unicodedata.normalize("NFKC", value).lstrip()[:1] in _FORMULA
    return f"'{text(value)}" if is_formula else text(value)


def markdown(said: str) -> str:
    """Escape for Markdown, including table cells: the text cannot form markup, a mention or a new
    line."""
    inert = text(said).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;")
    for mark in "|_*[]`~":
        inert = inert.replace(mark, f"\\{mark}")
    return _MENTION.sub("<!-- -->", _GAP.sub(" ", inert))


def markdown_code(said: str) -> str:
    """Escape for Markdown code, including in table cells."""
    return _GAP.sub(" ", text(said).replace("`", "'").replace("|", "\\|"))


def xml(said: str) -> str:
    """Replace characters that XML cannot hold. Markup is escaped by the writer of the file."""
    return _NOT_XML.sub("\ufffd", text(said))
