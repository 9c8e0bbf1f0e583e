"""Detect replaced code, and restore the timing and checking code that a case's code changed.

A Python function runs in the process that times it. In that process it could replace the
`time_since` of events, or the function that reads the hashes of results. After each batch of such a
function, replaced functions are detected, reported by name and restored, so that the other cases
are timed as before. Code that also replaces this module goes undetected; SECURITY.md describes what
remains possible.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

WATCHED = ("harness.backends", "harness.measure", "harness.worker", "harness.job", "pycuda", "time")
"""Modules on which a time or a judgement depends, including their submodules."""

_MISSING = object()


class _Piece(NamedTuple):
    """A function or class, its location, and the code of a function."""

    owner: Any
    attribute: str
    value: Any
    code: Any


class OwnCode:
    """The functions and classes of the watched modules, as they are when this object is created."""

    def __init__(self) -> None:
        self._modules = {name: module for name, module in sys.modules.items() if _is_watched(name)}
        self._pieces = {
            f"{name}.{place}": piece
            for name, module in self._modules.items()
            for place, piece in _pieces(module)
        }

    def tampered(self) -> str:
        """Restore whatever was replaced since the last call, and say what it was; empty if nothing
        was."""
        found = [name for name, own in self._modules.items() if sys.modules.get(name) is not own]
        sys.modules.update(self._modules)
        for place, (owner, attribute, value, code) in self._pieces.items():
            if vars(owner).get(attribute, _MISSING) is not value:
                found.append(place)
                setattr(owner, attribute, value)
            if getattr(value, "__code__", None) is not code:
                found.append(place)
                value.__code__ = code
        if not found:
            return ""
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        return f"it replaced {found[0]}{more}, which times or judges it"


def _is_watched(name: str) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in WATCHED)


def _pieces(module: ModuleType) -> Iterator[tuple[str, _Piece]]:
    for name, value in list(vars(module).items()):
        if callable(value):
            yield name, _Piece(module, name, value, getattr(value, "__code__", None))
        if isinstance(value, type) and value.__module__ == module.__name__:
            for inner, each in list(vars(value).items()):
                if callable(each) or isinstance(each, (property, staticmethod, classmethod)):
                    code = getattr(each, "__code__", None)
                    yield f"{name}.{inner}", _Piece(value, inner, each, code)
