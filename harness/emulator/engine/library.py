"""The warp machine, compiled and loaded."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from harness.emulator.engine.compiled_library import compiled, is_to_build, names_of
from harness.emulator.engine.layout import HEADER, MACHINE


@dataclass(frozen=True)
class Machine:
    """The loaded library, with the numbers of its operations and special registers."""

    library: Any
    operations: dict[str, int]
    specials: dict[str, int]


def is_to_compile() -> bool:
    """Return whether `load` would have to compile the machine first, which takes about half a
    minute on one core."""
    return is_to_build("machine", MACHINE)


@functools.cache
def load() -> Machine | str:
    """Return the machine, compiled if necessary, or the reason why it is unavailable."""
    library = compiled("machine", HEADER, MACHINE)
    if isinstance(library, str):
        return library
    names = (library.machine_operation, library.machine_special)
    return Machine(library, *(names_of(HEADER, each) for each in names))
