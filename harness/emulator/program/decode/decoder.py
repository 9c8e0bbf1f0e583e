"""Decode one PTX instruction into typed operations.

Every modifier is checked against the supported ones, and every operand gets its type. Memory and
warp-wide instructions have their own decoders in `memory` and `warp`; anything that computes from
registers alone follows the table in `signatures`.
"""

from __future__ import annotations

from dataclasses import replace

from harness.emulator.program import signatures
from harness.emulator.program.decode.arithmetic.conversions import ConversionDecoder
from harness.emulator.program.decode.arithmetic.integers import IntegerDecoder
from harness.emulator.program.decode.arithmetic.video import VideoDecoder
from harness.emulator.program.decode.blackwell import BlackwellDecoder
from harness.emulator.program.decode.clusters import ClusterDecoder
from harness.emulator.program.decode.memory import STATE_SPACES
from harness.emulator.program.decode.stack import StackDecoder
from harness.emulator.program.decode.tensor_copies import TensorCopyDecoder
from harness.emulator.program.decode.textures import TextureDecoder
from harness.emulator.program.decode.warpgroup import WarpgroupDecoder
from harness.emulator.program.ir import HALVES, Constant, Op, Register, unsigned
from harness.emulator.ptx.syntax import (
    TYPE_SIZES,
    Group,
    Instruction,
    Memory,
    Name,
    Operand,
    Pair,
    Sum,
)

_CACHE_HINT = "L2::cache_hint"
_AT_COORDINATES = frozenset(("tex", "suld", "sust", "cp"))


