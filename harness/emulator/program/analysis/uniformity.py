"""Find the registers that are provably the same in all threads of a block.

The assembler combines atomics on a uniform address. A value is uniform if all values that it is
computed from are uniform, and if no divergent branch selects among several values.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from harness.emulator.program.ir import Block, Branch, Op, Program, Special, Switch, successors

_OF_THREADS = ("tid.", "laneid", "warpid", "lanemask", "clock", "globaltimer")
_OWN = frozenset({"atom", "shfl", "vote", "match", "redux", "elect", "active_mask", "activemask",
                  "factor_words"})  # fmt: skip
_EXIT = -1


def varying_registers(program: Program) -> frozenset[int]:
    """Registers that may differ between threads of a block."""
    return varying_in(program.blocks)


def varying_in(blocks: Sequence[Block]) -> frozenset[int]:
    writers: dict[int, list[int]] = {}
    for number, block in enumerate(blocks):
        for op in block.ops:
            for register in op.registers_written():
                writers.setdefault(register.slot, []).append(number)
    several = {slot for slot, numbers in writers.items() if len(numbers) > 1}
    varying: set[int] = set()
    apart: set[int] = set()  # blocks that only some threads may reach
    after = _post_dominators(blocks)
    changed = True
    while changed:
        changed = False
        for number, block in enumerate(blocks):
            for op in block.ops:
                written = {register.slot for register in op.registers_written()} - varying
                if written and _varies(op, varying):
                    varying |= written
                    changed = True
            if number not in apart and parts_threads(block, varying):
                more = _between(blocks, number, after[number])
                chosen = {s for s in several - varying if not more.isdisjoint(writers[s])}
                changed |= bool(chosen) or not more <= apart
                varying |= chosen
                apart |= more
    return frozenset(varying)


def _varies(op: Op, varying: set[int]) -> bool:
    if op.name in _OWN or (op.name == "ld" and op.variant[0] in ("local", "")):
        return True
    if any(register.slot in varying for register in op.registers_read()):
        return True
    specials = (source.name for source in op.sources if isinstance(source, Special))
    return any(name.startswith(_OF_THREADS) for name in specials)


def parts_threads(block: Block, varying: Set[int]) -> bool:
    """Return whether threads may go from a block to different successors."""
    end = block.terminator
    if isinstance(end, Branch):
        return end.predicate.slot in varying
    return isinstance(end, Switch) and end.index.slot in varying


def _between(blocks: Sequence[Block], number: int, end: int) -> set[int]:
    """The blocks on the paths from a block to the point where these paths reconverge."""
    found: set[int] = set()
    todo = list(successors(blocks[number].terminator))
    while todo:
        at = todo.pop()
        if at != end and at not in found:
            found.add(at)
            todo += successors(blocks[at].terminator)
    return found


def _post_dominators(blocks: Sequence[Block]) -> list[int]:
    """For each block, find the nearest block that every path from it goes through."""
    order = _from_the_exit(blocks)
    place = {number: i for i, number in enumerate(order)}
    nearest = {_EXIT: _EXIT}
    changed = True
    while changed:
        changed = False
        for number in order[1:]:
            met: int | None = None
            for onward in successors(blocks[number].terminator) or (_EXIT,):
                if onward in nearest:
                    met = onward if met is None else _common(onward, met, nearest, place)
            if met is not None and nearest.get(number) != met:
                nearest[number] = met
                changed = True
    return [nearest.get(number, _EXIT) for number in range(len(blocks))]


def _common(one: int, other: int, nearest: dict[int, int], place: dict[int, int]) -> int:
    while one != other:
        while place[one] > place[other]:
            one = nearest[one]
        while place[other] > place[one]:
            other = nearest[other]
    return one


def _from_the_exit(blocks: Sequence[Block]) -> list[int]:
    """The exit and the blocks that lead to it, ordered so that each block comes after one of its
    successors."""
    back: dict[int, list[int]] = {number: [] for number in (_EXIT, *range(len(blocks)))}
    for number, block in enumerate(blocks):
        for onward in successors(block.terminator) or (_EXIT,):
            back[onward].append(number)
    done: list[int] = []
    seen = {_EXIT}
    stack = [(_EXIT, iter(back[_EXIT]))]
    while stack:
        number, rest = stack[-1]
        for onward in rest:
            if onward not in seen:
                seen.add(onward)
                stack.append((onward, iter(back[onward])))
                break
        else:
            done.append(number)
            stack.pop()
    return done[::-1]
