"""The warp machine, compiled and loaded."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from pathlib import Path

from harness.emulator.engine.compiled_library import compiled, names_of
from harness.emulator.engine.layout import declare

MACHINE = Path(__file__).parent / "machine"


@dataclass(frozen=True)
class Machine:
    """The loaded library, with the numbers of its operations and special registers."""

    library: ctypes.CDLL
    operations: dict[str, int]
    specials: dict[str, int]


@functools.cache
def load() -> Machine | str:
    """The machine, or why there is none."""
    library = compiled("machine", MACHINE)
    if isinstance(library, str):
        return library
    try:
        declare(library)
    except RuntimeError as error:
        return str(error)
    return Machine(library, names_of(library.machine_operation), names_of(library.machine_special))
