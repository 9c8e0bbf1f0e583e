"""Launch a kernel from its machine code."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine import clusters
from harness.emulator.engine.judging import OfLines
from harness.emulator.engine.shape import CompiledFor, Shape, checked
from harness.emulator.errors import LaunchError, shown
from harness.emulator.memory import grid_workspace, module_variables
from harness.emulator.memory.address_space import AddressSpace, address_of_slot
from harness.emulator.memory.heap import Heap, heap_for
from harness.emulator.ptx.source_lines import user_line
from harness.emulator.ptx.syntax import Kernel, Module
from harness.emulator.sass import unwritten
from harness.emulator.sass.architectures import ARCHITECTURES, CodeArchitecture
from harness.emulator.sass.arguments import pack
from harness.emulator.sass.called import called
from harness.emulator.sass.code import Function, Instruction, MachineCode, Operand, Variable
from harness.emulator.sass.counters import counters, uncounted
from harness.emulator.sass.encode import Encoded, encode
from harness.emulator.sass.errors import UnknownMachineInstruction
from harness.emulator.sass.execute import (
    Clustered,
    bank_of_parameters,
    counted,
    execute,
    synchronises_grid,
)
from harness.emulator.sass.instructions import hopper
from harness.emulator.sass.instructions.table import (
    CALL_OF_DRIVER,
    OF_COPIES,
    address_of_function,
)
from harness.emulator.sass.judging import Judged, judged
from harness.emulator.sass.library import load
from harness.emulator.sass.report import Counted, MachineReport
from harness.silicon.architectures import architecture

Array = NDArray[Any]

_ADDRESS_BANK = 4
_CLUSTER_SIZE, _FOR_EACH_BLOCK = "SR_CgaSize", "-0xa0"
_WORD_BYTES = 4
_WIDTHS = {"64": 8, "128": 16}
_ADDRESSES = (1 << 64) - 1  # addresses wrap around
_GLOBAL, _CONSTANT = ".nv.global", ".nv.constant"


@dataclass
class _Device:
    """The state that persists between launches: encoded kernels, constant banks, variables, the
    heap if the code allocates from it, and the data for judging a kernel, with the PTX module that
    they were read from.

    A `__constant__` variable is a part of its constant bank.
    """

    encoded: dict[str, Encoded]
    banks: dict[int, Array]
    variables: dict[str, Array]
    heap: Heap | None
    judged: dict[str, tuple[Module, Judged]] = field(default_factory=dict)


def launch_machine_code(
    code: MachineCode,
    kernel: str,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    shared_bytes: int = 0,
    *,
    names: Sequence[str] | None = None,
    signature: Kernel | None = None,
    max_thread_instructions: int | None = None,
    ptx: Module | None = None,
    cluster: int | Sequence[int] | None = None,
    buffers: Sequence[Array] = (),
    written: Mapping[int, Array] | None = None,
    written_buffers: Mapping[int, Array] | None = None,
) -> MachineReport:
    """Execute a kernel's machine code on the CPU; arrays among the arguments change in place.

    The arguments are those of `launch` for PTX: `args` has one entry for each parameter, `names`
    are their names in messages, `shared_bytes` is dynamic. `signature`: the kernel in the PTX, for
    the types of its parameters; without it, a Python float is passed as a float of the parameter's
    size, and an integer as an integer. `cluster`: dimensions of a thread block cluster in blocks,
    if the kernel is not compiled for one. `buffers`: arrays that pointers in memory point to, each
    at its `buffer_address`. Accesses outside buffers, misaligned ones, deadlocks and endless loops
    are faults. `ptx`: the module that the code was assembled from, with line numbers; it enables
    race detection between warps, and the detection of most uses of uninitialised memory
    (docs/emulator/checks.md). `written` and `written_buffers`: as for PTX. Raises
    UnknownMachineInstruction and LaunchError before anything has run.
    """
    function, encoded = prepare(code, kernel)
    shape = checked(
        _compiled_for(function), architecture(code.arch), grid, block, shared_bytes,
        max_thread_instructions,
    )  # fmt: skip
    device, memory = _device(code), AddressSpace()
    arch = ARCHITECTURES[code.arch]
    for each in _global_variables(code):
        memory.add(each.name, device.variables[each.name])
    if device.heap:
        device.heap.place(memory)
    params = pack(function, args, names, memory, signature, buffers)
    clustered = _clustered(code, function, cluster, shape)
    registers = {}
    if synchronises_grid(function, arch):
        grid_workspace.place_workspace(memory)
        registers = grid_workspace.workspace_registers(memory)
    first = bank_of_parameters(function, arch, shape, params, registers, clustered, memory)
    own = {number: np.frombuffer(bank, np.uint8) for number, bank in function.banks.items()}
    banks = device.banks | own | {0: np.frombuffer(first, np.uint8)}
    looked_for = _judged(device, function, ptx) if ptx else None
    maps = unwritten.maps(args, buffers, written, written_buffers)
    if looked_for and unwritten.are_writes_seen(function):
        unwritten.track(memory, maps)
    ran = execute(function, arch, encoded, shape, memory, banks, clustered, looked_for)
    unwritten.forget_unseen(memory, maps)
    return MachineReport(
        kernel, shape.grid, shape.block, shape.shared_bytes, ran.faults, ran.printed,
        partial(_counted, function, ran.counts, encoded.takes_turns, arch.was_read),
    )  # fmt: skip


def _counted(function: Function, counts: Array, meets_others: bool, was_read: bool) -> Counted:
    instructions = counted(function, counts)
    unknown = uncounted(instructions)
    return Counted(instructions, counters(instructions, unknown, meets_others, was_read), unknown)


def variable(code: MachineCode, name: str, dtype: Any = np.uint8) -> Array:
    """A `__device__` or `__constant__` variable as an array, to be read or set before a launch.

    Like `harness.emulator.variable` for PTX: the array is the variable itself.
    """
    _checked(code)
    return module_variables.named(_device(code).variables, name, dtype)


def variable_addresses(code: MachineCode) -> dict[str, int]:
    """The address of each `__device__` variable, the same in every launch."""
    _checked(code)
    return {each.name: address_of_slot(n) for n, each in enumerate(_global_variables(code))}


def buffer_address(code: MachineCode, number: int) -> int:
    """The address of a launch's `buffers[number]`: after the code's variables and its heap."""
    _checked(code)
    first = len(_global_variables(code)) + (_device(code).heap is not None)
    return address_of_slot(first + number)


def prepare(code: MachineCode, kernel: str) -> tuple[Function, Encoded]:
    """Find a kernel and encode it. Raises UnknownMachineInstruction, or LaunchError if there is no
    such kernel."""
    _checked(code)
    if not isinstance(kernel, str) or kernel not in code.functions:
        there = ", ".join(sorted(code.functions)) or "none"
        raise LaunchError(f"there is no kernel {shown(kernel)}; the cubin has {there}")
    function, known = code.functions[kernel], _device(code).encoded
    if kernel not in known:
        _refuse_undetermined(ARCHITECTURES[code.arch], function)
        _refuse_both_groups(function)
        _refuse_calls(code, function)
        _refuse_places(ARCHITECTURES[code.arch], function)
        known[kernel] = encode(function, load().definitions)
    return function, known[kernel]


def _refuse_undetermined(arch: CodeArchitecture, function: Function) -> None:
    """Reject Hopper's asynchronous instructions for architectures without clusters, because no
    compiler generates them there."""
    for each in function.instructions if arch.clusters is None else ():
        if each.opcode in hopper.OPCODES:
            raise _unknown(function, each, f"{arch.name} has no such instruction")


def _refuse_both_groups(function: Function) -> None:
    """Reject a kernel with both kinds of copy group, because the code does not show which kind a
    wait refers to. Waiting until no group is left is allowed: it covers both kinds, because one
    scoreboard counts them."""
    of_lanes = next((i for i in function.instructions if i.opcode == "LDGDEPBAR"), None)
    if not of_lanes or all(i.opcode != "UTMACMDFLUSH" for i in function.instructions):
        return
    for each in function.instructions:
        if each.opcode == "DEPBAR" and _leaves_some(each):
            raise _unknown(
                function, of_lanes, "beside groups of bulk copies, which waits do not tell apart"
            )


def _leaves_some(wait: Instruction) -> bool:
    """Return whether an instruction waits for all groups of copies except the newest."""
    scoreboard, *counts = (each.text for each in wait.operands)
    return scoreboard == OF_COPIES and any(int(each, 16) for each in counts[:1])


def _clustered(
    code: MachineCode, function: Function, asked: int | Sequence[int] | None, shape: Shape
) -> Clustered:
    compiled = function.cluster
    own = compiled if compiled and all(compiled) else None
    limits = architecture(code.arch)
    found = clusters.chosen(function.name, own, compiled == (0, 0, 0), asked, limits)
    clusters.check_grid(function.name, found, shape.grid)
    return Clustered(found, own is not None or asked is not None)


def _judged(device: _Device, function: Function, ptx: Module) -> Judged:
    module, data = device.judged.get(function.name, (None, None))
    if data is None or module is not ptx:
        data = judged(function, OfLines(ptx, function.name))
        device.judged[function.name] = ptx, data
    return data


def _refuse_calls(code: MachineCode, function: Function) -> None:
    """Reject calls into the driver, except to the functions that the emulator executes."""
    symbols = {offset: symbol for offset, symbol, addend in code.addresses if not addend}
    every = {symbol for _, symbol, _ in code.addresses if symbol not in code.variables}
    if every and all(map(address_of_function, every)):
        return
    for each in (i for i in function.instructions if i.name == CALL_OF_DRIVER):
        found = called(function, each, symbols)
        named = {found} if found else every
        strange = sorted(name for name in named if not address_of_function(name))
        if strange or not every:
            names = ", ".join(f"`{name}`" for name in strange) or "any function"
            verb = "calls" if found else "may call"
            raise _unknown(function, each, f"it {verb} {names}")


def _refuse_places(arch: CodeArchitecture, function: Function) -> None:
    """Reject a read before the parameters unless the driver's value there is known."""
    for each in function.instructions if arch.known_at is not None else ():
        width = max(_WIDTHS.get(modifier, _WORD_BYTES) for modifier in ("", *each.modifiers))
        if not all(_is_known(operand, width, arch, function) for operand in each.operands):
            raise _unknown(function, each, "what the driver puts there is not known")
    for each, behind in pairwise(function.instructions):
        if _CLUSTER_SIZE in each.text and not _scales_by_cluster(each, behind):
            raise _unknown(function, each, f"special register {_CLUSTER_SIZE}")


