"""The data that Python and the machine exchange, as `machine/interface.h` declares it.

The constants and enum names of that file are attributes of this module.
"""

from __future__ import annotations

from pathlib import Path

from harness.emulator.engine import layout
from harness.emulator.engine.c_header import CHeader

SOURCES = Path(__file__).parent / "machine"
HEADER = CHeader(SOURCES / "interface.h")

ffi, new, at = HEADER.ffi, HEADER.new, HEADER.at

SOURCE, INSTRUCTION = HEADER.dtype("Source"), HEADER.dtype("Instruction")
LANES = layout.LANES
COUNTS = HEADER.fields("Counts")
PREDICATES_OF_EACH_KIND = 8


def __getattr__(name: str) -> int:
    value: int = getattr(HEADER.constants, name)
    globals()[name] = value  # so that the next lookup does not call this function
    return value
