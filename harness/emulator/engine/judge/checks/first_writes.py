"""Reads of buffers that held nothing before the launch, where nothing has written them since."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from harness.emulator.engine.judge.checks.uninitialised import Uninitialised
from harness.emulator.engine.judge.checks.unwritten_words import unwritten_words
from harness.emulator.engine.judge.lanes import Active
from harness.emulator.memory.address_space import Allocation

Array = NDArray[Any]


class FirstWrites:
    """What global memory tells of its accesses, while checks are on."""

    def __init__(self, uninitialised: Uninitialised) -> None:
        self._uninitialised = uninitialised

    def read(
        self, lanes: Active, site: int, allocation: Allocation, addresses: Array, size: int,
        count: int = 1,
    ) -> None:  # fmt: skip
        """`count` words of `size` bytes per lane; one of which a part is written counts as such."""
        written = allocation.written
        if written is None:
            return
        offsets = addresses - allocation.base
        for each in unwritten_words(written, lanes.full(offsets), size, count):
            self._uninitialised.read(
                allocation.name, size, site, each.word, lanes, offsets, each.unknown, None,
                each.begins,
            )  # fmt: skip

    @staticmethod
    def write(lanes: Active, allocation: Allocation, addresses: Array, width: int) -> None:
        if allocation.written is not None:
            first = lanes.full(addresses) - allocation.base
            for byte in range(width):
                allocation.written[first + byte] = 1
