"""The files that a problem.py uses besides its kernels: modules that it imports, and data."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.files import includes
from harness.files.source_text import C_SUFFIXES

_HARNESS = Path(__file__).parents[1]
_OTHERS = (*C_SUFFIXES, ".ptx", ".py", ".yaml", ".md")
"""Suffixes of files that are kernels, functions, settings or prose. A `.py` file counts if a
problem.py imports it."""

_imported: set[Path] = set()


@contextmanager
def noting_imports() -> Iterator[None]:
    """Note which of the user's modules are imported meanwhile."""
    before = set(sys.modules)
    try:
        yield
    finally:
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file and _is_the_users(Path(file)):
                _imported.add(Path(file).resolve())


def _is_the_users(file: Path) -> bool:
    inside = (Path(sys.prefix), Path(sys.base_prefix), _HARNESS)
    return file.suffix == ".py" and not (
        "site-packages" in file.parts or any(map(file.is_relative_to, inside))
    )


def files_of(folder: Path) -> list[Path]:
    """The data files in a problem's folder, and every module that a problem.py of this process has
    imported: Python does not tell which."""
    data = [path for path in includes.files_in(folder) if path.suffix not in _OTHERS]
    return [*data, *(path for path in sorted(_imported) if path.name != "problem.py")]
