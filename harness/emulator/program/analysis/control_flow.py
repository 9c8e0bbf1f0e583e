"""Edges between a program's basic blocks, and what can be reached along them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from harness.emulator.program.ir import Block, successors


def edges_of(blocks: Sequence[Block]) -> Mapping[int, Sequence[int]]:
    """Map each block to those that may follow it."""
    return {n: list(successors(block.terminator)) for n, block in enumerate(blocks)}


def loop_of(onwards: Mapping[int, Sequence[int]], number: int) -> set[int]:
    """The blocks that lie on a cycle through a given block."""
    back: dict[int, list[int]] = defaultdict(list)
    for n, targets in onwards.items():
        for target in targets:
            back[target].append(n)
    return reachable(onwards, [number]) & reachable(back, [number])


def reachable(edges: Mapping[int, Iterable[int]], starts: Iterable[int]) -> set[int]:
    """The nodes reachable from a start; the start itself only if an edge leads back to it."""
    found: set[int] = set()
    todo = list(starts)
    while todo:
        for target in edges.get(todo.pop(), ()):
            if target not in found:
                found.add(target)
                todo.append(target)
    return found
