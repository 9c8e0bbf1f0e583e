"""Decode tensor-core instructions into typed operations.

ldmatrix, stmatrix and the wmma accesses become a computation of addresses plus ordinary loads and
stores, so all checks and counters of loads and stores apply.
"""

from __future__ import annotations

import re

from harness.emulator.program.decode.memory import MemoryDecoder
from harness.emulator.program.ir import Constant, Op, Register, Source, Special
from harness.emulator.ptx.syntax import Group, Instruction, Number, Operand

_MMA_DEPTHS = {
    "f16": (8, 16), "bf16": (8, 16), "tf32": (4, 8), "s8": (16, 32), "u8": (16, 32),
    "s4": (32, 64), "u4": (32, 64), "f64": (4, 8, 16), "e4m3": (32,), "e5m2": (32,),
}  # fmt: skip
_SPARSE_DEPTHS = {
    "f16": (16, 32), "bf16": (16, 32), "tf32": (8, 16), "s8": (32, 64), "u8": (32, 64),
    "s4": (64, 128), "u4": (64, 128), "e4m3": (64,), "e5m2": (64,),
}  # fmt: skip
_GROUP = {"tf32": 2, "s4": 8, "u4": 8}  # elements that four bits of metadata describe; else four
_SPARSE = ("sp", "sp::ordered_metadata")
_SUM_TYPES = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "f64": ("f64",),
              "e4m3": ("f16", "f32"), "e5m2": ("f16", "f32")}  # fmt: skip
_FP8 = ("e4m3", "e5m2")
_WMMA_SHAPES = {
    "f16": ("m16n16k16", "m32n8k16", "m8n32k16"), "bf16": ("m16n16k16", "m32n8k16", "m8n32k16"),
    "s8": ("m16n16k16", "m32n8k16", "m8n32k16"), "u8": ("m16n16k16", "m32n8k16", "m8n32k16"),
    "tf32": ("m16n16k8",), "f64": ("m8n8k4",),
}  # fmt: skip
_STORED = {"f16": "u16", "bf16": "u16", "tf32": "u32", "s8": "u8", "u8": "u8", "f64": "f64",
           "f32": "f32", "s32": "s32"}  # fmt: skip
_REGISTER = {"f64": "f64", "f32": "f32", "s32": "s32"}  # all others are packed into words
_MAX_VECTOR = 16
_SHAPE = re.compile(r"m(\d{1,2})n(\d{1,2})k(\d{1,3})\Z")


ELEMENT_BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "f64": 64, "f32": 32,
    "s32": 32, "e4m3": 8, "e5m2": 8,
}  # fmt: skip


def _register_type(type_: str) -> str:
    return _REGISTER.get(type_, "u32")


def _wmma_registers(role: str, type_: str, elements: int) -> int:
    """The number of registers of a fragment; half-precision operands have 8 in every shape."""
    return 8 if role in ("a", "b") and type_ == "f16" else elements // 32 // per_register(type_)


