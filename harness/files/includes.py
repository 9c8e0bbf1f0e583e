"""Find the files that a C++ source may include, without compiling it.

Macros are not evaluated: a file counts as included if some directive may include it. If a directive
does not name its file, or asks whether a file exists, every file in the folders counts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_SPACE = r"(?:[ \t\f\v]|/\*.*?\*/)*"
_DIRECTIVE = re.compile(
    rf"(?:^|\*/){_SPACE}(?:\#|%:|\?\?=){_SPACE}(?:include|include_next|import|embed)\b{_SPACE}"
    r"(?:<([^>\n]+)>|\"([^\"\n]+)\"|)",
    re.MULTILINE | re.DOTALL,
)
_SPLICE = re.compile(r"(?:\\|\?\?/)[ \t\r\f\v]*\n")
"""The end of a line that continues on the next."""


def included(source: Path, folders: Sequence[Path]) -> tuple[Path, ...]:
    """The file and all of the user's own files that it may include, whatever macros are defined.

    `folders`: the folders in which headers are looked up, after the including file's own. A header
    that is in none of them belongs to a toolkit.
    """
    found: dict[Path, None] = {}
    todo = [source]
    while todo:
        path = todo.pop()
        if path not in found:
            found[path] = None
            todo += _directly(path, folders)
    return tuple(found)


def _directly(path: Path, folders: Sequence[Path]) -> Iterator[Path]:
    try:
        content = path.read_bytes()
    except OSError:
        return
    if asks(content):
        yield from _every(folders)
    for name in named(content.decode(errors="replace")):
        if not name:
            yield from _every(folders)
            continue
        for folder in (path.parent, *folders):
            if (folder / name).is_file():
                yield (folder / name).resolve()
                break


def named(text: str) -> list[str]:
    """The names in a text's directives, also in those inside comments; "" if a macro chooses the
    file."""
    directives = _DIRECTIVE.finditer(_SPLICE.sub("", text))
    return sorted({found[1] or found[2] or "" for found in directives})


def asks(content: bytes) -> bool:
    """Return whether a file asks with `__has_include` or `__has_embed` if others exist."""
    return "__has_" in _SPLICE.sub("", content.decode(errors="replace"))


def _every(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from files_in(folder)


def files_in(folder: Path) -> list[Path]:
    """All files in a folder, except hidden ones and Python's cached bytecode."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.suffix != ".pyc"
    ]


def names_hash(folder: Path) -> str:
    """A hash of the names of a folder's files, which changes if there are more or fewer."""
    names = [path.relative_to(folder).as_posix() for path in files_in(folder)]
    return hashlib.sha256("\0".join(names).encode()).hexdigest()
