"""The compiled and loaded machine that executes machine code.

The headers that compute the costs of memory accesses are shared with the PTX engine.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from harness.emulator.engine.compiled_library import compiled, names_of
from harness.emulator.engine.layout import MACHINE
from harness.emulator.errors import LaunchError
from harness.emulator.sass.layout import HEADER, SOURCES


@dataclass(frozen=True)
class Machine:
    """The loaded library, with the numbers of its definitions."""

    library: Any
    definitions: dict[str, int]


def load() -> Machine:
    """Load the machine. Raises LaunchError if there is no compiler, or if it fails."""
    library = _loaded()
    if isinstance(library, str):
        raise LaunchError(
            f"machine code is executed by a program in C++: {library}\n  install g++, or set CXX"
        )
    return library


@functools.cache
def _loaded() -> Machine | str:
    """The machine, or the reason it is unavailable; a failure is not retried."""
    library = compiled("sass", HEADER, SOURCES, MACHINE)
    if isinstance(library, str):
        return library
    return Machine(library, names_of(HEADER, library.sass_definition))