def _is_known(operand: Operand, width: int, arch: CodeArchitecture, function: Function) -> bool:
    """Return whether an operand avoids the part of constant bank 0 before the parameters, or reads
    it only at offsets whose contents are known."""
    if operand.kind != "constant" or operand.number != 0:
        return True
    if operand.offset >= function.parameter_base:
        return True
    if operand.uniform or operand.base:  # to which a multiple of the cluster's size has been added
        known = {*dict(arch.registers_at).values(), *(arch.clusters.words if arch.clusters else ())}
        return known.issuperset(range(operand.offset, operand.offset + width, _WORD_BYTES))
    return any(operand.offset in known for known in arch.known_at or ())


def _scales_by_cluster(each: Instruction, behind: Instruction) -> bool:
    """Return whether a cluster's size is read only to compute an offset in constant memory."""
    wanted = f"IMAD {each.operands[0].text}, {each.operands[0].text}, {_FOR_EACH_BLOCK}, RZ"
    return behind.text.rstrip(" ;").replace(" ", "") == wanted.replace(" ", "")


def _unknown(function: Function, each: Instruction, detail: str) -> UnknownMachineInstruction:
    place = user_line(each.location)
    return UnknownMachineInstruction(
        each.text, str(place) if place else "", function.name, each.address, detail
    )


