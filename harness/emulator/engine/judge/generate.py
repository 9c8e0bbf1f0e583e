"""From a `Program` to Python functions on NumPy arrays, one for each basic block.

A generated function takes the chunk and the selection of lanes, gathers the registers that the
block reads, computes, and puts back those that somebody reads later. Registers are never changed
in place, so `mov` costs nothing and a gathered register may be a view. What is generated is plain
source text (`Generated.source`), which is the place to look when something is slow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge import warp
from harness.emulator.engine.judge.arithmetic import integers
from harness.emulator.engine.judge.arithmetic.operations import NUMPY_TYPES, implementation
from harness.emulator.engine.judge.lanes import Active
from harness.emulator.engine.judge.runtime import RUNTIME
from harness.emulator.errors import UnknownInstruction
from harness.emulator.memory.address_space import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES
from harness.emulator.program.access_kinds import atomic_rule
from harness.emulator.program.ir import (
    Barrier,
    Block,
    Branch,
    Constant,
    Op,
    Program,
    Register,
    Source,
    Special,
    Switch,
    SymbolAddress,
)
from harness.emulator.program.liveness import needed_ops, unwritten_registers

Array = NDArray[Any]
BlockFunction = Callable[[Any, Active], "Array | tuple[Array, Array | None] | None"]

_WARP_OPS: dict[str, Callable[..., Any]] = {
    "shfl": warp.shuffle, "vote": warp.vote, "match": warp.match, "redux": warp.reduce,
}  # fmt: skip


@dataclass(frozen=True)
class Generated:
    """The functions of a program's blocks, and their text."""

    functions: list[BlockFunction]
    source: str


def generate(program: Program) -> Generated:
    """Generate and compile every block. Raises UnknownInstruction for what NumPy cannot do."""
    return _Generator(program).generated()


