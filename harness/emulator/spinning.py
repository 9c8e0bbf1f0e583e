"""Loops that wait for another thread, so that they can be made to let it run.

Lanes behind a loop wait for those within, so that all meet again; where the lanes within wait for
one behind, as for the holder of a lock, they would wait for ever. Since Volta every lane gets its
turn. A waiting loop is told by what it does: it branches on the result of an atomic or a volatile
load of its own. In a kernel with such a loop, lanes that got past it wait at the warp's next
`__syncwarp` or shuffle for those that are still making their way through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from harness.emulator.accesses import PLAIN, access_kind
from harness.emulator.active import Mask
from harness.emulator.linear import Mark, To
from harness.emulator.program import Block, Branch, Op, Program, Site, successors

PATIENCE = 32
_MEETINGS = frozenset({"syncwarp", "shfl", "vote", "match", "redux", "elect"})

Code = list[Mark | To | tuple[Op, int | None]]


class Turns:
    """Whose turn it is: the lowest block, unless it has been waiting in vain."""

    def __init__(self, heads: frozenset[int], meetings: frozenset[int]) -> None:
        self._heads, self._meetings = heads, meetings
        self._passes: dict[int, int] = {}
        self._parked: set[int] = set()
        self._met: list[tuple[int, int]] = []

    def next(self, ready: Mapping[int, Mask]) -> int:
        """The block to run of those where lanes are ready."""
        number = min(ready)
        if number not in self._heads and not self._parked:
            return number
        if len(ready) == 1:
            self._unpark()
            return number
        while True:
            candidates = [n for n in ready if n not in self._parked]
            going_on = [n for n in candidates if n not in self._meetings]
            if going_on:
                number = min(going_on)
                if number not in self._heads or not self._in_vain(number):
                    return number
                self._parked.add(number)
            elif candidates:
                met = sorted((n, int(np.count_nonzero(ready[n]))) for n in candidates)
                if not self._parked or met == self._met:
                    self._met = []
                    return min(candidates)
                self._met = met  # more lanes have come: some may still come
                self._unpark()
            else:
                self._unpark()

    def _in_vain(self, head: int) -> bool:
        self._passes[head] = self._passes.get(head, 0) + 1
        return self._passes[head] > PATIENCE

    def _unpark(self) -> None:
        self._passes.clear()
        self._parked.clear()


def loops_and_meetings(program: Program) -> tuple[frozenset[int], frozenset[int]]:
    """Blocks that a waiting loop turns around, and those by which the lanes of a warp meet."""
    meetings = frozenset(
        number
        for number, block in enumerate(program.blocks)
        if any(op.name in _MEETINGS for op in block.ops)
    )
    return waiting_loops(program.blocks, program.sites), meetings


def meetings_apart(code: Code, new_label: Callable[[], str]) -> Code:
    """The same code with a new block wherever lanes meet."""
    out: Code = []
    last: int | None = None
    starts = {
        entry[0].site for entry in code if isinstance(entry, tuple) and entry[0].name in _MEETINGS
    }
    for entry in code:
        site = entry[0].site if isinstance(entry, tuple) else None
        if site in starts and site != last:
            out.append(Mark(new_label()))
        last = site
        out.append(entry)
    return out


def waiting_loops(blocks: Sequence[Block], sites: Sequence[Site]) -> frozenset[int]:
    """Blocks in a loop that read what another thread may change, and branch on it there."""
    heads = set()
    for number, block in enumerate(blocks):
        tainted = {
            register.slot
            for op in block.ops
            if op.name in ("atom", "ld") and access_kind(sites[op.site].opcode) != PLAIN
            for register in op.registers_written()
        }
        if tainted and number in (loop := _loop(blocks, number)):
            _taint(blocks, tainted)
            if any(
                isinstance(terminator := blocks[n].terminator, Branch)
                and terminator.predicate.slot in tainted
                for n in loop
            ):
                heads.add(number)
    return frozenset(heads)


def _taint(blocks: Sequence[Block], tainted: set[int]) -> None:
    """Add the registers that are computed from these."""
    changed = True
    while changed:
        changed = False
        for block in blocks:
            for op in block.ops:
                written = {r.slot for r in op.registers_written()}
                if not written <= tainted and any(r.slot in tainted for r in op.registers_read()):
                    tainted |= written
                    changed = True


def _loop(blocks: Sequence[Block], number: int) -> set[int]:
    """Blocks that control may come to from one and come back."""
    onwards = {n: list(successors(block.terminator)) for n, block in enumerate(blocks)}
    back: dict[int, list[int]] = {n: [] for n in onwards}
    for n, targets in onwards.items():
        for target in targets:
            back[target].append(n)
    return _reachable(onwards, number) & _reachable(back, number)


def _reachable(edges: Mapping[int, Sequence[int]], number: int) -> set[int]:
    """Blocks that the edges lead to from one, itself only if they come back."""
    found: set[int] = set()
    todo = [number]
    while todo:
        for target in edges[todo.pop()]:
            if target not in found:
                found.add(target)
                todo.append(target)
    return found
