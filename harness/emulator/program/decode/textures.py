"""Decode texture fetches, and surface loads and stores, by the handles that CUDA C++ passes."""

from __future__ import annotations

from collections.abc import Sequence

from harness.emulator.program.decode.operands import OperandReader
from harness.emulator.program.ir import Op, Source
from harness.emulator.ptx.syntax import Group, Instruction, Memory, Operand

SHAPES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3, "cube": 3}
"""The number of coordinates that each shape uses, the layer first. Any further coordinate operands,
up to four, are padding."""
BEYOND = ("trap", "clamp", "zero")
"""The ways to handle an access beyond a surface's edge."""
_LEVELS = {"base": 0, "level": 1, "grad": 2}
"""The number of additional operands that choose the level; only one level exists."""
_CACHED = frozenset(("ca", "cg", "cs", "cv", "wb", "wt"))
_REGISTERS = {"b8": "u16", "b16": "u16", "b32": "u32", "b64": "u64"}


class TextureDecoder(OperandReader):
    """Instructions with a handle and coordinates in brackets."""

    def _op_tex(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        more = _LEVELS.get(modifiers[0]) if modifiers else None
        modifiers = modifiers if more is None else modifiers[1:]
        known = len(modifiers) == 2 and modifiers[0] in SHAPES and modifiers[1] == "v4"
        if not known or len(types) != 2 or types[0] not in ("f32", "u32", "s32"):
            raise self.unknown("of textures, fetches of four 32-bit values by a handle are known")
        if types[1] not in ("f32", "s32") or (types[1] == "s32" and modifiers[0] == "cube"):
            raise self.unknown()
        target, place, *_ = self.given(instruction, 2 + (more or 0))
        if not isinstance(target, Group) or len(target.items) != 4:
            raise self.unknown("expected four registers")
        shape, kind = modifiers[0], "f32" if types[1] == "f32" else "u32"
        kinds = [kind] * SHAPES[shape]
        if shape[0] == "a":
            kinds[0] = "u32"
        sources = self._handle_and_coordinates(place, kinds)
        made = tuple(self.result(item) for item in target.items)
        result = "f32" if types[0] == "f32" else "u32"
        return [
            Op("tex", (shape, types[1]), made, (result,) * 4, sources, ("u64", *kinds), self.site)
        ]

    def _op_suld(self, instruction: Instruction, _: list[str], __: list[str]) -> list[Op]:
        target, place = self.given(instruction, 2)
        variant, kind, items, sources, kinds = self._surface_access(instruction, place, target)
        made = tuple(self.result(item) for item in items)
        return [Op("suld", variant, made, (kind,) * len(made), sources, kinds, self.site)]

    def _op_sust(self, instruction: Instruction, _: list[str], __: list[str]) -> list[Op]:
        place, given = self.given(instruction, 2)
        variant, kind, items, sources, kinds = self._surface_access(instruction, place, given)
        values = tuple(self.source(item, kind) for item in items)
        kinds = (*kinds, *(kind,) * len(values))
        return [Op("sust", variant, (), (), (*sources, *values), kinds, self.site)]

    def _surface_access(
        self, instruction: Instruction, place: Operand, values: Operand
    ) -> tuple[tuple[str, ...], str, tuple[Operand, ...], tuple[Source, ...], tuple[str, ...]]:
        """Decode a surface access: its variant, the values' type and operands, the coordinates and
        their types."""
        shape, count, type_, beyond = self._of_surface(instruction)
        items = _items(values)
        if len(items) != count:
            raise self.unknown(f"expected {count} registers")
        kinds = ("u32",) * SHAPES[shape]
        sources = self._handle_and_coordinates(place, kinds)
        return (shape, type_, beyond), _REGISTERS[type_], items, sources, ("u64", *kinds)

    def _of_surface(self, instruction: Instruction) -> tuple[str, int, str, str]:
        """Shape, number of values, their type, and how an access beyond the surface is handled."""
        words = [w for w in instruction.opcode.split(".")[1:] if w not in _CACHED]
        count = 1
        if len(words) == 5 and words[2] in ("v2", "v4"):
            count = int(words.pop(2)[1:])
        known = len(words) == 4 and words[0] == "b" and words[1] in SHAPES and words[1] != "cube"
        if not known or words[2] not in _REGISTERS or words[3] not in BEYOND:
            raise self.unknown("of surfaces, loads and stores of bytes by a handle are known")
        return words[1], count, words[2], words[3]

    def _handle_and_coordinates(self, place: Operand, kinds: Sequence[str]) -> tuple[Source, ...]:
        if not isinstance(place, Memory) or place.offset or len(place.more) != 1:
            raise self.unknown("expected a handle and coordinates")
        items = _items(place.more[0])
        if len(items) not in (len(kinds), 4):
            raise self.unknown(f"expected {len(kinds)} coordinates")
        name = self.names.get(place.base, place.base)
        if name not in self.registers:
            raise self.unknown("a texture or surface that is no handle")
        coordinates = (self.source(i, k) for i, k in zip(items, kinds, strict=False))
        return (self.register(place.base), *coordinates)


def _items(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Group) else (operand,)
