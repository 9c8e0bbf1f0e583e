"""Calls to device functions: inlined calls, calls through pointers, and recursive ones on a stack.

A function that is not recursive is inlined at each call. A recursive one exists once: its caller
saves the values it still needs in a frame of local memory, as in compiled code, and the function
returns through a switch over all its call sites. Struct parameters live in local memory, the others
in registers.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from harness.emulator.program.allocation import STACK, STACK_BYTES, AllocationTranslator
from harness.emulator.program.decode.decoder import Decoder
from harness.emulator.program.decode.operands import halves_of
from harness.emulator.program.decode.stack import takes_memory
from harness.emulator.program.ir import (
    Constant,
    Entry,
    Jump,
    Mark,
    Op,
    Register,
    Source,
    Switch,
    SymbolAddress,
    To,
)
from harness.emulator.program.ir import Trap as TrapTerminator
from harness.emulator.ptx.call_graph import (
    FUNCTION_SPACING,
    FUNCTION_WINDOW,
    CallGraph,
    call_target,
)
from harness.emulator.ptx.syntax import (
    TYPE_SIZES,
    Function,
    Group,
    Instruction,
    Kernel,
    Location,
    Module,
    Name,
    Param,
    Variable,
    names_in,
)

_WORD = 8


@dataclass
class Frame:
    """A recursive function's frame: the values that it keeps in local memory during a nested call.

    `offsets` are the offsets of its arrays and struct parameters. `saves` maps the identity of each
    call to the registers to keep across it, which are stored at `saved_at` and beyond.
    """

    function: Function
    prefix: str
    names: dict[str, str]
    offsets: dict[str, int]
    saved_at: int
    saves: dict[int, list[Register]]
    size: int
    returns: list[str] = field(default_factory=list)


class CallTranslator(AllocationTranslator):
    """The part of the translator that handles calls."""

    def __init__(self, module: Module, kernel: Kernel) -> None:
        super().__init__()
        self.module = module
        self.kernel = kernel
        self.code: list[Entry] = []
        self.variables: dict[str, Variable] = {}
        self.labels = 0
        self.decoder = Decoder(module, kernel, self.variables)
        self.graph = CallGraph(module)
        self.frames: dict[str, Frame] = {}
        self.owner: Frame | None = None
        self.caller: Location | None = None  # the line of the call whose callee is being inlined

    def new_label(self) -> str:
        self.labels += 1
        return f"#{self.labels}"

    def declare_registers(self, function: Function, prefix: str) -> None:
        """Declare a function's registers; a 128-bit register becomes two."""
        for name, kind in function.registers.items():
            if TYPE_SIZES[kind] <= 8:
                self.decoder.declare(prefix + name, kind)
                continue
            for half in halves_of(prefix + name):
                self.decoder.declare(half, "u64")

    def inline(
        self, function: Function, prefix: str, renamed: dict[str, str], after: str | None
    ) -> None:
        """Append a function's body."""
        raise NotImplementedError

    # --- any call -------------------------------------------------------------------------

    def call(
        self, instruction: Instruction, names: dict[str, str], site: int, guarded: int | None
    ) -> None:
        target = call_target(instruction)
        groups = [o for o in instruction.operands if isinstance(o, Group)]
        actuals = [names.get(a, a) for group in groups for a in _names_of(group)]
        built_in = self.decoder.system_call(target, actuals)
        if built_in is not None:
            self.code += [(op, guarded) for op in built_in]
            return
        entry = self.new_label()
        if names.get(target, target) in self.decoder.registers:
            self._through_pointer(instruction, target, actuals, site, guarded)
            return
        callee = self.module.functions.get(target)
        if callee is None or callee.body is None:
            raise self.decoder.unknown(f"a call of `{target}`, which this module does not define")
        self.keep_free(callee, site, guarded)
        self.code += [To(Jump(-1, site), (entry,), guarded), Mark(entry)]
        self._direct(instruction, callee, actuals, site)

    def _direct(
        self, instruction: Instruction, callee: Function, actuals: list[str], site: int
    ) -> None:
        formals = (*callee.returns, *callee.params)
        if len(formals) != len(actuals):
            raise self.decoder.unknown(f"a call of `{callee.name}` with other operands than its")
        for param, actual in zip(formals, actuals, strict=True):
            if not self._passable(param, actual):
                raise self.decoder.unknown(f"cannot pass `{actual}` for `{param.name}`")
        if self.graph.recursive(callee.name):
            if any(param.type == "pred" for param in formals):
                raise self.decoder.unknown("a predicate that is passed to a recursive function")
            self._on_stack(instruction, callee, actuals, site)
            return
        after = self.new_label()
        if takes_memory(callee):
            self.releases[after] = self.free_before(site)
        renamed = dict(zip((p.name for p in formals), actuals, strict=True))
        caller, self.caller = self.caller, self.decoder.sites[site].location
        self.inline(callee, f"{after}:", renamed, after)
        self.caller = caller
        self.code.append(Mark(after))

    def _passable(self, param: Param, actual: str) -> bool:
        """Return whether a variable or register of the caller can be used as a parameter."""
        if actual in self.variables:
            variable = self.variables[actual]
            in_memory = variable.space == "local"
            return variable.size == param.size and in_memory == _in_memory(param)
        if actual in self.decoder.frame:
            return _in_memory(param)
        register = self.decoder.registers.get(actual)
        return register is not None and TYPE_SIZES[register.type] == param.size

    def _through_pointer(
        self, instruction: Instruction, target: str, actuals: list[str], site: int,
        guarded: int | None,
    ) -> None:  # fmt: skip
        """Emit a switch over the functions whose address is taken and whose parameters fit."""
        decoder, after, wrong = self.decoder, self.new_label(), self.new_label()
        offset = decoder.declare("!function offset", "u64")
        index = decoder.declare("!function index", "u32")
        spacing = Constant(FUNCTION_SPACING.bit_length() - 1)
        pointer = decoder.register(target)
        decoder.check_type(pointer, "u64")
        for op in (
            Op("sub", (), (offset,), ("u64",), (pointer, Constant(FUNCTION_WINDOW)),
               ("u64", "u64"), site),
            Op("shr", (), (offset,), ("u64",), (offset, spacing), ("u64", "u32"), site),
            Op("cvt", ("sat",), (index,), ("u32",), (offset,), ("u64",), site),
        ):  # fmt: skip
            self.code.append((op, guarded))
        fitting = {
            n for n in self.graph.pointed_to if self._fits(self.module.functions[n], actuals)
        }
        labels = {name: self.new_label() for name in fitting}
        targets = tuple(labels.get(name, wrong) for name in self.module.functions)
        for name in sorted(fitting):
            self.keep_free(self.module.functions[name], site, guarded)
        self.code.append(To(Switch(index, (), site, pointer), targets, guarded))
        for name in sorted(fitting):
            self.code.append(Mark(labels[name]))
            self._direct(instruction, self.module.functions[name], actuals, site)
            self.code.append(To(Jump(-1), (after,)))
        reason = "a call through a pointer to a function with other parameters"
        self.code += [Mark(wrong), To(TrapTerminator(site, reason)), Mark(after)]

    def _fits(self, function: Function, actuals: list[str]) -> bool:
        formals = (*function.returns, *function.params)
        if function.body is None or len(formals) != len(actuals):
            return False
        sizes = [self.variables[a].size if a in self.variables else 0 for a in actuals]
        return [p.size for p in formals] == sizes

    # --- recursive functions --------------------------------------------------------------

    def out_of_line(self) -> None:
        """Append the called recursive functions, and then their return switches."""
        done: set[str] = set()
        while set(self.frames) - done:
            name = min(set(self.frames) - done)
            done.add(name)
            frame = self.frames[name]
            self.owner, self.decoder.frame = frame, frame.offsets
            self.code.append(Mark(frame.prefix))
            self.inline(frame.function, frame.prefix, frame.names, f"{frame.prefix}return")
            self.code.append(To(Jump(-1), (f"{frame.prefix}return",)))
        self.owner, self.decoder.frame = None, {}
        for frame in self.frames.values():
            switch = Switch(self._return_place(), (), len(self.decoder.sites) - 1)
            self.code += [Mark(f"{frame.prefix}return"), To(switch, tuple(frame.returns))]
        if self.frames:
            self.variables[STACK] = Variable(STACK, "local", "b8", STACK_BYTES, 16)

    def _return_place(self) -> Register:
        return self.decoder.declare("!return place", "u32")

    def _frame(self, function: Function) -> Frame:
        known = self.frames.get(function.name)
        if known is not None:
            return known
        prefix = f"{function.name}:"
        names = {p.name: prefix + p.name for p in (*function.returns, *function.params)}
        offsets: dict[str, int] = {}
        size = 0
        kept: list[Param | Variable] = [*function.returns, *function.params]
        for each in (*kept, *function.variables.values()):
            if _in_memory(each):
                size = -(-size // each.align) * each.align
                offsets[prefix + each.name] = size
                size += each.size
            elif isinstance(each, Param):
                self.variables[prefix + each.name] = Variable(
                    prefix + each.name, "param", each.type, each.size, each.align
                )
        self.declare_registers(function, prefix)
        saved_at = -(-size // _WORD) * _WORD
        saves = self._live_across(function, prefix)
        most = 1 + max((len(s) for s in saves.values()), default=0)
        size = -(-(saved_at + _WORD * most) // 16) * 16
        frame = Frame(function, prefix, names, offsets, saved_at, saves, size)
        self.frames[function.name] = frame
        return frame

    def _live_across(self, function: Function, prefix: str) -> dict[int, list[Register]]:
        """Map each call to the registers to keep: those named both before and after it, or all if
        there is a loop."""
        seen: dict[str, list[int]] = {}
        calls: list[tuple[int, Instruction]] = []
        places: dict[str, int] = {}
        loops = False
        for at, statement in enumerate(function.body or ()):
            if not isinstance(statement, Instruction):
                places[statement.name] = at
                continue
            for name in names_in(statement):
                seen.setdefault(name, []).append(at)
                loops |= name in places
            if statement.opcode.split(".")[0] == "call":
                calls.append((at, statement))
        declared = self.decoder.registers
        candidates = {n: declared[prefix + n] for n in function.registers if prefix + n in declared}
        for param in (*function.returns, *function.params):
            if not _in_memory(param):
                candidates[param.name] = self.decoder.param_register(
                    prefix + param.name, 0, param.type
                )
        return {
            id(call): [
                register
                for name, register in candidates.items()
                if name in seen and (loops or (seen[name][0] < at < seen[name][-1]))
            ]
            for at, call in calls
        }

    def _on_stack(
        self, instruction: Instruction, callee: Function, actuals: list[str], site: int
    ) -> None:
        owner = self.owner
        frame = self._frame(callee)
        pointer, place = self.decoder.declare("!stack", "u64"), self._return_place()
        step = owner.size if owner else 0
        kept: list[Register] = []
        if owner is None:
            base = SymbolAddress("local", STACK)
            self._op("mov", (), pointer, (base,), site)
        else:
            if self.graph.together(owner.function.name, callee.name):
                kept = owner.saves.get(id(instruction), [])
            for i, register in enumerate((*kept, place)):
                self._save(pointer, owner.saved_at + _WORD * i, register, site)
        enter = (pointer, Constant(step), Constant(frame.size))
        self.code.append((Op("enter_frame", (callee.name,), (pointer,), ("u64",), enter,
                             ("u64",) * 3, site), None))  # fmt: skip
        self._op("mov", (), place, (Constant(len(frame.returns)),), site)
        count = len(callee.returns)
        for param, actual in zip(callee.params, actuals[count:], strict=True):
            self._pass(param, frame, actual, step, site, back=False)
        after = self.new_label()
        frame.returns.append(after)
        self.code += [To(Jump(-1), (frame.prefix,)), Mark(after)]
        for param, actual in zip(callee.returns, actuals[:count], strict=True):
            self._pass(param, frame, actual, step, site, back=True)
        if owner is not None:
            self._op("sub", (), pointer, (pointer, Constant(step)), site)
            for i, register in enumerate((*kept, place)):
                self._restore(pointer, owner.saved_at + _WORD * i, register, site)

    def _op(
        self, name: str, variant: tuple[str, ...], result: Register, sources: tuple[Source, ...],
        site: int,
    ) -> None:  # fmt: skip
        kinds = (result.type,) * len(sources)
        op = Op(name, variant, (result,), (result.type,), sources, kinds, site)
        self.code.append((op, None))

    def _save(self, pointer: Register, offset: int, register: Register, site: int) -> None:
        if register.type == "pred":
            word = self.decoder.declare("!saved predicate", "u32")
            op = Op("selp", (), (word,), ("u32",), (Constant(1), Constant(0), register),
                    ("u32", "u32", "pred"), site)  # fmt: skip
            self.code.append((op, None))
            register = word
        self._store(pointer, offset, register, site)

    def _restore(self, pointer: Register, offset: int, register: Register, site: int) -> None:
        if register.type != "pred":
            self._load(pointer, offset, register, site)
            return
        word = self.decoder.declare("!saved predicate", "u32")
        self._load(pointer, offset, word, site)
        op = Op("setp", ("ne",), (register,), ("pred",), (word, Constant(0)), ("u32", "u32"), site)
        self.code.append((op, None))

    def _load(self, base: Source, offset: int, register: Register, site: int) -> None:
        where = (base, Constant(offset & ((1 << 64) - 1)))
        op = Op("ld", ("local",), (register,), (register.type,), where, ("u64", "s64"), site)
        self.code.append((op, None))

    def _store(self, base: Source, offset: int, register: Register, site: int) -> None:
        where = (base, Constant(offset & ((1 << 64) - 1)), register)
        op = Op("st", ("local",), (), (), where, ("u64", "s64", register.type), site)
        self.code.append((op, None))

    def _pass(
        self, param: Param, frame: Frame, actual: str, step: int, site: int, *, back: bool
    ) -> None:
        """Copy one parameter to the callee, or one result back."""
        formal = frame.names[param.name]
        pointer = self.decoder.declare("!stack", "u64")
        if not _in_memory(param):
            there = self.decoder.param_register(formal, 0, param.type)
            here = self.decoder.param_register(actual, 0, param.type)
            self._op("mov", (), here if back else there, (there if back else here,), site)
            return
        inner: tuple[Source, int] = (pointer, frame.offsets[formal])
        outer: tuple[Source, int] = (SymbolAddress("local", actual), 0)
        if actual in self.decoder.frame:
            outer = (pointer, self.decoder.frame[actual] - step)
        ends: list[Source] = []
        for base, offset in (inner, outer) if back else (outer, inner):
            ends += [base, Constant(offset & ((1 << 64) - 1))]
        variant = (str(param.size), str(min(param.align, _WORD)))
        op = Op("copy_struct", variant, (), (), tuple(ends), ("u64",) * 4, site)
        self.code.append((op, None))


def _names_of(group: Group) -> list[str]:
    """Names in a call's parentheses; a vector register is a group of its own."""
    found = []
    for item in group.items:
        if isinstance(item, Group):
            found += _names_of(item)
        elif isinstance(item, Name):
            found.append(item.text)
    return found


def _in_memory(variable: Param | Variable) -> bool:
    """Return whether a variable is kept in local memory, as arrays and passed structs are."""
    if isinstance(variable, Param):
        return variable.type == "b8"
    return variable.space == "local" or (variable.space == "param" and variable.type == "b8")


def as_memory(variable: Variable) -> Variable:
    """Move a struct that is passed to or from a function to local memory."""
    return dataclasses.replace(variable, space="local") if _in_memory(variable) else variable
