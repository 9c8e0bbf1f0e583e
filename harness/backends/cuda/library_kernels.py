"""Which kernels a call of somebody else's code launches, by name: what a library chose to run.

CUPTI tells, through torch's profiler. Tracing slows what it traces, and may do so for as long as a
process lives, so a process that times does not ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_LONGEST = 100
"""Of a name, as it is told; what is behind it are sizes of tiles."""


def kernels(call: Callable[[], Any], synchronize: Callable[[], None]) -> tuple[str, ...]:
    """The device's work in its order, each name once; empty where torch or CUPTI is not there."""
    try:
        from torch.autograd import DeviceType
        from torch.profiler import ProfilerActivity, profile
    except ImportError:
        return ()
    try:
        with profile(activities=[ProfilerActivity.CUDA]) as traced:
            call()
            synchronize()
    except RuntimeError:  # CUPTI is in use by somebody else, or not permitted
        return ()
    found = [e for e in traced.events() if e.device_type == DeviceType.CUDA]
    found.sort(key=lambda event: event.time_range.start)
    return tuple(dict.fromkeys(name_of(event.name) for event in found))


def name_of(signature: str) -> str:
    """A kernel's name without what it returns, its template arguments and its parameters.

    `void cudnn::winograd::tiles<float, 4>(Params)` → `cudnn::winograd::tiles`.
    """
    plain, depth = "", 0
    for character in signature.replace("(anonymous namespace)", ""):
        if character == "(" and depth == 0:
            break
        depth += (character == "<") - (character == ">")
        if depth == 0 and character != ">":
            plain += character
    plain = plain.strip().removeprefix("void ").replace("::::", "::").removeprefix("::")
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
