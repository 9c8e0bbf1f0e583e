"""Decode TMA copies, and a kernel's changes to a tensor map.

`tensormap.replace` becomes a store, or a change of some bits of a word, as in the code that ptxas
generates (`tensor_map_fields.py`), and `tensormap.cp_fenceproxy` becomes loads and stores.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.emulator.program import tensor_map_fields
from harness.emulator.program.decode.mbarriers import TELLS, MbarrierDecoder
from harness.emulator.program.ir import Constant, Op, Source
from harness.emulator.program.tensor_map_fields import Part
from harness.emulator.ptx.syntax import Group, Instruction, Memory, Operand

REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
_Place = tuple[Source, Constant, str]
_DIMENSIONS = {f"{n}d": n for n in range(1, 6)}
_OTHERS = {
    "cta_group::1": "of another architecture", "cta_group::2": "of another architecture",
    "tile::gather4": "of another architecture", "tile::scatter4": "of another architecture",
    "im2col::w": "of another architecture", "im2col::w::128": "of another architecture",
}  # fmt: skip
_LITERALS = {"elemtype": 12, "swizzle_mode": 3, "fill_mode": 1, "interleave_layout": 2}
"""Fields whose new value is a literal, and the highest value of each."""
_TF32 = 11
"""The number of the first of the two element types that round to TF32. The numbers of the same
types without rounding are four lower."""
_TF32_BEFORE = 4


class TensorCopyDecoder(MbarrierDecoder):
    """`cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` and `tensormap`."""

    def _op_cp(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        words = instruction.opcode.split(".")[1:]
        for word in words:
            if word in _OTHERS:
                raise self.unknown(f".{word} is {_OTHERS[word]}")
        if words[:3] == ["async", "bulk", "tensor"]:
            return self._copy_of_box(instruction, words[3:], "")
        if words[:4] == ["reduce", "async", "bulk", "tensor"]:
            reduces = [word for word in words if word in REDUCTIONS]
            if len(reduces) != 1:
                raise self.unknown()
            words.remove(reduces[0])
            return self._copy_of_box(instruction, words[4:], reduces[0])
        if words[:4] == ["async", "bulk", "prefetch", "tensor"]:
            return self._prefetch(instruction, words[4:])
        return super()._op_cp(instruction, modifiers, types)

    # --- copies ---------------------------------------------------------------------------

    def _copy_of_box(self, instruction: Instruction, words: list[str], reduces: str) -> list[Op]:
        dimensions = _DIMENSIONS.get(words[0], 0) if words else 0
        spaces, rest = words[1:3], words[3:]
        mode = rest.pop(0) if rest and rest[0].startswith(("tile", "im2col")) else "tile"
        im2col = mode.startswith("im2col")
        loads = spaces in (["shared::cluster", "global"], ["shared::cta", "global"])
        if not dimensions or (im2col and dimensions < 3):
            raise self.unknown()
        to_many = rest[-1:] == ["multicast::cluster"]
        if to_many:
            rest.pop()
        if to_many and spaces != ["shared::cluster", "global"]:
            raise self.unknown()
        if loads and rest == [TELLS] and not reduces and mode in ("tile", "im2col"):
            target, source, barrier, *more = self.given(instruction, 3 + im2col + to_many)
        elif (spaces == ["global", "shared::cta"] and rest == ["bulk_group"]
              and mode in ("tile", "im2col_no_offs")):  # fmt: skip
            source, target = self.given(instruction, 2)
            barrier, more = None, []
        else:
            raise self.unknown()
        ops: list[Op] = []
        at = self._end("shared", target, "!copy 0", ops)
        where, coordinates = self._map_and_coordinates(source, dimensions, ops)
        ranks = self.source(more.pop(), "u16") if to_many else None
        offsets = self._offsets(more, dimensions)
        read = [at, where, *coordinates, *offsets]
        kinds = ["u64", "u64", *["u32"] * dimensions, *["u16"] * len(offsets)]
        variant = ("shared" if loads else "global", str(dimensions), str(int(im2col)),
                   str(len(offsets)), reduces, str(int(to_many)))  # fmt: skip
        if barrier is None:
            return [*ops, Op("copy_tensor", variant, (), (), tuple(read), tuple(kinds), self.site)]
        place = self._end("shared", barrier, "!copy mbarrier", ops)
        read.append(place)
        kinds.append("u64")
        if ranks is not None:
            read.append(ranks)
            kinds.append("u16")
        count = self.declare("!copy bytes", "u32")
        ops.append(Op("copy_tensor", variant, (count,), ("u32",), tuple(read), tuple(kinds),
                      self.site))  # fmt: skip
        done = self._less(count, ops)
        if ranks is not None:
            return [*ops, *self.arrive_in_many(place, done, ranks)]
        return [*ops, self.arrive_at(place, done)]

    def _map_and_coordinates(
        self, operand: Operand, dimensions: int, ops: list[Op]
    ) -> tuple[Source, list[Source]]:
        if not isinstance(operand, Memory) or len(operand.more) != 1:
            raise self.unknown("expected a tensor map and coordinates")
        place = Memory(operand.base, operand.offset)
        base, offset, kind = self._address(place)
        where = self._whole(base, offset, kind, "!copy map", ops)
        given = operand.more[0]
        items = given.items if isinstance(given, Group) else (given,)
        if len(items) != dimensions:
            raise self.unknown(f"{len(items)} coordinates for {dimensions} dimensions")
        return where, [self.source(item, "u32") for item in items]

    def _offsets(self, given: list[Operand], dimensions: int) -> list[Source]:
        if not given:
            return []
        items = given[0].items if isinstance(given[0], Group) else (given[0],)
        if len(items) != dimensions - 2:
            raise self.unknown(f"{len(items)} offsets for {dimensions} dimensions")
        return [self.source(item, "u16") for item in items]

    def _prefetch(self, instruction: Instruction, words: list[str]) -> list[Op]:
        """Decode a prefetch hint, which only moves data between caches."""
        modes: tuple[list[str], ...] = ([], ["tile"], ["im2col"])
        if not words or words[0] not in _DIMENSIONS or words[1:3] != ["L2", "global"]:
            raise self.unknown()
        if words[3:] not in modes:
            raise self.unknown()
        im2col = words[3:] == ["im2col"]
        source, *more = self.given(instruction, 1 + im2col)
        self._map_and_coordinates(source, _DIMENSIONS[words[0]], [])
        self._offsets(more, _DIMENSIONS[words[0]])
        return [Op("fence", ("",), (), (), (), (), self.site)]

    # --- maps -----------------------------------------------------------------------------

    def _op_tensormap(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        words = instruction.opcode.split(".")[1:]
        if words[:1] == ["cp_fenceproxy"]:
            return self._copy_map(instruction, words[1:])
        if words[:2] != ["replace", "tile"] or "b1024" not in words:
            raise self.unknown()
        field, (space, rest) = words[2], self._space(words[3:])
        replaced = tensor_map_fields.REPLACED.get(field)
        if replaced is None or rest != ["b1024", f"b{8 * replaced.size}"]:
            raise self.unknown()
        if space not in ("", "global", "shared"):
            raise self.unknown()
        where, *number, value = self.given(instruction, 2 + (replaced.most > 1))
        at = self._literal(number[0]) if number else 0
        if not 0 <= at < replaced.most:
            raise self.unknown(f"there is no {field} {at}")
        place = self._place(self._own_space(space, where), where)
        parts = tensor_map_fields.parts(field, at)
        ops: list[Op] = []
        if field in _LITERALS:
            return self._set_modes(space, place, parts, field, self._literal(value))
        kind = f"u{8 * replaced.size}"
        given = self.source(value, kind)
        if replaced.plus:
            changed = self.declare("!map field", "u32")
            more = Constant(replaced.plus & 0xFFFFFFFF)
            ops.append(
                Op("add", (), (changed,), ("u32",), (given, more), ("u32", "u32"), self.site)
            )
            given = changed
        for part in parts:
            ops += self._set_bits(space, place, part, self._bits_of(given, kind, part, ops))
        return ops

    def _set_modes(
        self, space: str, where: _Place, parts: Sequence[Part], field: str, value: int
    ) -> list[Op]:
        """Set a field of a few bits to a number."""
        if not 0 <= value <= _LITERALS[field]:
            raise self.unknown(f"{field} {value} is not supported")
        rounds = field == "elemtype" and value >= _TF32
        value -= _TF32_BEFORE * rounds
        ops = [
            op for part in parts
            for op in self._set_bits(space, where, part, Constant(value >> part.of))
        ]  # fmt: skip
        if rounds:
            ops += self._set_bits(space, where, tensor_map_fields.TF32, Constant(1))
        return ops

    def _bits_of(self, value: Source, kind: str, part: Part, ops: list[Op]) -> Source:
        """The part of a value that is stored in one part of the map, and any bits above it."""
        if kind == "u32":
            return value
        high, low = self.declare("!map value", "u64"), self.declare("!map part", "u32")
        read = (value, Constant(part.of))
        ops.append(Op("shr", (), (high,), ("u64",), read, ("u64", "u32"), self.site))
        ops.append(Op("cvt", (), (low,), ("u32",), (high,), ("u64",), self.site))
        return low

    def _set_bits(self, space: str, where: _Place, part: Part, value: Source) -> list[Op]:
        """Replace some bits of a word, or all."""
        base, offset, address = where
        at = Constant(offset.bits + part.at)
        store = ((space,), (), (), (base, at), (address, "s64"))
        mask = (1 << part.bits) - 1 << part.low
        if mask == 0xFFFFFFFF:
            return [Op("st", *store[:3], (*store[3], value), (*store[4], "u32"), self.site)]
        word, new, two = (
            self.declare("!map modes", "u32"),
            self.declare("!map bits", "u32"),
            ("u32",) * 2,
        )
        return [
            Op("ld", (space,), (word,), ("u32",), (base, at), (address, "s64"), self.site),
            Op("shl", (), (new,), ("u32",), (value, Constant(part.low)), two, self.site),
            Op("and", (), (new,), ("u32",), (new, Constant(mask)), two, self.site),
            Op("and", (), (word,), ("u32",), (word, Constant(~mask & 0xFFFFFFFF)), two, self.site),
            Op("or", (), (word,), ("u32",), (word, new), two, self.site),
            Op("st", *store[:3], (*store[3], word), (*store[4], "u32"), self.site),
        ]

    def _copy_map(self, instruction: Instruction, words: list[str]) -> list[Op]:
        wanted = ["global", "shared::cta", "tensormap::generic", "release"]
        if words[:4] != wanted or words[5:] != ["sync", "aligned"]:
            raise self.unknown()
        if words[4] not in ("cta", "cluster", "gpu", "sys"):
            raise self.unknown()
        target, source, size = self.given(instruction, 3)
        if self._literal(size) != tensor_map_fields.BYTES:
            raise self.unknown()
        ops: list[Op] = []
        word = self.declare("!map word", "u64")
        to, to_offset, to_kind = self._place("global", target)
        base, offset, kind = self._place("shared", source)
        for at in range(0, tensor_map_fields.BYTES, 8):
            here, there = Constant(offset.bits + at), Constant(to_offset.bits + at)
            ops.append(
                Op("ld", ("shared",), (word,), ("u64",), (base, here), (kind, "s64"), self.site)
            )
            ops.append(
                Op("st", ("global",), (), (), (to, there, word), (to_kind, "s64", "u64"), self.site)
            )
        # The whole warp makes one copy, so a store by any lane counts as a store by every lane.
        whole = (Constant(0xFFFFFFFF),)
        return [*ops, Op("fence", ("",), (), (), (), (), self.site),
                Op("syncwarp", ("",), (), (), whole, ("u32",), self.site)]  # fmt: skip
