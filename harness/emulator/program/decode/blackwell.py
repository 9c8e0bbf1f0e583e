"""PTX instructions introduced with sm_100: min and max of three floats, reductions over a warp's
floats, mixed-precision halves.

Each instruction is composed of existing operations. Pairs of floats, `f32x2`, are a type of the
table in `signatures`.
"""

from __future__ import annotations

from harness.emulator.program import signatures
from harness.emulator.program.decode.warp import WarpDecoder
from harness.emulator.program.ir import Op, Register, Source
from harness.emulator.ptx.syntax import Instruction

_EXTREMES = ("min", "max")
_MIXED = {"add": 1, "sub": 1, "fma": 2}
"""The number of leading sources that are halves, for each instruction; one float follows them."""


class BlackwellDecoder(WarpDecoder):
    """Decodes the instructions introduced with sm_100."""

    def of_blackwell(
        self, instruction: Instruction, name: str, modifiers: list[str], types: list[str]
    ) -> list[Op] | None:
        """Decode the instruction; None if it was not introduced with sm_100."""
        if name in _EXTREMES and types == ["f32"] and len(instruction.operands) == 4:
            return self._extreme_of_three(instruction, name, modifiers)
        if name in _MIXED and types in (["f32", "f16"], ["f32", "bf16"]):
            return self._mixed(instruction, name, modifiers, types[1])
        return None

    def _extreme_of_three(
        self, instruction: Instruction, name: str, modifiers: list[str]
    ) -> list[Op]:
        if not _each_once(modifiers, "ftz", "NaN", "abs"):
            raise self.unknown()
        ops: list[Op] = []
        read = [self.source(each, "f32", ops) for each in instruction.operands[1:]]
        if "abs" in modifiers:
            read = [self._made("abs", (), each, n, ops) for n, each in enumerate(read)]
        how = tuple(sorted({*modifiers} - {"abs"}))
        first = self.declare("!of two", "f32")
        for result, pair in (
            (first, (read[0], read[1])),
            (self.result(instruction.operands[0]), (first, read[2])),
        ):
            ops.append(Op(name, how, (result,), ("f32",), pair, ("f32", "f32"), self.site))
        return ops

    def _made(
        self, name: str, how: tuple[str, ...], source: Source, number: int, ops: list[Op],
        type_: str = "f32",
    ) -> Register:  # fmt: skip
        """Convert a source to a float, for use by the following operation."""
        register = self.declare(f"!operand {number}", "f32")
        ops.append(Op(name, how, (register,), ("f32",), (source,), (type_,), self.site))
        return register

    def _mixed(
        self, instruction: Instruction, name: str, modifiers: list[str], half: str
    ) -> list[Op]:
        """Convert the halves to floats, then operate on floats. The conversion is exact, so the
        result is rounded only once."""
        matched = signatures.match(name, modifiers, ["f32"])
        if matched is None or "ftz" in modifiers:
            raise self.unknown()
        target, *sources = self.given(instruction, 2 + _MIXED[name])
        ops: list[Op] = []
        kinds = (half,) * _MIXED[name] + ("f32",)
        read = [self.source(s, t, ops) for s, t in zip(sources, kinds, strict=True)]
        halves = [self._made("cvt", (), each, n, ops, half) for n, each in enumerate(read[:-1])]
        ops.append(
            Op(name, tuple(sorted(modifiers)), (self.result(target),), ("f32",),
               (*halves, read[-1]), ("f32",) * len(read), self.site)
        )  # fmt: skip
        return ops

    def _op_redux(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if types != ["f32"]:
            return super()._op_redux(instruction, modifiers, types)
        if modifiers[:1] != ["sync"] or modifiers[1:2] not in (["min"], ["max"]):
            raise self.unknown()
        if not _each_once(modifiers[2:], "abs", "NaN"):
            raise self.unknown()
        target, *sources = self.given(instruction, 3)
        ops: list[Op] = []
        value = self.source(sources[0], "f32", ops)
        if "abs" in modifiers:
            value = self._made("abs", (), value, 0, ops)
        read = (value, self.source(sources[1], "u32", ops))
        how = ".".join(each for each in modifiers[1:] if each != "abs")
        ops.append(
            Op("redux", (how,), (self.result(target),), ("f32",), read, ("f32", "u32"), self.site)
        )
        return ops


def _each_once(modifiers: list[str], *known: str) -> bool:
    """Return whether the modifiers are exactly these, in any order."""
    return {*modifiers} <= {*known} and len({*modifiers}) == len(modifiers)
