"""Execute CUDA kernels on the CPU, from nvcc's PTX or machine code, with checks and counters.

    module = parse(ptx)
    report = launch(module, "sum", grid=64, block=256, args=[values, out, n])

`docs/emulator.md` describes all options; `harness.emulator.sass` executes machine code.
"""

from harness.emulator.engine.report import LaunchReport
from harness.emulator.errors import EmulatorError, LaunchError, PtxSyntaxError, UnknownInstruction
from harness.emulator.launch import (
    buffer_address,
    launch,
    variable,
    variable_addresses,
    variables,
)
from harness.emulator.memory.tensor_maps import TensorMap
from harness.emulator.memory.textures import Surface, Texture
from harness.emulator.ptx.features import Feature, features
from harness.emulator.ptx.parser import parse
from harness.emulator.ptx.syntax import Kernel, Module, Param
from harness.emulator.results.counters import Counter, Executed, InstructionCount
from harness.emulator.results.faults import Fault
from harness.emulator.results.observed import Observed
from harness.emulator.results.remarks import Remark
from harness.emulator.results.waits import Completion, Wait

__all__ = [
    "Completion",
    "Counter",
    "EmulatorError",
    "Executed",
    "Fault",
    "Feature",
    "InstructionCount",
    "Kernel",
    "LaunchError",
    "LaunchReport",
    "Module",
    "Observed",
    "Param",
    "PtxSyntaxError",
    "Remark",
    "Surface",
    "TensorMap",
    "Texture",
    "UnknownInstruction",
    "Wait",
    "buffer_address",
    "features",
    "launch",
    "parse",
    "variable",
    "variable_addresses",
    "variables",
]