class MatrixDecoder(MemoryDecoder):
    """The instructions of the tensor cores."""

    def _shape(self, word: str) -> tuple[int, int, int]:
        """m, n and k of `m16n8k16`."""
        found = _SHAPE.match(word)
        if found is None:
            raise self.unknown(f"`{word}` is not the shape of a matrix product")
        m, n, k = map(int, found.groups())
        return m, n, k

    def _items(self, operand: Operand) -> tuple[Operand, ...]:
        return operand.items if isinstance(operand, Group) else (operand,)

    def _op_mma(self, instruction: Instruction, _: list[str], __: list[str]) -> list[Op]:
        words = instruction.opcode.split(".")[1:]
        sparse = words[0] in _SPARSE
        words = words[sparse:]
        if words[-5:] == ["f64", "f64", "f64", "f64", "rn"]:
            words.pop()
        if words[:2] != ["sync", "aligned"] or words[3:5] != ["row", "col"]:
            raise self.unknown()
        types = [w for w in words[5:] if w != "satfinite"]
        rest = words[5 : len(words) - 4] if len(words) >= 9 else ["?"]
        if len(types) != 4 or set(rest) - {"satfinite"} or not set(types) <= set(ELEMENT_BITS):
            raise self.unknown()
        m, n, k = self._shape(words[2])
        d_type, a_type, b_type, c_type = types
        integer = a_type in ("s8", "u8", "s4", "u4")
        sums = ("s32",) if integer else _SUM_TYPES.get(a_type, ())
        same = b_type[1:] == a_type[1:] if integer else b_type == a_type
        same |= {a_type, b_type} <= {*_FP8}
        depths = (_SPARSE_DEPTHS if sparse else _MMA_DEPTHS).get(a_type, ())
        if not same or not {d_type, c_type} <= set(sums) or k not in depths or n != 8:
            raise self.unknown()
        if sparse and m != 16:
            raise self.unknown()
        if m != 16 and (m, k) not in ({(8, 16), (8, 32)} if integer else {(8, 4)}):
            raise self.unknown()
        if m == 8 and not integer and a_type != "f64":
            raise self.unknown()
        count = per_register(a_type)
        held = k // 2 if sparse else k  # columns of `a` in its registers
        lengths = (m * 8 // 32 // per_register(d_type), m * held // 32 // count,
                   8 * k // 32 // count, m * 8 // 32 // per_register(c_type))  # fmt: skip
        operands = self.given(instruction, 6) if sparse else instruction.operands
        parts = [self._items(o) for o in operands[:4]]
        if tuple(len(p) for p in parts) != lengths:
            raise self.unknown(f"its operands have {lengths} registers")
        kinds = [_register_type(t) for t in types]
        made = tuple(self.result(r) for r in parts[0])
        read = tuple(
            self.source(o, kind)
            for part, kind in zip(parts[1:], kinds[1:], strict=True) for o in part
        )  # fmt: skip
        read_kinds = tuple(
            kind for part, kind in zip(parts[1:], kinds[1:], strict=True) for _ in part
        )
        variant = (str(m), str(k), *types, *rest)
        if sparse:
            metadata, selector = operands[4:]
            variant += (str(self.selector(selector, a_type, k)),)
            read, read_kinds = (*read, self.source(metadata, "u32")), (*read_kinds, "u32")
        name = "mma_sparse" if sparse else "mma"
        return [Op(name, variant, made, (kinds[0],) * len(made), read, read_kinds, self.site)]

    def selector(self, operand: Operand, type_: str, depth: int) -> int:
        """Return the selector of a sparse MMA: which of four lanes, or which pair of them, supplies
        the metadata; 0 if all four do."""
        known = 16 * _GROUP.get(type_, 4) // depth
        if not isinstance(operand, Number) or operand.value not in range(known):
            raise self.unknown(f"its selector is from 0 to {known - 1}")
        return int(operand.value)

    # --- ldmatrix and stmatrix ------------------------------------------------------------

    def _matrices(self, instruction: Instruction) -> tuple[int, bool]:
        words = instruction.opcode.split(".")[1:]
        count = [w for w in words if w in ("x1", "x2", "x4")]
        known = {"sync", "aligned", "m8n8", "trans", "shared", "shared::cta", "b16", *count}
        needed = {"sync", "aligned", "m8n8", "b16"}
        if not needed <= set(words) <= known or len(count) != 1:
            raise self.unknown()
        return int(count[0][1:]), "trans" in words

    def _row_words(self, space: str, where: Operand, count: int, ops: list[Op]) -> list[Register]:
        """Registers that hold the address of each lane's word in each matrix."""
        base, offset, kind = self._place(space, where)
        made = tuple(self.declare(f"!matrix row {i}", "u64") for i in range(count))
        start = self.declare("!matrix address", "u64")
        if kind == "u32":
            ops.append(Op("cvt", (), (start,), ("u64",), (base,), ("u32",), self.site))
        else:
            ops.append(Op("mov", (), (start,), ("u64",), (base,), ("u64",), self.site))
        ops.append(Op("add", (), (start,), ("u64",), (start, offset), ("u64", "u64"), self.site))
        ops.append(Op("matrix_rows", (str(count),), made, ("u64",) * count, (start,), ("u64",),
                      self.site))  # fmt: skip
        return list(made)

    def _op_ldmatrix(self, instruction: Instruction, _: list[str], __: list[str]) -> list[Op]:
        count, transposed = self._matrices(instruction)
        target, where = self.given(instruction, 2)
        results = [self.result(r) for r in self._items(target)]
        if len(results) != count:
            raise self.unknown()
        space = "shared" if "shared" in instruction.opcode else ""
        ops: list[Op] = []
        rows = self._row_words(space, where, count, ops)
        words = [self.declare(f"!matrix word {i}", "u32") for i in range(count)]
        for row, word in zip(rows, words, strict=True):
            ops.append(Op("ld", (space,), (word,), ("u32",), (row, Constant(0)), ("u64", "s64"),
                          self.site))  # fmt: skip
        kinds = ("u32",) * count
        if transposed:
            ops.append(
                Op("transpose_8x8", (), tuple(results), kinds, tuple(words), kinds, self.site)
            )
        else:
            for result, word in zip(results, words, strict=True):
                ops.append(Op("mov", (), (result,), ("u32",), (word,), ("u32",), self.site))
        return ops

    def _op_movmatrix(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if modifiers != ["sync", "aligned", "m8n8", "trans"] or types != ["b16"]:
            raise self.unknown()
        target, source = self.given(instruction, 2)
        given = (self.source(source, "u32"),)
        return [
            Op("transpose_8x8", (), (self.result(target),), ("u32",), given, ("u32",), self.site)
        ]

    def _op_stmatrix(self, instruction: Instruction, _: list[str], __: list[str]) -> list[Op]:
        count, transposed = self._matrices(instruction)
        where, given = self.given(instruction, 2)
        values: list[Source] = [self.source(v, "u32") for v in self._items(given)]
        if len(values) != count:
            raise self.unknown()
        space = "shared" if "shared" in instruction.opcode else ""
        ops: list[Op] = []
        rows = self._row_words(space, where, count, ops)
        if transposed:
            words = tuple(self.declare(f"!matrix word {i}", "u32") for i in range(count))
            kinds = ("u32",) * count
            ops.append(Op("transpose_8x8", (), words, kinds, tuple(values), kinds, self.site))
            values = list(words)
        for row, value in zip(rows, values, strict=True):
            ops.append(Op("st", (space,), (), (), (row, Constant(0), value),
                          ("u64", "s64", "u32"), self.site))  # fmt: skip
        return ops

    # --- wmma -----------------------------------------------------------------------------

    def _op_wmma(self, instruction: Instruction, _: list[str], __: list[str]) -> list[Op]:
        words = instruction.opcode.split(".")[1:]
        if words[:1] == ["mma"]:
            return self._wmma_mma(instruction, words[1:])
        if words[:1] not in (["load"], ["store"]):
            raise self.unknown()
        loads, role = words[0] == "load", "".join(words[1:2])
        space, rest = self._space(words[2:])
        if rest[:2] != ["sync", "aligned"] or len(rest) != 5 or rest[2] not in ("row", "col"):
            raise self.unknown()
        if role not in (("a", "b", "c") if loads else ("d",)):
            raise self.unknown()
        layout, shape, type_ = rest[2:]
        m, n, k = self._shape(shape)
        rows, columns = {"a": (m, k), "b": (k, n)}.get(role, (m, n))
        if role in ("a", "b"):
            shapes = set(_WMMA_SHAPES.get(type_, ()))
        else:
            factors = (t for t in _WMMA_SHAPES if type_ in _SUM_TYPES.get(t, ("s32",)))
            shapes = {shape for t in factors for shape in _WMMA_SHAPES[t]}
        if shape not in shapes:
            raise self.unknown()
        operands = list(self.given(instruction, 2, 3))
        fragment = operands.pop(0 if loads else 1)
        inner = columns if layout == "row" else rows
        stride = self.source(operands[1], "u32") if len(operands) > 1 else Constant(inner)
        base, offset, kind = self._place(space, operands[0])
        held, size = rows * columns // 32, ELEMENT_BITS[type_] // 8
        # An accumulator is held in registers row by row, whatever its layout in memory.
        by_rows = role in ("a", "b") or layout == "row"
        ops: list[Op] = []
        start = self.declare("!fragment address", "u64")
        count = held if by_rows else 1
        places: list[tuple[Source, int]] = []
        if by_rows:
            ops.append(Op("fragment_address", (str(held), str(inner), str(size)), (start,),
                          ("u64",), (base, stride, Special("laneid")), (kind, "u32", "u32"),
                          self.site))  # fmt: skip
            places = [(start, i * size) for i in range(held)]
        else:
            for i in range(held):
                each = self.declare(f"!fragment address {i}", "u64")
                variant = (str(held), str(columns), str(size), str(i))
                ops.append(Op("column_address", variant, (each,), ("u64",),
                              (base, stride, Special("laneid")), (kind, "u32", "u32"),
                              self.site))  # fmt: skip
                places.append((each, 0))
        vector = min(count, _MAX_VECTOR // size)
        registers = [self.register_operand(r) for r in self._items(fragment)]
        if len(registers) != _wmma_registers(role, type_, rows * columns):
            raise self.unknown(f"a fragment of {len(registers)} registers")
        step = (space, offset.bits, vector, type_)
        make = self._fragment_load if loads else self._fragment_store
        return [*ops, *make(registers, places, step)]

    def _fragment_load(
        self, registers: list[Register], places: list[tuple[Source, int]],
        step: tuple[str, int, int, str],
    ) -> list[Op]:  # fmt: skip
        space, offset, vector, type_ = step
        stored, per = _STORED[type_], per_register(type_)
        parts = [self.declare(f"!element {stored} {i}", stored) for i in range(len(places))]
        ops = []
        for at in range(0, len(parts), vector):
            base, plus = places[at]
            made = tuple(parts[at : at + vector])
            ops.append(Op("ld", (space,), made, (stored,) * len(made),
                          (base, Constant(offset + plus)), ("u64", "s64"), self.site))  # fmt: skip
        kind = _register_type(type_)
        for i, register in enumerate(registers):
            first = i * per % len(parts)
            chosen = tuple(parts[first : first + per])
            name = "pack" if per > 1 else "mov"
            kinds = (stored if per > 1 else kind,) * per
            ops.append(Op(name, (), (register,), (kind,), chosen, kinds, self.site))
        return ops

    def _fragment_store(
        self, registers: list[Register], places: list[tuple[Source, int]],
        step: tuple[str, int, int, str],
    ) -> list[Op]:  # fmt: skip
        space, offset, vector, type_ = step
        stored, per = _STORED[type_], per_register(type_)
        ops, parts = [], list(registers)
        if per > 1:
            parts = [self.declare(f"!element {stored} {i}", stored) for i in range(len(places))]
            for i, register in enumerate(registers):
                ops.append(Op("unpack", (), tuple(parts[i * per : (i + 1) * per]), (stored,) * per,
                              (register,), ("u32",), self.site))  # fmt: skip
        for at in range(0, len(parts), vector):
            base, plus = places[at]
            values = tuple(parts[at : at + vector])
            ops.append(Op("st", (space,), (), (), (base, Constant(offset + plus), *values),
                          ("u64", "s64", *(stored,) * len(values)), self.site))  # fmt: skip
        return ops

    def _wmma_mma(self, instruction: Instruction, words: list[str]) -> list[Op]:
        saturates = [w for w in words if w == "satfinite"]
        words = [w for w in words if w != "satfinite"]
        if words[-5:] == ["f64", "f64", "f64", "f64", "rn"]:
            words.pop()
        if words[:2] != ["sync", "aligned"] or len(words) < 7:
            raise self.unknown()
        layouts, shape, types = words[2:4], words[4], words[5:]
        if len(types) == 2:
            types = [types[0], "f16", "f16", types[1]]
        if not set(layouts) <= {"row", "col"} or len(types) != 4:
            raise self.unknown()
        if types[1] != types[2] or shape not in _WMMA_SHAPES.get(types[1], ()):
            raise self.unknown()
        sums = _SUM_TYPES.get(types[1], ("s32",))
        if not {types[0], types[3]} <= set(sums):
            raise self.unknown()
        m, n, k = self._shape(shape)
        parts = [self._items(o) for o in self.given(instruction, 4)]
        lengths = tuple(
            _wmma_registers(role, type_, size)
            for role, type_, size in zip("dabc", types, (m * n, m * k, k * n, m * n), strict=True)
        )
        if tuple(map(len, parts)) != lengths:
            raise self.unknown(f"its operands have {lengths} registers")
        kinds = [_register_type(t) for t in types]
        made = tuple(self.result(r) for r in parts[0])
        read, read_kinds = [], []
        for part, kind in zip(parts[1:], kinds[1:], strict=True):
            read += [self.source(o, kind) for o in part]
            read_kinds += [kind] * len(part)
        counts = tuple(str(len(part)) for part in parts[1:])
        variant = (str(m), str(n), str(k), *layouts, *types, *counts, *saturates)
        return [
            Op("wmma", variant, made, (kinds[0],) * len(made), tuple(read), tuple(read_kinds),
               self.site)
        ]  # fmt: skip


def per_register(type_: str) -> int:
    """Elements per register."""
    return max(1, 32 // ELEMENT_BITS[type_])