class Decoder(
    TensorCopyDecoder, WarpgroupDecoder, ClusterDecoder, BlackwellDecoder, IntegerDecoder,
    VideoDecoder, ConversionDecoder, StackDecoder, TextureDecoder,
):  # fmt: skip
    """Decodes the instructions of one kernel."""

    def ops(self, instruction: Instruction) -> list[Op]:
        made = self._ops(instruction)
        for op in made:
            operands = (*zip(op.results, op.result_types, strict=True),
                        *zip(op.sources, op.source_types, strict=True))  # fmt: skip
            for operand, type_ in operands:
                if isinstance(operand, Register):
                    self.check_type(operand, type_)
        return made

    def _ops(self, instruction: Instruction) -> list[Op]:
        name, modifiers, types = signatures.split_opcode(instruction.opcode)
        at_coordinates = any(isinstance(o, Memory) and o.more for o in instruction.operands)
        if at_coordinates and name not in _AT_COORDINATES:
            raise self.unknown("of textures and surfaces, tex, suld.b and sust.b are known")
        if _CACHE_HINT in modifiers:  # its policy comes last, and has no effect here
            modifiers.remove(_CACHE_HINT)
            opcode = instruction.opcode.replace(f".{_CACHE_HINT}", "")
            instruction = replace(instruction, opcode=opcode, operands=instruction.operands[:-1])
        reader = getattr(self, f"_op_{name}", None)
        if reader is not None:
            made: list[Op] = reader(instruction, modifiers, types)
            return made
        if name in ("min", "max") and len(modifiers) == 2 and modifiers[1] == "relu" and not types:
            modifiers, types = ["relu"], modifiers[:1]  # `min.s32.relu`
        later = self.of_blackwell(instruction, name, modifiers, types)
        if later is not None:
            return later
        if "cc" in modifiers or name in ("addc", "subc", "madc"):
            return self.with_carry(instruction, name, modifiers, types)
        matched = signatures.match(name, modifiers, types)
        if matched is None:
            raise self.unknown()
        result_types, source_types = matched
        results, sources = self.result_and_sources(instruction)
        if len(sources) != len(source_types):
            raise self.unknown(f"{len(sources)} source operands for {len(source_types)}")
        ops: list[Op] = []
        read = tuple(self.source(s, t, ops) for s, t in zip(sources, source_types, strict=True))
        ops.append(
            Op(
                name, tuple(sorted(modifiers)), (self.result(results),), result_types, read,
                source_types, self.site,
            )
        )  # fmt: skip
        return ops

    def _op_mov(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        if not modifiers and types == ["b128"]:
            return self.mov_b128(instruction)
        if modifiers in (["v2"], ["v4"]):
            return self._mov_vector(instruction, int(modifiers[0][1:]), types)
        if modifiers or len(types) != 1 or types[0] not in signatures.MOVE_TYPES:
            raise self.unknown()
        kind = unsigned(types[0])
        target, source = self.given(instruction, 2)
        name, plus = (source.base, source.offset) if isinstance(source, Sum) else ("", 0)
        if isinstance(source, Name):
            name = source.text
        name = self.names.get(name, name)
        if name in self.frame:
            offset = Constant(self.frame[name] + plus)
            return [
                Op("add", (), (self.result(target),), ("u64",),
                   (self.declare("!stack", "u64"), offset), ("u64", "u64"), self.site)
            ]  # fmt: skip
        if isinstance(source, Group):
            part = self._fraction(kind, source)
            sources = tuple(self.source(s, part) for s in source.items)
            return [
                Op("pack", (), (self.result(target),), (kind,), sources, (part,) * len(sources),
                   self.site)
            ]  # fmt: skip
        if isinstance(target, Group):
            part = self._fraction(kind, target)
            results = tuple(self.result(r) for r in target.items)
            return [
                Op("unpack", (), results, (part,) * len(results), (self.source(source, kind),),
                   (kind,), self.site)
            ]  # fmt: skip
        return [
            Op("mov", (), (self.result(target),), (kind,), (self.source(source, kind),), (kind,),
               self.site)
        ]  # fmt: skip

    def _mov_vector(self, instruction: Instruction, count: int, types: list[str]) -> list[Op]:
        """Move registers to the same number of others, all at once, because the two lists may
        overlap."""
        operands = self.given(instruction, 2)
        if len(types) != 1 or types[0] not in signatures.MOVE_TYPES - {"pred"}:
            raise self.unknown()
        groups = [o.items for o in operands if isinstance(o, Group) and len(o.items) == count]
        if len(groups) != 2:
            raise self.unknown(f"vectors of {count} registers")
        kind = (unsigned(types[0]),)
        between = [self.declare(f"!part {n} of {kind[0]}", kind[0]) for n in range(count)]
        return [
            Op("mov", (), (to,), kind, (of,), kind, self.site)
            for to, of in (
                *(
                    (part, self.source(of, kind[0]))
                    for part, of in zip(between, groups[1], strict=True)
                ),
                *((self.result(to), part) for part, to in zip(between, groups[0], strict=True)),
            )
        ]

    def mov_b128(self, instruction: Instruction) -> list[Op]:
        """Decode a move in which at least one operand is a 128-bit register, as moves of the
        halves."""
        operands = self.given(instruction, 2)
        target, source = (o.items if isinstance(o, Group) else self.halves(o) for o in operands)
        if len(target) != 2 or len(source) != 2 or all(isinstance(o, Group) for o in operands):
            raise self.unknown()
        return [
            Op("mov", (), (self.result(to),), ("u64",), (self.source(of, "u64"),), ("u64",),
               self.site)
            for to, of in zip(target, source, strict=True)
        ]  # fmt: skip

    def _compare(
        self, instruction: Instruction, modifiers: list[str], type_: str,
        results: tuple[Operand, ...], result_type: str,
    ) -> list[Op]:  # fmt: skip
        if not modifiers or modifiers[0] not in signatures.COMPARISONS:
            raise self.unknown()
        if type_ not in signatures.COMPARE_TYPES or not signatures.compares(modifiers[0], type_):
            raise self.unknown()
        if len(results) == 2 and type_ in ("f16", "bf16"):
            raise self.unknown("a second predicate")
        combined = modifiers[1:2] != [] and modifiers[1] in signatures.BOOLEANS
        flushes = [["ftz"]] if type_ in ("f32", "f16", "f16x2") else []
        if modifiers[1 + combined :] not in ([], *flushes):
            raise self.unknown()
        _, *sources = self.given(instruction, 4 if combined else 3)
        source_types = (type_, type_, "pred")[: len(sources)]
        ops: list[Op] = []
        read = tuple(self.source(s, t, ops) for s, t in zip(sources, source_types, strict=True))
        made = tuple(self.result(r) for r in results)
        opcode = "setp" if result_type == "pred" else "set"
        kinds = (result_type,) * len(made)
        ops.append(Op(opcode, tuple(modifiers), made, kinds, read, source_types, self.site))
        return ops

    def _op_setp(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if len(types) != 1:
            raise self.unknown()
        target, _ = self.result_and_sources(instruction)
        results = (target.first, target.second) if isinstance(target, Pair) else (target,)
        return self._compare(instruction, modifiers, types[0], results, "pred")

    def _op_set(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        if len(types) != 2 or types[0] not in ("u32", "s32", "f32", "u16", "s16", *HALVES):
            raise self.unknown()
        if types[0] in HALVES and types[0] != types[1]:
            raise self.unknown()
        if types[0] in ("u16", "s16") and types[1] not in ("f16", "bf16"):
            raise self.unknown()
        if types[0] == "f32" and types[1] in HALVES:
            raise self.unknown()
        target, _ = self.result_and_sources(instruction)
        kind = types[0] if types[0] in HALVES else unsigned(types[0])
        return self._compare(instruction, modifiers, types[1], (target,), kind)

    def _op_slct(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if len(types) != 2 or types[1] not in ("s32", "f32"):
            raise self.unknown()
        flushes = [["ftz"]] if types[1] == "f32" else []
        if types[0] not in signatures.MOVE_TYPES - {"pred"} or modifiers not in ([], *flushes):
            raise self.unknown()
        kind = unsigned(types[0])
        target, *sources = self.given(instruction, 4)
        source_types = (kind, kind, types[1])
        read = tuple(self.source(s, t) for s, t in zip(sources, source_types, strict=True))
        return [
            Op("slct", tuple(modifiers), (self.result(target),), (kind,), read, source_types,
               self.site)
        ]  # fmt: skip

    def _op_cvta(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        to = "to" in modifiers
        spaces = [m.partition("::")[0] for m in modifiers if m != "to"]
        if len(spaces) != 1 or spaces[0] not in STATE_SPACES or types != ["u64"]:
            raise self.unknown()
        target, source = self.given(instruction, 2)
        return [
            Op("cvta", ("to" if to else "from", spaces[0]), (self.result(target),), ("u64",),
               (self.source(source, types[0]),), ("u64",), self.site)
        ]  # fmt: skip

    def _op_isspacep(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if types or len(modifiers) != 1 or modifiers[0].partition("::")[0] not in STATE_SPACES:
            raise self.unknown()
        target, source = self.given(instruction, 2)
        return [
            Op("isspacep", (_space_of(modifiers[0]),), (self.result(target),), ("pred",),
               (self.source(source, "u64"),), ("u64",), self.site)
        ]  # fmt: skip

    def _fraction(self, type_: str, parts: Group) -> str:
        """The type of each part of a register that is packed or unpacked."""
        bits, count = 8 * TYPE_SIZES[type_], len(parts.items)
        if count not in (2, 4) or bits // count < 8:
            raise self.unknown(f"{bits} bits in {count} parts")
        return f"u{bits // count}"


def _space_of(word: str) -> str:
    """The state space of a qualifier; sub-spaces are treated as the whole space, except for shared
    memory.
    """
    return word if word == "shared::cluster" else word.partition("::")[0]
