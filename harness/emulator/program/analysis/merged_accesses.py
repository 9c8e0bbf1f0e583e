"""Find accesses to shared memory that ptxas may merge into wider ones, which changes the number of
wavefronts.

ptxas merges loads, or stores, of neighbouring words if it can prove that the wider access is
aligned. This analysis uses the same criterion: an address is a register plus an offset, and the
register's computation shows which power of two divides its value. ptxas may leave some of these
accesses unmerged, and may merge others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from harness.emulator.program.ir import Block, Constant, Op, Program, Register, SymbolAddress
from harness.emulator.ptx.syntax import TYPE_SIZES

_WIDEST = 16
_MOST_STEPS = 32  # limit for tracing an address back to the values it is computed from
_MEETINGS = ("bar", "barrier", "syncwarp", "vote", "shfl", "match", "redux", "atom", "fence")

Place = tuple[object, ...]


def merged_accesses(program: Program) -> frozenset[int]:
    """The sites of accesses that may be merged with a neighbouring one."""
    alignment = _Alignment(program)
    return frozenset(site for block in program.blocks for site in _of_block(block, alignment))


def _of_block(block: Block, alignment: _Alignment) -> Iterator[int]:
    """Find the accesses in one block. A register that is written again is a different base;
    accesses in between prevent a merge.
    """
    versions: dict[int, int] = defaultdict(int)
    known: dict[Place, dict[int, int]] = defaultdict(dict)
    meetings = 0
    for op in block.ops:
        if op.name in ("ld", "st") and op.variant[:1] == ("shared",):
            types = op.result_types if op.name == "ld" else op.source_types[2:]
            width = TYPE_SIZES[types[0]] * len(types)
            base, offset = op.sources[0], _signed(op.sources[1])
            if isinstance(base, SymbolAddress):  # add the symbol's own offset
                base, offset = replace(base, offset=0), offset + base.offset
            of_base = (base.slot, versions[base.slot]) if isinstance(base, Register) else (base, 0)
            there = known[op.name, width, meetings, of_base]
            for first, other in ((offset, offset + width), (offset - width, offset - width)):
                both = 2 * width <= _WIDEST and other in there
                if both and (alignment.of(base) | first) % (2 * width) == 0:
                    yield op.site
                    yield there[other]
            there[offset] = op.site
        meetings += op.name in _MEETINGS
        for register in op.registers_written():
            versions[register.slot] += 1


def _signed(offset: object) -> int:
    bits = offset.bits if isinstance(offset, Constant) else 0
    return bits - (1 << 64) if bits >> 63 else bits


class _Alignment:
    """The largest power of two that is known to divide a value."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[tuple[int, int], int] = {}
        self._made: dict[int, list[tuple[Op, int]]] = defaultdict(list)
        for block in program.blocks:
            for op in block.ops:
                for at, result in enumerate(op.results):
                    if result is not None:
                        self._made[result.slot].append((op, at))

    def of(self, source: object, steps: int = _MOST_STEPS) -> int:
        if isinstance(source, Constant):
            return source.bits & -source.bits if source.bits else 1 << 63
        if isinstance(source, SymbolAddress):
            return self._of_symbol(source)
        if not isinstance(source, Register) or steps == 0:
            return 1
        key = source.slot, steps  # otherwise registers added to each other take 2^32 steps
        if key not in self._known:
            made = self._made.get(source.slot, [])
            self._known[key] = min((self._of_result(op, steps - 1) for op, _ in made), default=1)
        return self._known[key]

    def _of_symbol(self, symbol: SymbolAddress) -> int:
        offset = self._program.shared.get(symbol.name, 0) + symbol.offset
        return min(_WIDEST, offset & -offset or _WIDEST)

    def _of_result(self, op: Op, steps: int) -> int:
        def of(number: int) -> int:
            return self.of(op.sources[number], steps)

        if op.name in ("mov", "cvt", "cvta"):
            return of(0)
        if op.name in ("add", "sub", "or", "xor"):
            return min(of(0), of(1))
        if op.name == "and":
            return max(of(0), of(1))
        if op.name == "shl":
            by = op.sources[1]
            return of(0) << min(by.bits, 63) if isinstance(by, Constant) else of(0)
        if op.name in ("mul", "mad") and "hi" not in op.variant:
            product = of(0) * of(1)
            return min(product, of(2)) if op.name == "mad" else product
        return 1
