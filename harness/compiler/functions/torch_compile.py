"""Call torch.compile as its users do, with the results cached on disk.

Each placement is a separate process and would compile again, which takes half a minute for each row
of the report's tables. Therefore torch's caches are next to the nvcc cache (a sandboxed run has its
own). A process that finds its kernels in a cache is ready in a second or two. The caches also
record which of several launch shapes was the fastest, so that all placements time the same kernel.
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
"""Deadline, in seconds, for a first compilation that finds nothing in the cache."""

LATE_IMPORTS = (
    "torch.distributed.tensor.experimental", "torch._inductor.codegen.cuda_combined_scheduling",
    "torch._inductor.fx_passes.quantization", "torch.export._trace",
    "torch._export.passes._node_metadata_hook",
)  # fmt: skip
"""The modules that torch imports at its first compilation, according to a profile. Importing them
takes half a second in each process."""

KEYS = (
    ("torch._inductor.codecache", "torch_key"),
    ("torch._inductor.runtime.triton_compat", "triton_key"),
)
"""The functions in which torch computes the hashes of its own and of Triton's sources."""


def settle() -> None:
    """Set the folders of torch's and Triton's caches, and keep torch from starting compile
    processes. A pool of compile processes takes longer to start than one kernel takes to compile,
    and does not survive a fork. The driver does not survive a fork either; importing the compiler
    would start it, so torch is set to ask NVML whether there is a GPU. Settings made by the user
    are not changed."""
    place = (CACHE / "torch").absolute()
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(place))
    os.environ.setdefault("TRITON_CACHE_DIR", str(place / "triton"))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")


def work_out_keys() -> None:
    """Compute the hashes of torch's and Triton's own sources, which are part of their cache keys.

    Otherwise each process would compute them at its first compilation, which takes more than half a
    second; processes forked afterwards inherit them. The names are not part of torch's public
    interface; if they are missing, compilation merely takes longer.
    """
    for module, name in KEYS:
        with suppress(Exception):
            getattr(importlib.import_module(module), name)()


def lacking() -> str:
    """The missing requirements of torch.compile; empty if there are none."""
    if importlib.util.find_spec("triton") is None:
        return "torch.compile needs Triton, which is not installed"
    if not (os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")):
        return "torch.compile needs a C compiler, and there is no gcc or clang on PATH"
    return ""


@cache
def compiled(function: Callable[..., Any], torch: Any) -> Callable[..., Any]:
    """Wrap the function in torch.compile, as one graph for the sizes with which it is called.

    The function is compiled on the first call. `torch`: the package. Raises NotInstalled with the
    missing requirement.
    """
    if missing := lacking():
        raise NotInstalled(missing)
    settle()
    # A profiling process compiles for more sizes than torch's default limit allows.
    for name in ("recompile_limit", "accumulated_recompile_limit"):
        if hasattr(torch._dynamo.config, name):
            setattr(torch._dynamo.config, name, 2**16)
    try:
        made: Callable[..., Any] = torch.compile(function, fullgraph=True, dynamic=False)
    except RuntimeError as error:  # an unsupported Python or system
        raise NotInstalled(f"torch.compile does not work here: {error}") from None
    return made