def _checked(code: MachineCode) -> None:
    if not isinstance(code, MachineCode):
        raise LaunchError(f"the code is {shown(code)}; pass what read() returns")


def _compiled_for(function: Function) -> CompiledFor:
    most = function.max_threads
    return CompiledFor(
        function.name, function.required_threads, math.prod(most) if most else None,
        function.shared_bytes, function.local_bytes,
    )  # fmt: skip


def _device(code: MachineCode) -> _Device:
    if code.device is None:
        contents = {number: bytearray(bank) for number, bank in code.banks.items()}
        if _ADDRESS_BANK in contents:
            _write_addresses(code, contents[_ADDRESS_BANK])
        banks = {number: np.frombuffer(bank, np.uint8) for number, bank in contents.items()}
        variables = {each.name: _initial(code, each) for each in _global_variables(code)}
        sections = {f"{_CONSTANT}{number}": bank for number, bank in banks.items()}
        for each in code.variables.values():
            if (bank := sections.get(each.section)) is not None:
                variables[each.name] = bank[each.offset : each.offset + each.size]
        called = (symbol for _, symbol, _ in code.addresses)
        code.device = _Device({}, banks, variables, heap_for(called))
    device: _Device = code.device
    return device


def _global_variables(code: MachineCode) -> list[Variable]:
    """The variables in global memory; they come first in the address space of every launch."""
    return [each for each in code.variables.values() if each.section.startswith(_GLOBAL)]


def _initial(code: MachineCode, variable: Variable) -> Array:
    """The initial contents of a variable in global memory."""
    initial = code.sections.get(variable.section, b"")
    own = initial[variable.offset : variable.offset + variable.size]
    data = module_variables.zeros(variable.name, variable.size)
    data[: len(own)] = np.frombuffer(own, np.uint8)
    return data


def _write_addresses(code: MachineCode, bank: bytearray) -> None:
    """Write the addresses of relocated variables to bank 4."""
    slots = {each.name: slot for slot, each in enumerate(_global_variables(code))}
    for offset, symbol, addend in code.addresses:
        base = address_of_function(symbol)
        if symbol in slots:
            base = address_of_slot(slots[symbol])
        address = (base + addend) & _ADDRESSES
        bank[offset : offset + 8] = address.to_bytes(8, "little")
