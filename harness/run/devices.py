"""Which backend to use, and the device that it runs on.

The parent process never opens the GPU: it asks a worker, so that a driver which hangs or crashes
costs a message and not the run.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from harness.backends.emulated_device import emulated_device
from harness.cases import Device
from harness.errors import BackendUnavailable, UsageError
from harness.job import Job
from harness.run.processes import Workers
from harness.run.site import DESCRIBE_S
from harness.silicon.architectures import UnknownArchitectureError

DEFAULT_ARCH = "sm_90"


def has_driver() -> bool:
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None


def cuda_device(arch: str | None) -> Device:
    """The GPU's facts. Raises BackendUnavailable with the reason why there are none."""
    ended = Workers().do(Job("describe", "cuda", arch, Path(), 0), DESCRIBE_S)
    if ended.device is None:
        raise BackendUnavailable(
            f"the cuda backend does not work here: {ended.reason}\n"
            "  python -m harness doctor says what is missing; --backend emulator needs no GPU"
        )
    return ended.device


def emulated(arch: str | None) -> Device:
    """The device that stands for an architecture. Raises UsageError for one that is unknown."""
    try:
        return emulated_device(arch or DEFAULT_ARCH)
    except UnknownArchitectureError as error:
        raise UsageError(f"--arch {arch}: {error}") from None


def choose(backend: str, arch: str | None) -> tuple[str, Device, str]:
    """(backend, device, a warning or nothing) for auto, cuda or emulator."""
    stand_in = emulated(arch)
    if backend == "emulator" or (backend == "auto" and not has_driver()):
        return "emulator", stand_in, ""
    try:
        return "cuda", cuda_device(arch), ""
    except BackendUnavailable as error:
        if backend == "cuda":
            raise
        return "emulator", stand_in, f"emulating: {error}"
