"""Backends that run a case: the GPU, which gives times, and the emulator, which gives counters."""

from __future__ import annotations

import importlib

from harness.backends.base import Backend
from harness.errors import BackendUnavailable

DEFAULT_ARCH = "sm_90"


def open_backend(name: str, arch: str | None, jobs: int = 1) -> Backend:
    """Create a backend: cuda, emulator, or a `module:function` that takes an architecture.

    Raises BackendUnavailable if the machine cannot run it.
    """
    if name == "emulator":
        from harness.backends.emulated import EmulatorBackend

        return EmulatorBackend(arch or DEFAULT_ARCH, jobs)
    if name == "cuda":
        from harness.backends.cuda.backend import CudaBackend

        return CudaBackend(arch)
    module, _, function = name.partition(":")
    try:
        made: Backend = getattr(importlib.import_module(module), function)(arch)
    except (ImportError, AttributeError, ValueError) as error:
        raise BackendUnavailable(f"there is no backend {name}: {error}") from None
    return made
