"""Who goes next where lanes may be waiting for each other, so that everybody gets a turn.

Lanes behind a loop wait for those within, so that all meet again; where the lanes within wait for
one behind, as for the holder of a lock, they would wait for ever. Since Volta every lane gets its
turn. So the lanes of a warp that come round a loop that may wait (`waiting_loops`) and have gone a
pass in vain are *parked*: the same lanes as one pass ago, with the same registers and the same
values read. A loop that counts its passes, or finds something new in each, is not in vain; as it
may be waiting with a limit, its lanes are parked after `PATIENCE` passes of the same lanes, and
once that has happened to them, the sooner. For the first `GRACE` passes nothing is compared,
because most such loops end within them.

A warp of which lanes were parked has lost its order. From then on its lanes wait at a `__syncwarp`,
shuffle or vote for those that the mask names, which otherwise have come when it is executed.

When no lane can go on, barriers that are complete are passed; when there are none, all who are
parked or wait at such a meeting try again, for one pass. If that changes nothing anywhere, lanes
wait at a meeting for a lane that never comes: the first such meeting takes place without it. Or all
wait for what nobody does, and after `HOPE` such rounds that is said.

All this looks at one warp's lanes and registers, and at whether its block has anybody else to go
on. So what a block counts does not depend on which blocks share its chunk, unless it reads what
those write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge.kernel_fault import KernelFault
from harness.emulator.engine.judge.lanes import WARP, Active, Mask
from harness.emulator.engine.judge.warp import bits_of, warps_of
from harness.emulator.program.ir import Constant, Register
from harness.emulator.program.waiting_loops import WaitingLoops

if TYPE_CHECKING:
    from harness.emulator.engine.judge.chunk import Chunk

Array = NDArray[Any]

GRACE = 8
PATIENCE, LEAST_PATIENCE = 1024, 16
HOPE = 256
_MIX = np.uint64(0x9E3779B97F4A7C15)


class ForwardProgress:
    """Kept for one run of a chunk. `blocks` are those that `take` has to be asked about."""

    def __init__(self, found: WaitingLoops, chunk: Chunk) -> None:
        self.chunk, self.geometry = chunk, chunk.geometry
        self.blocks = frozenset({*found.heads, *found.warp_syncs})
        self._found = found
        self._heads = {head: _Head(chunk, watched) for head, watched in found.heads.items()}
        self._parked: dict[int, Mask] = {}
        self._held: dict[int, Mask] = {}  # lanes at a meeting that wait for others
        self._lost: Mask | None = None  # warps that have had lanes parked
        self._before: dict[tuple[str, int], Array] = {}
        self._rounds = 0  # in which nothing has changed
        self._without: int | None = None  # a meeting that takes place without all that it names

    @property
    def anybody(self) -> bool:
        """Whether lanes are parked or wait at a meeting."""
        return bool(self._parked or self._held)

    def take(self, number: int, lanes: Active, exited: Mask | None) -> Active | None:
        """Of the lanes that are ready at a basic block, those that execute it now."""
        if number in self._found.warp_syncs and self._lost is not None:
            mask = self._who_meet(number, lanes.mask, exited, self._lost)
            if mask is None:
                return None
            lanes = self.geometry.select(mask)
        head = self._heads.get(number)
        if head is None:
            return lanes
        parked, going = head.split(lanes)
        if parked is not None:
            self._parked[number] = _joined(self._parked.get(number), parked)
            self._lose(parked)
        return going

    def wake(self, ready: dict[int, Mask]) -> bool:
        """Nobody else can go on: whoever waits tries again. False if nobody waits.

        Raises KernelFault if they would try for ever.
        """
        if not self.anybody:
            return False
        now: dict[tuple[str, int], Array] = {("held", n): m for n, m in self._held.items()}
        now.update((("parked", n), self._heads[n].state(m)) for n, m in self._parked.items())
        self._rounds = self._rounds + 1 if _equal(now, self._before) else 0
        self._before = now
        if self._rounds and self._held:
            self._without = min(self._held)
        elif self._rounds > HOPE and not self._found.clocks:
            self._give_up()
        for number, mask in self._parked.items():
            ready[number] = mask
        for number, mask in self._held.items():
            ready[number] = _joined(ready.get(number), mask)
        for number, head in self._heads.items():
            parked = self._parked.get(number)
            head.again(None if parked is None else bits_of(self.geometry, parked) != 0)
        self._parked.clear()
        self._held.clear()
        return True

    def _give_up(self) -> None:
        number = min(self._parked)
        message = (
            "threads wait in a loop for something that no thread does, of their block or of those "
            "that execute together with it"
        )
        lanes = self.geometry.select(self._parked[number])
        site = self.chunk.program.blocks[number].sites[0]
        raise KernelFault("deadlock", message, site, lanes, 0)

    def _lose(self, parked: Mask) -> None:
        lost = bits_of(self.geometry, parked) != 0
        self._lost = lost if self._lost is None else self._lost | lost

    def _who_meet(self, number: int, mask: Mask, exited: Mask | None, lost: Mask) -> Mask | None:
        """Lanes at a meeting all of whose mask are there, or have exited."""
        here = _joined(self._held.pop(number, None), mask)
        if number == self._without:
            self._without = None
            return here
        elsewhere = ~here if exited is None else ~(here | exited)
        missing = np.where(lost, bits_of(self.geometry, elsewhere), np.uint32(0))
        if not missing.any():
            return here
        waited_for = np.repeat(missing, WARP).reshape(self.geometry.blocks, -1)
        waited_for = waited_for[:, : self.geometry.threads]
        wait: Mask = here & (self._named(number) & waited_for != 0)
        if not wait.any():
            return here
        self._held[number] = wait
        go = here & ~wait
        return go if go.any() else None

    def _named(self, number: int) -> Array:
        source = self._found.warp_syncs[number]
        if isinstance(source, Constant):
            return np.array([[source.bits & 0xFFFFFFFF]], np.uint32)
        assert isinstance(source, Register)
        return self.chunk.registers[source.slot].view(np.uint32)


class _Head:
    """The passes of a chunk's lanes through one loop; arrays have an entry for each warp."""

    def __init__(self, chunk: Chunk, watched: tuple[int, ...]) -> None:
        self.chunk, self.watched = chunk, watched
        geometry = chunk.geometry
        warps = geometry.blocks * geometry.warps
        self._early: list[Active] = []  # the first passes, not counted yet
        self._passes = np.zeros(warps, np.int32)
        self._patience = np.full(warps, PATIENCE, np.int32)
        self._company = np.zeros(warps, np.uint32)  # which lanes went the last pass
        self._samples = np.zeros(warps, np.uint64)  # what one of them found
        self._quiet = np.zeros(warps, np.int32)  # passes since that was something new
        self._prints = np.zeros((geometry.blocks, geometry.threads), np.uint64)
        self._woken: Array | None = None

    def split(self, lanes: Active) -> tuple[Mask | None, Active | None]:
        """Of lanes that come round, those of warps that have done so in vain, and the others."""
        woken, self._woken = self._woken, None
        if len(self._early) < GRACE:
            self._early.append(lanes)
            return None, lanes
        if len(self._early) == GRACE:
            for each in self._early:
                self._passes[warps_of(each).index] += 1
            self._early.append(lanes)
        warps = warps_of(lanes)
        passes = self._passes[warps.index] + 1
        if int(passes.max()) <= GRACE:
            self._passes[warps.index] = passes
            return None, lanes
        alone = self._company[warps.index] != warps.company
        self._company[warps.index] = warps.company
        passes = np.where(alone, np.minimum(passes, GRACE + 1), passes)
        self._passes[warps.index] = passes
        sample = self._fingerprints(warps.sample, warps.company)
        same = (self._samples[warps.index] == sample) & (passes > GRACE + 1)
        self._samples[warps.index] = sample
        quiet = np.where(same, self._quiet[warps.index] + 1, 0)
        self._quiet[warps.index] = quiet
        tired = passes > self._patience[warps.index]
        if not (same.any() or tired.any()):
            return None, lanes
        waits: Mask = self._all_as_before(lanes) & (quiet > 1) | tired
        if woken is not None:
            waits &= ~woken[warps.index]
        if not waits.any():
            return None, lanes
        tired = warps.index[tired & waits]
        self._patience[tired] = np.maximum(self._patience[tired] // 4, LEAST_PATIENCE)
        spread = np.broadcast_to(waits[:, None], (len(waits), WARP))
        parked, going = lanes.masks(lanes.from_warps(spread, lanes.n_rows))
        return parked, None if going is None else self.chunk.geometry.select(going)

    def state(self, parked: Mask) -> Array:
        """Something that stays the same as long as parked lanes try in vain."""
        return np.where(parked, self._prints, np.uint64(0))

    def again(self, parked: Array | None) -> None:
        """Parked warps are given one pass."""
        self._woken = parked
        np.minimum(self._passes, GRACE + 1, out=self._passes)

    def _all_as_before(self, lanes: Active) -> Mask:
        """The warps all of whose lanes here are as they were when this was last asked."""
        prints = self._fingerprints(lanes.get, np.zeros((1, 1), np.uint64))
        prints = np.broadcast_to(prints, (lanes.n_rows, lanes.n_columns))
        changed = lanes.get(self._prints) != prints
        self._prints = lanes.put(self._prints, prints)
        some: Mask = np.any(lanes.to_warps(changed), axis=1)
        return ~some

    def _fingerprints(self, get: Callable[[Array], Array], start: Array) -> Array:
        """Numbers that depend on the watched registers, as `get` gets them."""
        mixed = start.astype(np.uint64)
        for slot in self.watched:
            value = get(self.chunk.registers[slot])
            mixed = mixed * _MIX + value.view(f"u{value.itemsize}")
        return mixed


def _joined(some: Mask | None, others: Mask) -> Mask:
    return others if some is None else some | others


def _equal(now: dict[tuple[str, int], Array], before: dict[tuple[str, int], Array]) -> bool:
    return now.keys() == before.keys() and all(np.array_equal(now[k], before[k]) for k in now)
