"""Reads of local memory that nothing wrote: an array of a thread's own, used before it is set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge.checks.uninitialised import Uninitialised
from harness.emulator.engine.judge.checks.unwritten_words import unwritten_words
from harness.emulator.engine.judge.lanes import Active

Array = NDArray[Any]


class LocalWrites:
    """Which words of `grain` bytes are written, for `rows` memories of `size` bytes each."""

    def __init__(self, rows: int, size: int, grain: int, uninitialised: Uninitialised) -> None:
        self.uninitialised = uninitialised
        self.grain = grain
        self.words = -(-size // grain)
        self._written = np.zeros(rows * self.words, np.bool_)
        self._holds: Array | None = None  # of words that hold what nothing has written: ids

    def start(self) -> None:
        """Nothing is written."""
        self._written.fill(False)
        self._holds = None

    def _index(self, lanes: Active, addresses: Array) -> Array:
        index: Array = lanes.lanes() * self.words + lanes.full(addresses) // self.grain
        return index

    def read(self, lanes: Active, site: int, addresses: Array, size: int, count: int = 1) -> None:
        index, units = self._index(lanes, addresses), max(1, size // self.grain)
        for each in unwritten_words(self._written, index, units, count):
            ids = None if self._holds is None else self._holds[each.first[each.unknown]]
            self.uninitialised.read(
                "local memory", size, site, each.word, lanes, addresses, each.unknown, ids,
                each.begins,
            )  # fmt: skip

    def write(
        self, lanes: Active, site: int, addresses: Array, values: tuple[Array, ...], _before: Array
    ) -> None:
        index = self._index(lanes, addresses)
        for i in range(max(1, values[0].dtype.itemsize * len(values) // self.grain)):
            self._written[index + i] = True
        if self.uninitialised:
            self.uninitialised.stored(self, site, lanes, addresses)

    def forget(self, lanes: Array, addresses: Array, size: int, ids: Array) -> None:
        """Words that were just stored hold what nothing has written."""
        if self._holds is None:
            self._holds = np.zeros(len(self._written), np.int32)
        index = lanes * self.words + addresses // self.grain
        for i in range(max(1, size // self.grain)):
            self._written[index + i] = False
            self._holds[index + i] = ids

    update = read
