"""The errors raised before machine code runs.

    EmulatorError
    ├── CubinError                  the file is not a cubin that can be read here
    ├── DisassemblerError           nvdisasm is missing, too old, or prints something else
    └── UnknownMachineInstruction   an instruction outside the table; names the CUDA source line

A failure while a kernel runs is a `Fault` in the report, as when PTX is executed.
"""

from __future__ import annotations

from harness.emulator.errors import EmulatorError, cut
from harness.emulator.ptx.kernel_names import plain_name


class CubinError(EmulatorError):
    """The file is damaged, not a cubin, or made for an unsupported GPU."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")


class DisassemblerError(EmulatorError):
    """No usable nvdisasm was found; the message says how to get one."""


class UnknownMachineInstruction(EmulatorError):
    """The kernel contains an instruction that is not in the table. Raised before anything has
    run."""

    def __init__(self, text: str, where: str, kernel: str, address: int, detail: str = "") -> None:
        self.text = text
        self.where = where
        self.address = address
        because = f" ({detail})" if detail else ""
        kernel = "::".join(plain_name(kernel))
        super().__init__(
            f"{where or kernel}: the emulator does not know the machine instruction "
            f"`{cut(text, 120)}`{because} at {address:#x} of `{kernel}`. Nothing was run. "
            "Count this kernel from its PTX, or on a GPU."
        )
