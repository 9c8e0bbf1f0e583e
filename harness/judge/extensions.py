"""Find the compiled extension that defines a function, for example an extension built by
torch.utils.cpp_extension."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any


def is_installed(file: Path) -> bool:
    """Return whether any process of this Python can import the module, because it belongs to a
    package or to the standard library."""
    places = {Path(p).resolve() for p in (sys.prefix, sys.base_prefix)}
    return any(place in file.resolve().parents for place in places)


def file_of(module: ModuleType) -> Path | None:
    """The file of a compiled module that is not installed."""
    file = getattr(module, "__file__", None) or ""
    if not file.endswith(tuple(EXTENSION_SUFFIXES)) or is_installed(Path(file)):
        return None
    return Path(file).absolute()


def of(value: Any) -> tuple[Path, str] | None:
    """The file and the name of a compiled function, if its module is not installed."""
    name = getattr(value, "__name__", "")
    for module in _modules(getattr(value, "__module__", None)):
        if vars(module).get(name) is value and (file := file_of(module)):
            return file, name
    return None


def _modules(name: str | None) -> Iterator[ModuleType]:
    """The modules of that name. torch does not put the modules that it loads into sys.modules."""
    for each in (sys.modules.get(name or ""), *gc.get_objects()):
        # Use type(…), because asking an object for its class may run the object's code.
        if issubclass(type(each), ModuleType) and vars(each).get("__name__") == name:
            yield each
