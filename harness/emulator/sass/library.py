"""The machine that executes machine code, compiled and loaded.

The headers that say what memory accesses cost are the PTX engine's.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from pathlib import Path

from harness.emulator.engine.compiled_library import compiled, names_of
from harness.emulator.engine.library import MACHINE
from harness.emulator.errors import LaunchError
from harness.emulator.sass.layout import declare

SOURCES = Path(__file__).parent / "machine"


@dataclass(frozen=True)
class Machine:
    """The loaded library, with the numbers of its definitions."""

    library: ctypes.CDLL
    definitions: dict[str, int]


def load() -> Machine:
    """Raises LaunchError if there is no compiler, or it fails."""
    library = _loaded()
    if isinstance(library, str):
        raise LaunchError(
            f"machine code is executed by a program in C++: {library}\n  install g++, or set CXX"
        )
    return library


@functools.cache
def _loaded() -> Machine | str:
    """The machine, or why there is none; a failure is not tried again."""
    library = compiled("sass", SOURCES, MACHINE)
    if isinstance(library, str):
        return library
    declare(library)
    return Machine(library, names_of(library.sass_definition))
