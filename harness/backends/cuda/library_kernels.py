"""Name the kernels that a call to other code launches, to show which kernels a library chose.

CUPTI reports them, through torch's profiler. Tracing slows the traced work, possibly for the rest
of the process's life, so processes that time launches do not use it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_LONGEST = 100
"""The maximum length of a reported name, in characters; the rest of a longer name consists of tile
sizes."""


def kernels(call: Callable[[], Any], synchronize: Callable[[], None]) -> tuple[str, ...]:
    """List by name what the device executes for the call, in order, each name once; empty if torch
    or CUPTI is not available."""
    try:
        from torch.autograd import DeviceType
        from torch.profiler import ProfilerActivity, profile
    except ImportError:
        return ()
    try:
        with profile(activities=[ProfilerActivity.CUDA]) as traced:
            call()
            synchronize()
    except RuntimeError:  # CUPTI is in use elsewhere, or not permitted
        return ()
    found = [e for e in traced.events() if e.device_type == DeviceType.CUDA]
    found.sort(key=lambda event: event.time_range.start)
    return tuple(dict.fromkeys(name_of(event.name) for event in found))


def name_of(signature: str) -> str:
    """Strip a kernel's return type, template arguments and parameters from its name.

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
