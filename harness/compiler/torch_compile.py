"""torch.compile as its users call it, with what it makes kept on disk.

A placement is a process of its own, and each would compile anew: half a minute for a row. So the
caches lie beside those of nvcc, a sandboxed run having its own; a process that finds its kernels
there is ready in a second or two. They also keep which of several launch shapes was the fastest, so
that all placements time the same kernel.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from harness.compiler.cache import CACHE
from harness.errors import NotInstalled

COMPILE_S = 300.0
"""Deadline for what is compiled where no process has compiled it before."""

LATE_IMPORTS = (
    "torch.distributed.tensor.experimental", "torch._inductor.codegen.cuda_combined_scheduling",
    "torch._inductor.fx_passes.quantization", "torch.export._trace",
    "torch._export.passes._node_metadata_hook",
)  # fmt: skip
"""What torch imports when it first compiles, read from a profile; half a second in each process."""

KEYS = (
    ("torch._inductor.codecache", "torch_key"),
    ("torch._inductor.runtime.triton_compat", "triton_key"),
)
"""Where torch works out the hashes of its own and of Triton's sources."""


def settle() -> None:
    """Where torch and Triton keep what they compile, and that they start no processes for it.

    Their pool of compiling processes takes longer to start than one kernel to compile, and a fork
    does not survive it. Nor does it survive the driver, which importing the compiler starts unless
    torch asks NVML whether there is a GPU. What the user has set stays.
    """
    place = (CACHE / "torch").absolute()
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(place))
    os.environ.setdefault("TRITON_CACHE_DIR", str(place / "triton"))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")


def work_out_keys() -> None:
    """The hashes of torch's and Triton's own sources, by which their caches are kept.

    Each process would work them out at its first compilation, in more than half a second; what is
    forked afterwards has them. The names are no promise of torch's: without them it takes longer.
    """
    for module, name in KEYS:
        with suppress(Exception):
            getattr(importlib.import_module(module), name)()


def lacking() -> str:
    """What torch.compile needs and is not there; empty where nothing is missing."""
    if importlib.util.find_spec("triton") is None:
        return "torch.compile needs Triton, which is not installed"
    if not (os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")):
        return "torch.compile needs a C compiler, and there is no gcc or clang on PATH"
    return ""


@cache
def compiled(function: Callable[..., Any], torch: Any) -> Callable[..., Any]:
    """The function as torch.compile has it: one graph, for the sizes that it is called with.

    Compiled at its first call. torch: the package. Raises NotInstalled with what is missing.
    """
    if missing := lacking():
        raise NotInstalled(missing)
    settle()
    # A process that profiles compiles for more sizes than the few that torch thinks sensible.
    for name in ("recompile_limit", "accumulated_recompile_limit"):
        if hasattr(torch._dynamo.config, name):
            setattr(torch._dynamo.config, name, 2**16)
    try:
        made: Callable[..., Any] = torch.compile(function, fullgraph=True, dynamic=False)
    except RuntimeError as error:  # a Python that it does not know yet, or a system
        raise NotInstalled(f"torch.compile does not work here: {error}") from None
    return made
