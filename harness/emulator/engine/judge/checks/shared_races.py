"""Races in shared memory, and reads of it that nothing wrote.

Every word carries the stamp of its last write and of two reads: the latest one, and one by another
warp if there is one, else by another lane. An access races with a stamp of another thread that
nothing orders before it (`ordering`), if either writes. Two reads are enough: of two warps that
have read a word, one is not the writer's.

Lanes run in lockstep here, which hides races from the results; the stamps do not depend on it. As
long as all blocks do the same to the same addresses, one row of stamps serves all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge.checks.log import (
    EVENT_SHIFT,
    KIND_MASK,
    KIND_SHIFT,
    LANE_MASK,
    SILENT,
    Log,
    tolerated,
)
from harness.emulator.engine.judge.checks.ordering import Ordering
from harness.emulator.engine.judge.checks.race_report import RaceReport
from harness.emulator.engine.judge.checks.uninitialised import Uninitialised
from harness.emulator.engine.judge.kernel_fault import KernelFault
from harness.emulator.engine.judge.lanes import ALL, WARP, Active, Geometry, as_slice
from harness.emulator.program.access_kinds import ATOMIC, PLAIN

Array = NDArray[Any]
_CACHED_PATTERNS = 512
_NEVER = -1
_BLOCK_SHIFT = 24


@dataclass(frozen=True)
class _Cells:
    """The words that an access starts at, one a lane: where in the stamps, whose, and doubles.

    `rows` is None if one row serves all blocks; positions are then columns. `first` and `last`
    are the positions of the first and last lane at each word, None if no two lanes share one;
    `last_of` is the position of the last lane at the same word as each lane.
    """

    index: Any
    threads: Array
    rows: Array | None
    first: Array | None = None
    last: Array | None = None
    last_of: Array | None = None


class SharedRaces:
    """Stamps of the shared memory of a chunk's blocks, in units of `grain` bytes."""

    def __init__(
        self, geometry: Geometry, size: int, grain: int, log: Log, order: Ordering,
        race_report: RaceReport, uninitialised: Uninitialised,
    ) -> None:  # fmt: skip
        self.geometry = geometry
        self.uninitialised = uninitialised
        self.grain = grain
        self.log, self.order, self.race_report = log, order, race_report
        self.words = -(-size // grain)
        self.start()

    def start(self) -> None:
        """New blocks: nothing is written."""
        self.together = True
        self._written, self._read, self._read_too = (
            np.full(self.words, _NEVER, np.int64) for _ in range(3)
        )
        self._scratch: Array | None = None
        self._holds: Array | None = None  # of words that hold what nothing has written: ids

    # --- accesses -------------------------------------------------------------------------

    def read(self, lanes: Active, site: int, addresses: Array, size: int, count: int) -> None:
        width = size * count
        cells = self._cells(lanes, site, addresses)
        floor, stamp = self._begin(lanes, site, addresses, cells)
        for i in range(max(1, width // self.grain)):
            index = _plus(cells.index, i)
            written = self._written[index]
            if int(written.min()) < 0:
                self._unwritten(lanes, site, addresses, size, cells, i)
            doubtful = (written >= floor) & ((written ^ stamp) & LANE_MASK != 0)
            if doubtful.any():
                self._examine(
                    "read after write", lanes, site, addresses, width, cells, written, doubtful
                )
            if cells.first is None or cells.last is None:
                self._note_read(index, stamp, floor)
                continue
            for some in (cells.first, cells.last):
                part = floor if isinstance(floor, int) else floor[some]
                self._note_read(index[some], stamp[some], part)

    def write(
        self, lanes: Active, site: int, addresses: Array, values: tuple[Array, ...], before: Array
    ) -> None:
        """`before` is the memory as words of the values' type, flat; it is not written yet."""
        size = values[0].dtype.itemsize
        cells = self._cells(lanes, site, addresses)
        floor, stamp = self._begin(lanes, site, addresses, cells)
        if cells.last_of is not None:
            self._at_once(lanes, site, addresses, values, cells)
        unchanged = self._unchanged(lanes, addresses, values, before, cells)
        for i in range(max(1, size * len(values) // self.grain)):
            index = _plus(cells.index, i)
            written = self._written[index]
            silent = unchanged & (written >= 0) & ((written < floor) | (written & SILENT != 0))
            stamp = np.where(silent, stamp | SILENT, stamp & ~SILENT)
            doubtful = (written >= floor) & ((written ^ stamp) & LANE_MASK != 0)
            if doubtful.any():
                self._examine("write after write", lanes, site, addresses, size * len(values),
                              cells, written, doubtful & ~unchanged)  # fmt: skip
            self._after_reads(
                lanes, site, addresses, size * len(values), cells, index, floor, stamp, unchanged
            )
            self._note_write(index, stamp, cells)
        if self.uninitialised:
            self.uninitialised.stored(self, site, lanes, addresses)

    def forget(self, lanes: Array, addresses: Array, size: int, ids: Array) -> None:
        """Words that were just stored hold what nothing has written."""
        if self.together:
            self._separate()
        if self._holds is None:
            self._holds = np.zeros(len(self._written), np.int32)
        index = lanes // self.geometry.threads * self.words + addresses // self.grain
        for i in range(max(1, size // self.grain)):
            self._written[index + i] = _NEVER
            self._holds[index + i] = ids

    def update(self, lanes: Active, site: int, addresses: Array, size: int) -> None:
        """An atomic."""
        width = size
        cells = self._cells(lanes, site, addresses)
        floor, stamp = self._begin(lanes, site, addresses, cells)
        for i in range(max(1, width // self.grain)):
            index = _plus(cells.index, i)
            written = self._written[index]
            if int(written.min()) < 0:
                self._unwritten(lanes, site, addresses, size, cells, i)
            doubtful = (written >= floor) & (written & KIND_MASK != ATOMIC << KIND_SHIFT)
            doubtful &= (written ^ stamp) & LANE_MASK != 0
            if doubtful.any():
                self._examine("atomic after write", lanes, site, addresses, width, cells,
                              written, doubtful)  # fmt: skip
            self._after_reads(lanes, site, addresses, width, cells, index, floor, stamp)
            self._note_write(index, stamp, cells)

    # --- where ----------------------------------------------------------------------------

    def _cells(self, lanes: Active, site: int, addresses: Array) -> _Cells:
        if (
            self.together
            and self.order.in_step
            and addresses.shape[0] == 1
            and lanes.flat is None
            and lanes.rows is ALL
        ):
            key = (-2 - site, addresses.tobytes())
            found: _Cells | None = lanes.patterns.get(key)
            if found is None:
                if len(lanes.patterns) >= _CACHED_PATTERNS:
                    lanes.patterns.clear()
                found = lanes.patterns[key] = self._common_cells(lanes, addresses)
            return found
        if self.together:
            self._separate()
        rows, threads = np.divmod(lanes.lanes(), self.geometry.threads)
        index = rows * self.words + lanes.full(addresses) // self.grain
        if self._scratch is None:
            self._scratch = np.empty(len(self._written), np.int32)
        return self._doubles(index, threads, rows, self._scratch)

    def _common_cells(self, lanes: Active, addresses: Array) -> _Cells:
        threads = np.arange(self.geometry.threads)[lanes.columns]
        index = np.broadcast_to(addresses[0] // self.grain, threads.shape)
        cells = self._doubles(index, threads, None, np.empty(self.words, np.int32))
        if cells.first is None:
            return _Cells(as_slice(index), threads, None)
        return cells

    @staticmethod
    def _doubles(index: Array, threads: Array, rows: Array | None, scratch: Array) -> _Cells:
        position = np.arange(len(index), dtype=np.int32)
        scratch[index] = position
        last_of = scratch[index]
        last = last_of == position
        if last.all():
            return _Cells(index, threads, rows)
        scratch[index[::-1]] = position[::-1]
        first = scratch[index] == position
        return _Cells(index, threads, rows, np.flatnonzero(first), np.flatnonzero(last), last_of)

    def _separate(self) -> None:
        """From here on every block has stamps of its own."""
        self.together = False
        blocks = self.geometry.blocks
        if blocks > 1:
            self._written, self._read, self._read_too = (
                np.tile(stamps, blocks) for stamps in (self._written, self._read, self._read_too)
            )

    # --- stamps ---------------------------------------------------------------------------

    def _begin(
        self, lanes: Active, site: int, addresses: Array, cells: _Cells
    ) -> tuple[Any, Array]:
        """The lowest stamp that is not ordered, and the stamps of this access."""
        floor = self.order.floor(cells.rows)
        kind = self.race_report.kinds_in_block[site]
        head = self.log.add(site) << EVENT_SHIFT | kind << KIND_SHIFT
        if kind != PLAIN:
            block = self.log.first_block(self.log.now - 1) + lanes.row_numbers()
            self.race_report.meet(lanes, site, lanes.full(-1 - addresses - (block << _BLOCK_SHIFT)))
        return floor << EVENT_SHIFT, cells.threads + head

    def _note_read(self, index: Any, stamp: Array, floor: Any) -> None:
        latest = self._read[index]
        other = (latest >= floor) & ((latest ^ stamp) & LANE_MASK != 0)
        if other.any():
            too = self._read_too[index]
            warp, latest_warp = (stamp & LANE_MASK) // WARP, (latest & LANE_MASK) // WARP
            keep = (latest_warp == warp) & (too >= floor) & ((too & LANE_MASK) // WARP != warp)
            self._read_too[index] = np.where(other & ~keep, latest, too)
        self._read[index] = stamp

    def _note_write(self, index: Any, stamp: Array, cells: _Cells) -> None:
        if cells.last is None:
            self._written[index] = stamp
        else:
            self._written[index[cells.last]] = stamp[cells.last]

    def _after_reads(
        self, lanes: Active, site: int, addresses: Array, width: int, cells: _Cells, index: Any,
        floor: Any, stamp: Array, unchanged: Array | None = None,
    ) -> None:  # fmt: skip
        for stamps in (self._read, self._read_too):
            seen = stamps[index]
            doubtful = (seen >= floor) & ((seen ^ stamp) & LANE_MASK != 0)
            if doubtful.any():
                self._examine(
                    "write after read",
                    lanes,
                    site,
                    addresses,
                    width,
                    cells,
                    seen,
                    doubtful,
                    unchanged,
                )

    # --- verdicts -------------------------------------------------------------------------

    def _examine(
        self, hazard: str, lanes: Active, site: int, addresses: Array, width: int, cells: _Cells,
        stamps: Array, doubtful: Array, unchanged: Array | None = None,
    ) -> None:  # fmt: skip
        """Accuse the first doubtful lane that nothing orders or excuses.

        `unchanged`: lanes that write what is there already.
        """
        at = np.flatnonzero(doubtful)
        stamps, later = stamps[at], cells.threads[at]
        earlier = stamps & LANE_MASK
        when = stamps >> EVENT_SHIFT
        rows = np.zeros(len(at), np.int64) if cells.rows is None else cells.rows[at]
        guilty = ~self.order.ordered(rows, earlier, when, later)
        guilty &= ~tolerated(stamps, self.race_report.kinds[site], earlier // WARP == later // WARP)
        for i in np.flatnonzero(guilty).tolist():
            position = int(at[i])
            if self.race_report.speculative(site, self.log.site(int(when[i])), hazard):
                continue
            block = self.log.first_block(self.log.now - 1) + int(rows[i])
            if self.race_report.handed_over(
                block, int(earlier[i]), int(when[i]), block, int(later[i])
            ):
                continue
            silent = hazard == "read after write" and bool(stamps[i] & SILENT)
            if silent or (unchanged is not None and unchanged[position]):
                self.race_report.let_pass(site, self.log.site(int(when[i])), hazard)
                continue
            offset = int(lanes.full(addresses)[position])
            message = (
                f"{hazard}: {width} bytes at offset {offset} of shared memory; "
                f"{self.race_report.other(int(earlier[i]), self.log.site(int(when[i])), hazard)} "
                f"with no {self._missing(int(earlier[i]), int(later[i]))} in between"
            )
            raise KernelFault("race", message, site, lanes, position)

    @staticmethod
    def _missing(earlier: int, later: int) -> str:
        return "__syncwarp" if earlier // WARP == later // WARP else "barrier"

    def _at_once(
        self, lanes: Active, site: int, addresses: Array, values: tuple[Array, ...], cells: _Cells
    ) -> None:
        """Lanes that write different values to one word in one instruction."""
        assert cells.last_of is not None
        for value in values:
            bits = value.view(f"u{value.dtype.itemsize}")
            bits = lanes.full(bits)[None] if cells.rows is not None else bits
            if bits.shape[1] == 1:
                continue
            wrong = (bits != bits[:, cells.last_of]).any(axis=0)
            if wrong.any():
                position = int(np.argmax(wrong))
                last = int(cells.threads[cells.last_of[position]])
                message = (
                    f"write after write: {value.dtype.itemsize * len(values)} bytes at offset "
                    f"{int(lanes.full(addresses)[position])} of shared memory; "
                    f"{self.race_report.other(last, site, 'write after write')} at the same time "
                    "with another value"
                )
                raise KernelFault("race", message, site, lanes, position)

    def _unchanged(
        self, lanes: Active, addresses: Array, values: tuple[Array, ...], before: Array,
        cells: _Cells,
    ) -> Array:  # fmt: skip
        """Whether a lane writes what is there already, in every block."""
        size = values[0].dtype.itemsize
        stride = len(before) // self.geometry.blocks
        index = lanes.full(lanes.row_numbers() * stride + addresses // size)
        same = np.ones(lanes.count, np.bool_)
        for i, value in enumerate(values):
            bits = lanes.full(value).view(f"u{size}")
            same &= before[index + i].view(f"u{size}") == bits
        if cells.rows is not None:
            return same
        return np.all(same.reshape(lanes.n_rows, lanes.n_columns), axis=0)

    def _unwritten(
        self, lanes: Active, site: int, addresses: Array, size: int, cells: _Cells, i: int
    ) -> None:
        """A word of `size` bytes is not written here; tell, if no part of it is."""
        each = max(1, size // self.grain)
        if i % each:
            return
        parts = [self._written[_plus(cells.index, i + k)] for k in range(each)]
        unknown = np.max(parts, axis=0) < 0
        if unknown.any():
            ids = None if self._holds is None else self._holds[_plus(cells.index, i)][unknown]
            unknown = unknown if cells.rows is not None else lanes.full(unknown[None])
            first = np.max([self._written[_plus(cells.index, k)] for k in range(each)], axis=0) >= 0
            first = first if cells.rows is not None else lanes.full(first[None])
            self.uninitialised.read(
                "shared memory", size, site, i // each, lanes, addresses, unknown, ids, first
            )


def _plus(index: Any, words: int) -> Any:
    if not words:
        return index
    if isinstance(index, slice):
        return slice(index.start + words, index.stop + words, index.step)
    return index + words
