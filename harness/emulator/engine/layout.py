"""The data that Python and the machine exchange, as `machine/interface.h` declares it.

The constants and enum names of that file are attributes of this module.
"""

from __future__ import annotations

from pathlib import Path

from harness.emulator.engine.c_header import CHeader

MACHINE = Path(__file__).parent / "machine"
HEADER = CHeader(MACHINE / "interface.h")

ffi, new, at = HEADER.ffi, HEADER.new, HEADER.at

OP, BLOCK = HEADER.dtype("Op"), HEADER.dtype("Block")
BUFFER = HEADER.packer("Buffer")
ROWS_OF_A_BLOCK = ("predicate", "result", "number", "count", "pointer")

OBSERVED = HEADER.fields("Observed")
_COUNTS = HEADER.fields("Counts")
BY_SITE = _COUNTS[: _COUNTS.index("block_warps")]
BY_BLOCK = _COUNTS[len(BY_SITE) :]
"""The kinds of count per site and per basic block. All 64-bit counts of one kind are stored
together, followed by those of the next kind."""


def __getattr__(name: str) -> int:
    value: int = getattr(HEADER.constants, name)
    globals()[name] = value  # so that the next lookup does not call this function
    return value
