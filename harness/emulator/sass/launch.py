"""Launching a kernel from its machine code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.shape import CompiledFor, checked
from harness.emulator.errors import LaunchError, shown
from harness.emulator.memory import grid_workspace
from harness.emulator.memory.address_space import AddressSpace
from harness.emulator.ptx.syntax import Kernel
from harness.emulator.sass.arguments import pack
from harness.emulator.sass.code import Function, MachineCode
from harness.emulator.sass.counters import counters
from harness.emulator.sass.encode import Encoded, encode
from harness.emulator.sass.execute import bank_of_parameters, execute, synchronises_grid
from harness.emulator.sass.library import load
from harness.emulator.sass.report import MachineReport
from harness.silicon.architectures import architecture

Array = NDArray[Any]

_ADDRESS_BANK = 4


@dataclass
class _Device:
    """What outlives a launch: encoded kernels, and the contents of variables by name."""

    encoded: dict[str, Encoded]
    variables: dict[str, Array]


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
) -> MachineReport:
    """Execute a kernel's machine code on the CPU; arrays among the arguments change in place.

    As `launch` does it from PTX: `args` has one entry for each parameter, `names` are what messages
    call them, `shared_bytes` is dynamic. `signature`: the kernel of the PTX, for the types of its
    parameters; without it a Python float goes to a float of the parameter's size, and an integer
    to an integer. Accesses outside of buffers, misaligned ones, deadlocks and endless loops are
    faults; races and unwritten memory are not looked for here.
    Raises UnknownMachineInstruction and LaunchError before anything has run.
    """
    function, encoded = prepare(code, kernel)
    shape = checked(
        _compiled_for(function), architecture(code.arch), grid, block, shared_bytes,
        max_thread_instructions,
    )  # fmt: skip
    memory = AddressSpace()
    places = _place_variables(code, _device(code), memory)
    params = pack(function, args, names, memory, signature)
    registers = {}
    if synchronises_grid(encoded):
        grid_workspace.place_workspace(memory)
        registers = grid_workspace.workspace_registers(memory)
    first = bank_of_parameters(function, shape, params, registers)
    banks = code.banks | dict(function.banks) | {0: first}
    if _ADDRESS_BANK in banks:
        banks[_ADDRESS_BANK] = _addresses(code, banks[_ADDRESS_BANK], places)
    fault, counts = execute(function, encoded, shape, memory, banks)
    return MachineReport(
        kernel, shape.grid, shape.block, shape.shared_bytes, () if fault is None else (fault,),
        counts, counters(counts, encoded.takes_turns),
    )  # fmt: skip


def prepare(code: MachineCode, kernel: str) -> tuple[Function, Encoded]:
    """The kernel, encoded. Raises UnknownMachineInstruction, or LaunchError if there is none."""
    if not isinstance(code, MachineCode):
        raise LaunchError(f"the code is {shown(code)}; pass what read() returns")
    if not isinstance(kernel, str) or kernel not in code.functions:
        there = ", ".join(sorted(code.functions)) or "none"
        raise LaunchError(f"there is no kernel {shown(kernel)}; the cubin has {there}")
    function, known = code.functions[kernel], _device(code).encoded
    if kernel not in known:
        known[kernel] = encode(function, load().definitions)
    return function, known[kernel]


def _compiled_for(function: Function) -> CompiledFor:
    most = function.max_threads
    return CompiledFor(
        function.name, function.required_threads, math.prod(most) if most else None,
        function.shared_bytes, function.local_bytes,
    )  # fmt: skip


def _device(code: MachineCode) -> _Device:
    if code.device is None:
        code.device = _Device({}, {})
    device: _Device = code.device
    return device


def _place_variables(code: MachineCode, device: _Device, memory: AddressSpace) -> dict[str, int]:
    """The address of each variable in global memory."""
    places = {}
    for variable in code.variables.values():
        if not variable.section.startswith(".nv.global"):
            continue
        if variable.name not in device.variables:
            initial = code.sections.get(variable.section, b"")
            own = initial[variable.offset : variable.offset + variable.size]
            data = np.zeros(variable.size, np.uint8)
            data[: len(own)] = np.frombuffer(own, np.uint8)
            device.variables[variable.name] = data
        places[variable.name] = memory.add(variable.name, device.variables[variable.name]).base
    return places


def _addresses(code: MachineCode, bank: bytes, places: dict[str, int]) -> bytes:
    """Bank 4 with the addresses of the variables that its relocations name."""
    out = bytearray(bank)
    for offset, symbol, addend in code.addresses:
        address = places.get(symbol, 0) + addend
        out[offset : offset + 8] = address.to_bytes(8, "little")
    return bytes(out)
