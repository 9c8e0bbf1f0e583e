"""A CUDA kernel on the CPU: nvcc's PTX, executed by NumPy over thousands of threads at once.

    module = parse(ptx)
    report = launch(module, "sum", grid=64, block=256, args=[values, out, n])

`docs/emulator.md` has the rest.
"""

from harness.emulator.counts import Counter, InstructionCount
from harness.emulator.errors import EmulatorError, LaunchError, PtxSyntaxError, UnknownInstruction
from harness.emulator.faults import Fault
from harness.emulator.launch import launch, variables
from harness.emulator.observed import Observed
from harness.emulator.parser import parse
from harness.emulator.ptx import Kernel, Module, Param
from harness.emulator.report import LaunchReport
from harness.emulator.traits import Trait, traits

__all__ = [
    "Counter",
    "EmulatorError",
    "Fault",
    "InstructionCount",
    "Kernel",
    "LaunchError",
    "LaunchReport",
    "Module",
    "Observed",
    "Param",
    "PtxSyntaxError",
    "Trait",
    "UnknownInstruction",
    "launch",
    "parse",
    "traits",
    "variables",
]
