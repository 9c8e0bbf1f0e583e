"""The second front end: a cubin's machine code (SASS), executed and counted as on a GPU.

    code = read(Path("kernel.cubin"))
    report = launch_machine_code(code, "sum", grid=64, block=256, args=[values, out, n])

`docs/emulator/machine_code.md` describes all options.
"""

from harness.emulator.sass.code import Function, Instruction, MachineCode, Parameter
from harness.emulator.sass.cubin.listings import keep as keep_listings
from harness.emulator.sass.cubin.read import read
from harness.emulator.sass.errors import CubinError, DisassemblerError, UnknownMachineInstruction
from harness.emulator.sass.launch import (
    buffer_address,
    launch_machine_code,
    prepare,
    variable,
    variable_addresses,
)
from harness.emulator.sass.report import MachineCount, MachineReport

__all__ = [
    "CubinError",
    "DisassemblerError",
    "Function",
    "Instruction",
    "MachineCode",
    "MachineCount",
    "MachineReport",
    "Parameter",
    "UnknownMachineInstruction",
    "buffer_address",
    "keep_listings",
    "launch_machine_code",
    "prepare",
    "read",
    "variable",
    "variable_addresses",
]
