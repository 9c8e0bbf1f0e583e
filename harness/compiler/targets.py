"""Choose the architecture for which to compile a card's code: its own, or the best that this nvcc
supports.

A cubin runs on its own compute capability and on later ones with the same major number. PTX runs on
every later one, compiled by the driver (CUDA Programming Guide, "Binary Compatibility" and "PTX
Compatibility").
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from harness.compiler import toolchain
from harness.errors import BackendUnavailable, CompileError
from harness.processes import children
from harness.silicon.architectures import compute_capability

_ANSWER_S = 60


@cache
def known() -> tuple[str, ...]:
    """List the architectures for which this nvcc generates machine code, oldest first.

    Raises CompileError.
    """
    compiler = toolchain.find()
    try:
        shown = children.output([compiler.nvcc, "--list-gpu-code"], _ANSWER_S)
    except (OSError, children.LateError) as error:
        raise CompileError(f"{compiler.nvcc} does not say what it compiles for: {error}") from None
    names = {name.strip() for name in shown.out.split() if name.startswith("sm_")}
    if shown.code or not names:
        raise CompileError(f"{compiler.nvcc} --list-gpu-code: {shown.err or shown.out}")
    return tuple(sorted(names, key=compute_capability))


def best_for(capability: tuple[int, int], card: str) -> str:
    """Return the newest architecture whose machine code or PTX the card can run.

    Raises BackendUnavailable for a card older than any that this nvcc supports.
    """
    return choose(capability, known(), card, toolchain.find().version)


def choose(capability: tuple[int, int], names: Sequence[str], card: str, nvcc: str) -> str:
    """Return the newest of these architectures that is not newer than the card."""
    # sm_90a is specific to one architecture, sm_100f to a family.
    everywhere = (name for name in names if name[-1].isdigit())
    plain = [name for name in everywhere if compute_capability(name) <= capability]
    if plain:
        return max(plain, key=compute_capability)
    major, minor = capability
    raise BackendUnavailable(
        f"{card} is sm_{major}{minor}, and nvcc {nvcc} writes for {names[0]} and later\n"
        "  name an older nvcc that knows it in NVCC: 12.9 is the last for sm_50 to sm_72"
    )
