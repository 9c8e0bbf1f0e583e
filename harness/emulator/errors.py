"""The errors raised before a kernel runs.

    EmulatorError
    ├── PtxSyntaxError       the text is not PTX; names the line of the PTX
    ├── UnknownInstruction   an instruction outside the covered set; names the CUDA source line
    └── LaunchError          no such kernel, wrong arguments, a launch over the device's limits

A failure *while* a kernel runs (an out-of-bounds access, a deadlock) is not an exception: like a
sticky CUDA error it ends the launch, and the report returns it as a `Fault`.
"""

from __future__ import annotations


def shown(value: object, most: int = 100) -> str:
    """Quote a value for a message, shortened if necessary."""
    if isinstance(value, int) and abs(value).bit_length() > 128:
        return f"an integer of {abs(value).bit_length()} bits"
    try:
        text = repr(value[: most + 1] if isinstance(value, str) else value)
    except ValueError:  # Python does not print integers of thousands of digits
        text = f"a {type(value).__name__}"
    return cut(text, most)


def cut(text: str, most: int = 100) -> str:
    """Quote text from a file for a message, shortened if necessary."""
    return text if len(text) <= most else f"{text[: most - 2]} …"


class EmulatorError(Exception):
    """Base class of the errors for input that the emulator rejects; `str(error)` is meant for
    users."""


class PtxSyntaxError(EmulatorError):
    """The text cannot be read as PTX.

    `line` is the line of the PTX text, from 1.
    """

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        super().__init__(
            f"PTX line {line}: {problem}. The emulator reads PTX as nvcc writes it; "
            "compile the source again with `nvcc -ptx -lineinfo`."
        )


class UnknownInstruction(EmulatorError):
    """The kernel contains something that the emulator cannot execute. Raised before anything has
    run.
    """

    def __init__(self, opcode: str, where: str, ptx_line: int, detail: str = "") -> None:
        self.opcode = opcode
        self.where = where
        self.ptx_line = ptx_line
        because = f" ({cut(detail, 300)})" if detail else ""
        super().__init__(
            f"{where}: the emulator does not know `{cut(opcode)}`{because}; PTX line {ptx_line}. "
            "Nothing was run. Use a GPU for this kernel, or avoid the instruction."
        )


class LaunchError(EmulatorError):
    """The launch was refused before anything ran."""
