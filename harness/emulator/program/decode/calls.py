"""Decode call parameters, function pointers, and calls to system functions."""

from __future__ import annotations

from harness.emulator.program.decode.operands import OperandReader
from harness.emulator.program.ir import Constant, Op, Register, Source, SymbolAddress, unsigned
from harness.emulator.ptx.syntax import TYPE_SIZES, Memory, Operand, Param, Variable

HEAP, HEAP_BYTES, HEAP_ALIGNMENT = "device heap", 8 << 20, 16
"""The heap for `malloc`, as large as CUDA's. Its first word is the number of bytes that have been
given out, its second the number of allocations in use."""
ALLOCATION, RELEASE = "malloc", "free"


class CallDecoder(OperandReader):
    """The part of the decoder that handles calls of device functions."""

    def is_own_param(self, name: str) -> bool:
        """Return whether a name is a scalar parameter of a call, which is kept in registers."""
        name = self.names.get(name, name)
        return name in self.variables and self.variables[name].space == "param"

    def inside(self, param: Param | Variable, offset: int, size: int) -> None:
        """Reject an access beyond the end of a parameter."""
        if not 0 <= offset <= param.size - size:
            raise self.unknown(
                f"{size} bytes at offset {offset} of parameter `{param.name}`, "
                f"which has {param.size}"
            )

    def param_register(self, name: str, offset: int, kind: str) -> Register:
        """The part of a call's parameter at an offset, kept as a register."""
        name = self.names.get(name, name)
        if name in self.variables:
            self.inside(self.variables[name], offset, TYPE_SIZES[kind])
        name = f"{name}+{offset}"
        known = self.registers.get(name)
        if known is not None and TYPE_SIZES[known.type] != TYPE_SIZES[kind]:
            raise self.unknown("a call's parameter, read in another width than it was written")
        return self.declare(name, unsigned(kind))

    def load_param(
        self, where: Memory, results: tuple[Register | None, ...], kind: str
    ) -> list[Op]:
        size, plain = TYPE_SIZES[kind], unsigned(kind)
        out = []
        for i, result in enumerate(results):
            offset = where.offset + i * size
            wider = self._wider_param(where.base, offset, size)
            if wider is not None and result is not None:
                out += self._bytes_of_param(result, *wider, kind)
                continue
            source = self.param_register(where.base, offset, kind)
            out.append(Op("mov", (), (result,), (plain,), (source,), (plain,), self.site))
        return out

    def _wider_param(self, name: str, offset: int, size: int) -> tuple[Register, int] | None:
        """The register of a parameter that contains these bytes, and the first byte within it."""
        name = self.names.get(name, name)
        for width in (2, 4, 8):
            start = offset // width * width
            known = self.registers.get(f"{name}+{start}")
            if width > size and known is not None and TYPE_SIZES[known.type] == width:
                self.inside(self.variables[name], offset, size)
                return known, offset - start
        return None

    def _bytes_of_param(self, result: Register, of: Register, at: int, kind: str) -> list[Op]:
        """Extract some bytes of a register as a number of the given type. A `bool`, for example, is
        passed as a word."""
        sign, size = "s" if kind[0] == "s" else "u", TYPE_SIZES[kind]
        ops, bits = [], 64 if TYPE_SIZES[of.type] == 8 else 32
        if TYPE_SIZES[of.type] == 2:
            word = self.declare("!half as a word", "u32")
            ops.append(Op("cvt", (), (word,), ("u32",), (of,), ("u16",), self.site))
            of = word
        whole, found = (f"{sign}{bits}",), self.declare(f"!part of {bits} bits", f"u{bits}")
        place = (of, Constant(8 * at), Constant(8 * size))
        ops.append(Op("bfe", (), (found,), whole, place, (*whole, "u32", "u32"), self.site))
        to = f"{sign}{8 * TYPE_SIZES[result.type]}"
        same = TYPE_SIZES[result.type] * 8 == bits
        name, kinds = ("mov", (f"u{bits}",)) if same else ("cvt", whole)
        made = (f"u{bits}",) if same else (to,)
        return [*ops, Op(name, (), (result,), made, (found,), kinds, self.site)]

    def store_param(self, where: Memory, values: tuple[Operand, ...], kind: str) -> list[Op]:
        size, plain = TYPE_SIZES[kind], unsigned(kind)
        out = []
        for i, value in enumerate(values):
            result = self.param_register(where.base, where.offset + i * size, kind)
            read = self.source(value, plain)
            out.append(Op("mov", (), (result,), (plain,), (read,), (plain,), self.site))
        return out

    def system_call(self, name: str, actuals: list[str]) -> list[Op] | None:
        """Decode a call to a system function; None for any other function."""
        function = self.module.functions.get(name)
        if function is None or function.body is not None:
            return None
        if not all(actual in self.variables for actual in actuals):
            raise self.unknown("an argument that is no parameter of a call")
        if name == "vprintf" and len(actuals) == 3:
            result = self.param_register(actuals[0], 0, "b32")
            read = tuple(self.param_register(a, 0, "b64") for a in actuals[1:])
            return [Op("printf", (), (result,), ("u32",), read, ("u64", "u64"), self.site)]
        if name == "__assertfail" and len(actuals) == 5:
            read = tuple(self.param_register(actuals[i], 0, "b64") for i in (0, 3))
            return [Op("assertfail", (), (), (), read, ("u64", "u64"), self.site)]
        if name == ALLOCATION and len(actuals) == 2:
            return self._allocate(actuals)
        if name == RELEASE and len(actuals) == 1:
            return self._count(self.param_register(actuals[0], 0, "b64"), (1 << 64) - 1)
        return None

    def _allocate(self, actuals: list[str]) -> list[Op]:
        """Decode `malloc`: an atomic on the byte count at the heap's start gives the next free
        bytes. The result is null if they do not fit."""
        result, given = (self.param_register(actual, 0, "b64") for actual in actuals)
        size, before, end = (self.declare(f"!heap {n}", "u64") for n in ("size", "before", "end"))
        place, fits = self.declare("!heap place", "u64"), self.declare("!heap fits", "pred")
        start = SymbolAddress("global", HEAP)

        def op(name: str, variant: tuple[str, ...], to: Register, *sources: Source) -> Op:
            kinds = ("u64", "u64", "pred")[: len(sources)]
            return Op(name, variant, (to,), (to.type,), sources, kinds, self.site)

        return [
            op("min", (), size, given, Constant(HEAP_BYTES)),
            op("add", (), size, size, Constant(HEAP_ALIGNMENT - 1)),
            op("and", (), size, size, Constant((1 << 64) - HEAP_ALIGNMENT)),
            Op("atom", ("global", "add", "0"), (before,), ("u64",), (start, Constant(0), size),
               ("u64", "s64", "u64"), self.site),
            op("add", (), end, before, size),
            op("setp", ("le",), fits, end, Constant(HEAP_BYTES - HEAP_ALIGNMENT)),
            op("add", (), place, before, SymbolAddress("global", HEAP, HEAP_ALIGNMENT)),
            op("selp", (), result, place, Constant(0), fits),
            *self._count(result, 1),
        ]  # fmt: skip

    def _count(self, address: Register, more: int) -> list[Op]:
        """Change the heap's number of allocations in use, unless the address is null."""
        change, before = (self.declare(f"!heap {n}", "u64") for n in ("change", "in use"))
        is_one, start = self.declare("!heap is one", "pred"), SymbolAddress("global", HEAP)
        return [
            Op("setp", ("ne",), (is_one,), ("pred",), (address, Constant(0)), ("u64", "u64"),
               self.site),
            Op("selp", (), (change,), ("u64",), (Constant(more), Constant(0), is_one),
               ("u64", "u64", "pred"), self.site),
            Op("atom", ("global", "add", "0"), (before,), ("u64",),
               (start, Constant(HEAP_ALIGNMENT // 2), change), ("u64", "s64", "u64"), self.site),
        ]  # fmt: skip
