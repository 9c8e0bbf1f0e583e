"""Find folders inside installed Python packages, such as the headers in a wheel.

Such a folder is written `package:cuda.cccl/headers/include`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path

PREFIX = "package:"


def is_inside(folder: str) -> bool:
    """Return whether the text names a folder inside a package."""
    return folder.startswith(PREFIX)


def named(folder: str) -> str:
    """The package alone: `package:cuda.cccl`."""
    return PREFIX + _parts(folder)[0]


def version(folder: str) -> str:
    """The installed version of the package; "unknown" if it cannot be determined."""
    return version_of(_distribution(_parts(folder)[0])) or "unknown"


def version_of(distribution: str) -> str:
    """The installed version of a distribution, as pip names it; empty if it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def folder_of(folder: str) -> Path | None:
    """Find a folder inside a package, without importing the package. None if it does not exist."""
    name, below = _parts(folder)
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # its parent is missing, or is not a package
        return None
    places = spec.submodule_search_locations if spec else None
    return next((at for place in places or () if (at := Path(place, below)).is_dir()), None)


def lacking(folder: str) -> str:
    """Say in one line which package is missing, and how it is usually installed."""
    name, _ = _parts(folder)
    return f"the Python package {name} is not installed: pip install {_distribution(name)}"


def missing(folders: Iterable[str]) -> Iterator[str]:
    """The text of `lacking` for each folder whose package is missing."""
    return (lacking(each) for each in folders if is_inside(each) and not folder_of(each))


def _parts(folder: str) -> tuple[str, str]:
    """`package:cuda.cccl/headers/include` → `cuda.cccl`, `headers/include`"""
    name, _, below = folder.removeprefix(PREFIX).partition("/")
    return name, below


def _distribution(package: str) -> str:
    """The name under which a package is most likely distributed."""
    return package.replace(".", "-")