class _Generator:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.names: dict[str, Any] = {"np": np, "int64": np.int64}
        self.constants: dict[tuple[int, str], str] = {}
        self.implementations: dict[tuple[Any, ...], str] = {}
        self.params = program.param_offsets()
        ops = (op.name for block in program.blocks for op in block.ops)
        self.follows = any(name in ("shfl", "ld", "atom") for name in ops) or bool(
            program.once(unwritten_registers)
        )
        # State while a block is being written:
        self.lines: list[str] = []
        self.types: dict[int, str] = {}
        self.wanted: frozenset[int] = frozenset()

    def generated(self) -> Generated:
        texts = [self._block(i, block) for i, block in enumerate(self.program.blocks)]
        source = "\n\n".join(texts)
        exec(compile(source, f"<blocks of {self.program.kernel}>", "exec"), self.names)
        functions = [self.names[f"block_{i}"] for i in range(len(texts))]
        return Generated(functions, source)

    # --- a block --------------------------------------------------------------------------

    def _block(self, number: int, block: Block) -> str:
        ops = needed_ops(block)
        self.types = {}
        self.lines = []
        written: set[int] = set()
        entering: list[int] = []
        for at, (op, wanted) in enumerate(ops, 1):
            for register in op.registers_read():
                self._enter(register, written, entering)
            self.wanted = wanted
            self._op(op)
            if self.follows and op.name == "st" and op.variant[0] != "global":
                self.lines.append(self._follow(number, at))
            written |= wanted
        result = self._terminator(block, written, entering)
        head = [f"def block_{number}(chunk, lanes):", "    R = chunk.registers"]
        if entering:
            head.append("    get = lanes.get")
        head += [f"    r{slot} = get(R[{slot}])" for slot in entering]
        tail = []
        for slot in sorted(written & block.live_out):
            value = self._as(f"r{slot}", self.types[slot], self._stored(slot))
            tail.append(f"R[{slot}] = lanes.put(R[{slot}], {value})")
        if self.follows:
            tail.append(self._follow(number, None))
        body = [f"    {line}" for line in (*self.lines, *tail, result)]
        return "\n".join(head + body)

    @staticmethod
    def _follow(number: int, upto: int | None) -> str:
        given = f"{number}, lanes, locals(), {upto}"
        return f"if chunk.uninitialised: chunk.uninitialised.follow({given})"

    def _enter(self, register: Register, written: set[int], entering: list[int]) -> None:
        slot = register.slot
        if slot not in written and slot not in self.types:
            entering.append(slot)
            self.types[slot] = register.type

    def _stored(self, slot: int) -> str:
        return self.program.registers[slot].type

    def _terminator(self, block: Block, written: set[int], entering: list[int]) -> str:
        terminator = block.terminator
        if isinstance(terminator, Branch):
            self._enter(terminator.predicate, written, entering)
            return f"return {self._read(terminator.predicate, 'pred')}"
        if isinstance(terminator, Switch):
            self._enter(terminator.index, written, entering)
            return f"return {self._read(terminator.index, 'u32')}"
        if isinstance(terminator, Barrier):
            for operand in (terminator.number, terminator.count):
                if isinstance(operand, Register):
                    self._enter(operand, written, entering)
            number = self._read(terminator.number, "u32")
            count = "None" if terminator.count is None else self._read(terminator.count, "u32")
            return f"return {number}, {count}"
        return "return None"

    # --- operands -------------------------------------------------------------------------

    def _as(self, text: str, have: str, want: str) -> str:
        """An expression of one type, reinterpreted as another."""
        from_type, to_type = np.dtype(NUMPY_TYPES[have]), np.dtype(NUMPY_TYPES[want])
        if from_type == to_type:
            return text
        if from_type.itemsize == to_type.itemsize and "b" not in (from_type.kind, to_type.kind):
            return f"{text}.view({self._dtype(want)})"
        if from_type.kind == "b" or to_type.kind == "b":
            raise TypeError(f"{have} as {want}")
        if from_type.itemsize > to_type.itemsize:  # st.u8 of a 32-bit register: its low bits
            raw = (
                ""
                if from_type.kind == "u"
                else f".view({self._dtype(f'u{8 * from_type.itemsize}')})"
            )
            low = f"{text}{raw}.astype({self._dtype(f'u{8 * to_type.itemsize}')})"
            return self._as(low, f"u{8 * to_type.itemsize}", want)
        # A narrow result in a wide register: sign- or zero-extended.
        wide = f"{'s' if from_type.kind == 'i' else 'u'}{8 * to_type.itemsize}"
        if from_type.kind == "f":
            text = f"{text}.view({self._dtype(f'u{8 * from_type.itemsize}')})"
        return self._as(f"{text}.astype({self._dtype(wide)})", wide, want)

    def _dtype(self, type_: str) -> str:
        name = np.dtype(NUMPY_TYPES[type_]).name
        self.names[f"t_{name}"] = np.dtype(NUMPY_TYPES[type_])
        return f"t_{name}"

    def _read(self, source: Source, type_: str) -> str:
        if isinstance(source, Register):
            return self._as(f"r{source.slot}", self.types[source.slot], type_)
        if isinstance(source, Constant):
            return self._constant(source.bits, type_)
        if isinstance(source, Special):
            wide = source.name in ("clock64", "globaltimer")
            return self._as(
                f"lanes.get(chunk.read_special({source.name!r}))", "u64" if wide else "u32", type_
            )
        return self._symbol(source, type_)

    def _constant(self, value: int, type_: str) -> str:
        key = (value, type_)
        if key not in self.constants:
            dtype = np.dtype(NUMPY_TYPES[type_])
            raw = (value & ((1 << 8 * dtype.itemsize) - 1)).to_bytes(dtype.itemsize, "little")
            name = f"k{len(self.constants)}"
            self.constants[key] = name
            self.names[name] = np.frombuffer(raw, dtype).reshape(1, 1)
        return self.constants[key]

    def _symbol(self, symbol: SymbolAddress, type_: str) -> str:
        program = self.program
        if symbol.space == "shared":
            return self._constant(program.shared[symbol.name] + symbol.offset, type_)
        if symbol.space == "local":
            return self._constant(program.local[symbol.name] + symbol.offset, type_)
        if symbol.space == "param":
            offset = self.params[symbol.name] + symbol.offset
            base = f"chunk.symbol('kernel parameters') + {offset}"
        else:
            base = f"chunk.symbol({symbol.name!r}) + {symbol.offset}"
        return self._as(f"np.array([[{base}]], {self._dtype('u64')})", "u64", type_)

    def _address(self, op: Op) -> str:
        """An address in 64 bits; one of 32 bits wraps around before it is widened."""
        base = self._read(op.sources[0], op.source_types[0])
        offset = op.sources[1]
        assert isinstance(offset, Constant)
        if op.source_types[0] != "u64":
            plus = f" + {self._constant(offset.bits, 'u32')}" if offset.bits else ""
            return f"({base}{plus}).astype({self._dtype('s64')})"
        text = f"{base}.view({self._dtype('s64')})"
        return f"{text} + {self._constant(offset.bits, 's64')}" if offset.bits else text

    def _write(self, op: Op, text: str, result: int = 0) -> None:
        """Assign a result, if anybody reads it, extending it to its register's width."""
        register = op.results[result]
        if register is None or register.slot not in self.wanted:
            return
        type_ = op.result_types[result]
        size = np.dtype(NUMPY_TYPES[type_]).itemsize
        if size != np.dtype(NUMPY_TYPES[register.type]).itemsize:
            text, type_ = self._as(text, type_, register.type), register.type
        self.types[register.slot] = type_
        self.lines.append(f"r{register.slot} = {text}")

    # --- operations -----------------------------------------------------------------------

    def _op(self, op: Op) -> None:
        special = getattr(self, f"_op_{op.name}", None)
        if special is not None:
            special(op)
            return
        if op.name in RUNTIME:
            self.names[op.name] = RUNTIME[op.name]
            read = [self._read(s, t) for s, t in zip(op.sources, op.source_types, strict=True)]
            given = ", ".join([str(op.site), repr(op.variant), *read])
            self._several(op, f"{op.name}(chunk, lanes, {given})")
            return
        name = self._implementation(op)
        operands = [self._read(s, t) for s, t in zip(op.sources, op.source_types, strict=True)]
        call = f"{name}({', '.join(operands)})"
        if len(op.results) == 1:
            self._write(op, call)
        else:
            self._several(op, call)

    def _several(self, op: Op, call: str) -> None:
        self.lines.append(f"t = {call}")
        for i in range(len(op.results)):
            self._write(op, f"t[{i}]", i)

    def _implementation(self, op: Op) -> str:
        key = (op.name, op.variant, op.result_types, op.source_types)
        if key not in self.implementations:
            try:
                function = implementation(op)
            except KeyError:
                site = self.program.sites[op.site]
                raise UnknownInstruction(
                    site.opcode, str(site.location or self.program.kernel), site.ptx_line
                ) from None
            name = f"{op.name}_{len(self.implementations)}"
            self.names[name] = function
            self.implementations[key] = name
        return self.implementations[key]

    def _op_unpack(self, op: Op) -> None:
        self.names["unpack"] = integers.unpack
        operand = self._read(op.sources[0], op.source_types[0])
        self._several(op, f"unpack({len(op.results)}, {operand})")

    def _op_mov(self, op: Op) -> None:
        """A move keeps the type that the value has: nothing is computed."""
        source, register = op.sources[0], op.results[0]
        if register is None or register.slot not in self.wanted:
            return
        if isinstance(source, Register) and op.type != "pred":
            have = self.types[source.slot]
            if (
                np.dtype(NUMPY_TYPES[have]).itemsize
                == np.dtype(NUMPY_TYPES[register.type]).itemsize
            ):
                self.types[register.slot] = have
                self.lines.append(f"r{register.slot} = r{source.slot}")
                return
        self._write(op, self._read(source, op.source_types[0]))

    def _op_param(self, op: Op) -> None:
        offset = op.sources[0]
        assert isinstance(offset, Constant)
        base = self.params[op.variant[0]] + offset.bits
        for i, type_ in enumerate(op.result_types):
            at = base + i * np.dtype(NUMPY_TYPES[type_]).itemsize
            self._write(op, f"chunk.read_param({at}, {self._dtype(type_)})", i)

    def _op_cvta(self, op: Op) -> None:
        direction, space = op.variant
        base = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space, 0)
        operand = self._read(op.sources[0], "u64")
        if base:
            sign = "-" if direction == "to" else "+"
            operand = f"{operand} {sign} {self._constant(base, 'u64')}"
        self._write(op, operand)

    def _op_isspacep(self, op: Op) -> None:
        operand = self._read(op.sources[0], "u64")
        self.names["isspacep"] = _is_in_space
        self._write(op, f"isspacep({op.variant[0]!r}, {operand})")

    def _op_ld(self, op: Op) -> None:
        type_ = op.result_types[0]
        call = (
            f"chunk.load({op.variant[0]!r}, lanes, {op.site}, {self._address(op)}, "
            f"{self._dtype(type_)}, {len(op.results)})"
        )
        self._several(op, call)

    def _op_st(self, op: Op) -> None:
        values = [
            self._read(s, t) for s, t in zip(op.sources[2:], op.source_types[2:], strict=True)
        ]
        self.lines.append(
            f"chunk.store({op.variant[0]!r}, lanes, {op.site}, {self._address(op)}, "
            f"({', '.join(values)},))"
        )

    def _op_atom(self, op: Op) -> None:
        space, operation = op.variant[:2]
        values = [
            self._read(s, t) for s, t in zip(op.sources[2:], op.source_types[2:], strict=True)
        ]
        wanted = bool(self.wanted)
        cost = atomic_rule(self.program, op, wanted=wanted)
        call = (
            f"chunk.atomic({space!r}, lanes, {op.site}, {self._address(op)}, {operation!r}, "
            f"({', '.join(values)},), {wanted}, {cost!r})"
        )
        if wanted:
            self._write(op, call)
        else:
            self.lines.append(call)

    def _warp_call(self, op: Op) -> str:
        self.names[op.name] = _WARP_OPS[op.name]
        operands = [self._read(s, t) for s, t in zip(op.sources, op.source_types, strict=True)]
        self.lines.append(f"chunk.sync_warp(lanes, {op.site}, {operands[-1]})")
        if op.name == "shfl":
            given = ", ".join([str(op.site), repr(op.variant[0]), *operands[1:]])
            self.lines.append(f"if chunk.checks: chunk.uninitialised.shuffled(lanes, {given})")
        return f"{op.name}({op.variant[0]!r}, lanes, {', '.join(operands)})"

    def _op_shfl(self, op: Op) -> None:
        self._several(op, self._warp_call(op))

    _op_match = _op_shfl

    def _op_vote(self, op: Op) -> None:
        self._write(op, self._warp_call(op))

    _op_redux = _op_vote

    def _op_activemask(self, op: Op) -> None:
        self.names["active_mask"] = warp.active_mask
        self._write(op, "active_mask(lanes)")

    def _op_elect(self, op: Op) -> None:
        self.names["elect"] = warp.elect
        mask = self._read(op.sources[0], "u32")
        self.lines.append(f"chunk.sync_warp(lanes, {op.site}, {mask})")
        self._several(op, f"elect(lanes, {mask})")

    def _op_fence(self, op: Op) -> None:
        """Memory is consistent after every instruction here; a fence only excuses races."""
        if self.program.sites[op.site].opcode.startswith(("fence", "membar")):
            wide = ".cta" not in self.program.sites[op.site].opcode
            self.lines.append(f"chunk.fence(lanes, {wide})")

    def _op_syncwarp(self, op: Op) -> None:
        self.lines.append(f"chunk.sync_warp(lanes, {op.site}, {self._read(op.sources[0], 'u32')})")


def _is_in_space(space: str, addresses: Array) -> Array:
    base = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space)
    if base is None:
        return addresses < np.uint64(SHARED_WINDOW)
    return (addresses >= np.uint64(base)) & (addresses < np.uint64(base + WINDOW_BYTES))
