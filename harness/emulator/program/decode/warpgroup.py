"""Decode warpgroup MMAs (`wgmma`) into MMAs of the four warps.

Each of the four warps computes 16 of the 64 rows by MMAs with 16 × 8 accumulators, placed side by
side in the same registers as for `mma`. An operand in shared memory is read at the address given by
its matrix descriptor. These reads are not counted, because the machine code has no load
instructions for them. The accumulators are computed when the `wgmma` is issued; using them without
waiting is reported as a fault. The operands are treated as being read until the warp waits for the
group; a write to them before that is reported, too. A `wgmma` is one operation of four warps: it
completes only when all of them have issued it. Therefore the warps synchronise where they wait for
it, and after that any of them may signal that the tiles were read.

If the first operand is sparse (`wgmma.mma_async.sp`), these are sparse MMAs, and the rows of the
second operand are twice as deep.

Source: PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.emulator.program.decode.matrix import MatrixDecoder, per_register
from harness.emulator.program.decode.warp import BARRIERS
from harness.emulator.program.ir import Barrier, Constant, Op, Register, Source, Special
from harness.emulator.ptx.syntax import Group, Instruction, Name, Number, Operand
from harness.silicon.architectures import WARP_SIZE

_SHAPE = re.compile(r"m64n(\d{1,3})k(\d{1,2})\Z")
_SPARSE = "sp"
_FACTORS = {
    "f16": ("f16",), "bf16": ("bf16",), "tf32": ("tf32",), "e4m3": ("e4m3", "e5m2"),
    "e5m2": ("e4m3", "e5m2"), "s8": ("s8", "u8"), "u8": ("s8", "u8"),
}  # fmt: skip
_SUMS = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "e4m3": ("f16", "f32"),
         "e5m2": ("f16", "f32"), "s8": ("s32",), "u8": ("s32",)}  # fmt: skip
_INTEGER_COLUMNS = (8, 16, 24, *range(32, 257, 16))
_BYTES_DEEP = 32  # bytes of an operand's row that one MMA uses, whatever the type
_SIGNS = {1: 0x8000_0000, 2: 0x8000_8000, 4: 0x8080_8080}  # by the number of elements in a word
_WARPS = 4  # per warpgroup
_EIGHT, _WORDS_OF_A = 8, 4  # rows or columns that one word per lane covers; words for sixteen rows
_WORDS_OF_B = 2  # for eight columns; twice as many if the first operand is sparse


@dataclass(frozen=True)
class _Product:
    """`m64nNkK.D.A.B`. `depth`: the second operand's depth, half of which a sparse first operand
    stores."""

    columns: int
    depth: int
    sparse: bool
    sum: str
    a: str
    b: str
    clamps: bool


@dataclass(frozen=True)
class _Modes:
    """Whether the product is negated, and which operands have the depth (k) as their outer
    dimension."""

    negates: bool
    turns_a: bool
    turns_b: bool


@dataclass(frozen=True)
class _Factor:
    """An operand in shared memory. `rows`: the first row, or the first column of `b`. `slices`: the
    depth of its rows as a multiple of `_BYTES_DEEP`."""

    descriptor: Source
    rows: Source
    turned: bool
    slices: int = 1


class WarpgroupDecoder(MatrixDecoder):
    """`wgmma.mma_async` and its companion instructions."""

    def _op_wgmma(self, instruction: Instruction, _: list[str], __: list[str]) -> list[Op]:
        words = instruction.opcode.split(".")[1:]
        sparse = words[:2] == ["mma_async", _SPARSE]
        if sparse:
            del words[1]
        if words[1:3] != ["sync", "aligned"]:
            raise self.unknown()
        name, shape = words[0], words[3:]
        if name == "mma_async":
            return self._warpgroup_product(instruction, shape, sparse=sparse)
        self.given(instruction, 0)
        if name not in ("fence", "commit_group") or shape:
            raise self.unknown()
        if name == "commit_group":
            return [Op("products_commit", (), (), (), (), (), self.site)]
        return [Op("fence", ("",), (), (), (), (), self.site)]

    def warpgroup_wait(self, instruction: Instruction) -> tuple[list[Op], Barrier]:
        """Decode `wgmma.wait_group`: a warpgroup barrier, numbered after the barriers that programs
        may use."""
        (left,) = self.given(instruction, 1)
        words = instruction.opcode.split(".")[1:]
        if words != ["wait_group", "sync", "aligned"] or not isinstance(left, Number):
            raise self.unknown()
        if not isinstance(left.value, int) or left.value < 0:
            raise self.unknown(f"it leaves {left.value} groups")
        number = self.declare("!warpgroup", "u32")
        warp = (Special("warpid"), Constant(_WARPS.bit_length() - 1))
        ops = [
            Op("products_wait", (str(left.value),), (), (), (), (), self.site),
            Op("shr", (), (number,), ("u32",), warp, ("u32", "u32"), self.site),
            Op("add", (), (number,), ("u32",), (number, Constant(BARRIERS)), ("u32", "u32"),
               self.site),
        ]  # fmt: skip
        return ops, Barrier(number, Constant(_WARPS * WARP_SIZE), -1, self.site)

    def _warpgroup_product(
        self, instruction: Instruction, words: list[str], *, sparse: bool
    ) -> list[Op]:
        product = self._product(words, sparse=sparse)
        operands = self.given(instruction, *(each + 2 * sparse for each in (4, 6, 7, 8)))
        target, a, b, *metadata, adds = operands[: 4 + 2 * sparse]
        rest = operands[4 + 2 * sparse :]
        modes = self._modes(product, rest, in_registers=isinstance(a, Group))
        ops: list[Op] = []
        words_of_a = self._words_of_a(a, modes.turns_a, ops)
        if modes.negates:
            words_of_a = [self._negated(each, product.a, ops) for each in words_of_a]
        sums = self._items(target)
        held = 2 if product.sum == "f16" else 4  # registers for eight columns
        if len(sums) != product.columns // _EIGHT * held:
            raise self.unknown(f"{len(sums)} registers of sums for {product.columns} columns")
        wanted = self.source(adds, "pred", ops)
        places = self._metadata(product, metadata) if sparse else None
        factor = _Factor(self._descriptor(b), Constant(0), modes.turns_b, 1 + sparse)
        ops.append(self._held(product.columns << 8 | product.depth, sums))
        if isinstance(a, Group):
            ops.append(self._held(0, list(a.items)))
        ops.append(self._read(factor, product.columns))
        for first in range(0, product.columns, _EIGHT):
            words_of_b = self._words_of_factor(factor, first, "b", _WORDS_OF_B * factor.slices, ops)
            own = sums[first // _EIGHT * held :][:held]
            ops += self._part(product, own, (*words_of_a, *words_of_b), wanted, places)
        return ops

    def _metadata(
        self, product: _Product, operands: Sequence[Operand]
    ) -> tuple[Source, str]:  # fmt: skip
        """A sparse operand's metadata register, and the selector of the lanes that supply it."""
        register, selector = operands
        chosen = self.selector(selector, product.a, product.depth)
        return self.source(register, "u32"), str(chosen)

    def _held(self, shape: int, operands: Sequence[Operand]) -> Op:
        """Mark the registers that a `wgmma` uses: accumulators, with their shape, or an operand
        (shape 0).
        """
        taken = [
            self.source(each, "b32")
            for each in operands
            if isinstance(each, Name) and each.text != "_"
        ]
        slots = [str(each.slot) for each in taken if isinstance(each, Register)]
        return Op("products_hold", (str(shape), *slots), (), (), (), (), self.site)

    def _product(self, words: list[str], *, sparse: bool) -> _Product:
        clamps = words[-1:] == ["satfinite"]
        words = words[: len(words) - clamps]
        found = _SHAPE.match(words[0]) if len(words) == 4 else None
        if found is None:
            raise self.unknown()
        columns, depth = map(int, found.groups())
        sum_, a, b = words[1:]
        integer = sum_ == "s32"
        columns_known = columns in _INTEGER_COLUMNS if integer else columns % _EIGHT == 0
        if b not in _FACTORS.get(a, ()) or sum_ not in _SUMS[a] or (clamps and not integer):
            raise self.unknown()
        if not columns_known or not 8 <= columns <= 256:
            raise self.unknown(f"{columns} columns")
        if depth != _BYTES_DEEP // 4 * per_register(a) * (1 + sparse):
            raise self.unknown(f"a depth of {depth}")
        return _Product(columns, depth, sparse, sum_, a, b, clamps)

    def _modes(
        self, product: _Product, operands: Sequence[Operand], *, in_registers: bool
    ) -> _Modes:
        """Read the two scales, which integer MMAs do not have, and the layout of halves in
        memory."""
        turned = (2 - in_registers) * (product.a in ("f16", "bf16"))
        if len(operands) != (0 if product.sum == "s32" else 2 + turned):
            raise self.unknown(f"{len(operands)} operands behind the predicate")
        values = [each.value for each in operands if isinstance(each, Number)]
        scales, turns = values[:2], values[2:]
        if len(values) < len(operands) or {*scales} - {1, -1} or {*turns} - {0, 1}:
            raise self.unknown("a scale is 1 or -1, a transposition 0 or 1")
        turns_a = turns[0] == 1 if turned == 2 else False
        return _Modes(len({*scales}) == 2, turns_a, turns[-1:] == [1])

    def _words_of_a(self, a: Operand, turns: bool, ops: list[Op]) -> list[Source]:
        """The four words that each lane holds of the warp's sixteen rows."""
        if isinstance(a, Group):
            if len(a.items) != _WORDS_OF_A:
                raise self.unknown(f"{len(a.items)} registers of `a`, which has {_WORDS_OF_A}")
            return [self.source(each, "u32") for each in a.items]
        factor = _Factor(self._descriptor(a), self._first_row(ops), turns)
        ops.append(self._read(factor, 2 * _EIGHT))
        return self._words_of_factor(factor, 0, "a", _WORDS_OF_A, ops)

    def _part(
        self, product: _Product, sums: Sequence[Operand], factors: tuple[Source, ...],
        wanted: Source, places: tuple[Source, str] | None,
    ) -> list[Op]:  # fmt: skip
        """Compute eight columns: the existing accumulators, if they are to be added, plus a matrix
        product.
        """
        kind = "u32" if product.sum == "f16" else product.sum
        ops: list[Op] = []
        before = [self._sum_before(each, kind, i, wanted, ops) for i, each in enumerate(sums)]
        types = (product.sum, product.a, product.b, product.sum)
        variant = ("16", str(product.depth), *types, *["satfinite"] * product.clamps)
        results = tuple(self.result(each) for each in sums)
        kinds = ("u32",) * len(factors) + (kind,) * len(sums)
        name, given = "mma", (*factors, *before)
        if places:
            name, variant = "mma_sparse", (*variant, places[1])
            given, kinds = (*given, places[0]), (*kinds, "u32")
        return [*ops, Op(name, variant, results, (kind,) * len(sums), given, kinds, self.site)]

    def _sum_before(
        self, given: Operand, kind: str, number: int, wanted: Source, ops: list[Op]
    ) -> Source:
        """Return the initial accumulator. The register may be uninitialised if the instruction is
        known not to read it.
        """
        if isinstance(wanted, Constant):
            return self.source(given, kind) if wanted.bits else Constant(0)
        register = self.declare(f"!wgmma sum {kind} {number}", kind)
        chosen = (self.source(given, kind), Constant(0), wanted)
        ops.append(Op("selp", (), (register,), (kind,), chosen, (kind, kind, "pred"), self.site))
        return register

    def _first_row(self, ops: list[Op]) -> Register:
        """The first of the warp's sixteen rows of `a`."""
        row = self.declare("!wgmma row", "u32")
        rank = (Special("warpid"), Constant(3))
        ops.append(Op("and", (), (row,), ("u32",), rank, ("u32", "u32"), self.site))
        ops.append(Op("shl", (), (row,), ("u32",), (row, Constant(4)), ("u32", "u32"), self.site))
        return row

    def _descriptor(self, operand: Operand) -> Source:
        if not isinstance(operand, Name):
            raise self.unknown("a matrix descriptor is in a register")
        return self.source(operand, "u64")

    def _read(self, factor: _Factor, rows: int) -> Op:
        """Make the warp's read of all rows of an operand, from which its words are then taken."""
        variant = (str(rows), str(int(factor.turned)), str(factor.slices))
        return Op("factor_read", variant, (), (), (factor.descriptor, factor.rows),
                  ("u64", "u32"), self.site)  # fmt: skip

    def _words_of_factor(
        self, factor: _Factor, row: int, name: str, count: int, ops: list[Op]
    ) -> list[Source]:
        """Load the words that each lane holds of eight rows, or of sixteen rows of `a`.

        `row`: the first of these rows, relative to the operand's first row; for `b`, a column.
        """
        words = tuple(self.declare(f"!wgmma {name}{i}", "u32") for i in range(count))
        turns = count // _WORDS_OF_B // factor.slices  # groups of eight rows
        ops.append(Op("factor_words", (str(row), str(int(factor.turned)), str(turns)), words,
                      ("u32",) * count, (factor.descriptor, factor.rows), ("u64", "u32"),
                      self.site))  # fmt: skip
        return list(words)

    def _negated(self, word: Source, type_: str, ops: list[Op]) -> Register:
        flipped = self.declare(f"!wgmma negated {len(ops)}", "u32")
        signs = Constant(_SIGNS[per_register(type_)])
        ops.append(Op("xor", (), (flipped,), ("u32",), (word, signs), ("u32", "u32"), self.site))
        return flipped
