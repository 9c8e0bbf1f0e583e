"""Find the repository path of a source line that a message names.

A run names a file relative to its problems folder (`transpose/v0.cu`), or names the copy in its own
folder. A pull request shows a message at a line only under the path relative to the repository's
root.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

PROBLEMS = Path("kernels")
"""The problems folder, unless a command names another."""

_NAMED = re.compile(r"(?P<file>[\w./+-]+\.cuh?):(?P<line>\d+)")


@dataclass(frozen=True)
class Line:
    """A line of a file, whose path is relative to the repository's root."""

    file: str
    line: int


def line_named(text: str, kernels: Path = PROBLEMS) -> Line | None:
    """The first source line that a text names; None if it names no file of the repository."""
    found = _NAMED.search(text)
    file = path(found["file"], kernels) if found else None
    return Line(file, int(found["line"])) if found and file else None


def path(name: str, kernels: Path = PROBLEMS) -> str | None:
    """A file's path relative to the repository's root; None if the repository has no such file.

    The longest suffix of the path that is a file under `kernels` takes precedence over the path
    itself, because the copy in a run's folder may also be in the repository.
    """
    top = _top(kernels)
    for candidate in _candidates(name, kernels):
        file = candidate.resolve()
        if file.is_file() and file.is_relative_to(top):
            return file.relative_to(top).as_posix()
    return None


def _candidates(name: str, kernels: Path) -> Iterator[Path]:
    parts = [part for part in PurePath(name).parts if part != "/"]
    yield from (kernels.joinpath(*parts[at:]) for at in range(len(parts)))
    yield Path(name)


def _top(kernels: Path) -> Path:
    """The nearest folder around the kernels that is the root of a git work tree, else the working
    directory."""
    start = kernels.resolve()
    around = (folder for folder in (start, *start.parents) if (folder / ".git").exists())
    return next(around, Path.cwd().resolve())
