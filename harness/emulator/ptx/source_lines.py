"""Map `.loc` and `.file` directives to the CUDA source line that concerns the user.

nvcc -lineinfo writes one `.loc` before an instruction for every call it was inlined through,
outermost first. The line worth reporting is the innermost one in the user's own files: a fault
inside `__shfl_down_sync` belongs to the line that calls it, not to a CUDA header.
"""

from __future__ import annotations

import re
from posixpath import normpath

from harness.emulator.ptx.syntax import Location

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d{1,9})[ \t]+"([^"\n]*)"', re.MULTILINE | re.ASCII)
_TOOLKIT = re.compile(r"/targets/[^/]+/include/|/cuda[^/]*/include/|/cu1\d/include/|/cccl/")

_Key = tuple[int, int, int]


class SourceLines:
    """Tracks the `.loc` directives of one PTX text."""

    def __init__(self, text: str) -> None:
        # The file table is at the end of the text, after everything that refers to it.
        # nvcc names its own headers by paths through its bin/.. folder.
        self._files = {int(number): normpath(name) for number, name in _FILE.findall(text)}
        self._seen: dict[_Key, Location] = {}
        self._current: Location | None = None

    def loc(self, words: list[str]) -> None:
        """Read one directive: `.loc file line column [, function_name L, inlined_at f l c]`."""
        key = _key(words[1:4])
        if key is None:
            return
        parent = None
        if "inlined_at" in words:
            at = words.index("inlined_at")
            parent_key = _key(words[at + 1 : at + 4])
            parent = self._seen.get(parent_key) if parent_key else None
            if parent is None and parent_key:
                parent = self._location(parent_key, None)
        elif key[1] == 0 and self._current is not None:
            return  # line 0 means "no line of its own": keep the one before
        self._current = self._seen[key] = self._location(key, parent)

    def enter_function(self) -> None:
        """Start a function: locations of the previous one no longer apply."""
        self._seen.clear()
        self._current = None

    def current(self) -> Location | None:
        """The line that the next instruction belongs to."""
        return self._current

    def _location(self, key: _Key, parent: Location | None) -> Location:
        return Location(self._files.get(key[0], f"<file {key[0]}>"), key[1], parent)


def user_line(location: Location | None, caller: Location | None = None) -> Location | None:
    """The innermost location outside the CUDA toolkit's headers, or else the caller's.

    Unoptimised code calls the functions of these headers, some of which have no lines.
    """
    outermost = location
    while location is not None:
        if not _TOOLKIT.search(location.file):
            return location
        outermost, location = location, location.inlined_at
    return caller or outermost


def _key(words: list[str]) -> _Key | None:
    try:
        file, line, column = (int(word[:9]) for word in words)
    except ValueError:
        return None
    return file, line, column
