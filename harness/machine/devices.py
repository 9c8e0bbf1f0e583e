"""Choose a backend and its device.

The parent process never opens the GPU. Instead it starts a worker that does; if the driver hangs or
crashes, the run prints a message and goes on.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from harness.backends.emulated_device import emulated_device
from harness.cases import Device
from harness.console.suggestions import command
from harness.errors import BackendUnavailable, UsageError
from harness.job import Job
from harness.processes.workers import DESCRIBE_S, Workers, import_ahead
from harness.silicon.architectures import UnknownArchitectureError

DEFAULT_ARCH = "sm_90"


def has_driver() -> bool:
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None


def cuda_device(arch: str | None) -> Device:
    """Return a description of the GPU. Raises BackendUnavailable with the reason if the GPU cannot
    be used."""
    import_ahead("cuda")
    ended = Workers().do(Job("describe", "cuda", arch, Path(), 0), DESCRIBE_S)
    if ended.device is None:
        raise BackendUnavailable(
            f"the cuda backend does not work here: {ended.reason}\n"
            f"  {command('doctor')} says what is missing; --backend emulator needs no GPU"
        )
    return ended.device


def emulated(arch: str | None) -> Device:
    """Return the stand-in device for an architecture that is in the table.

    Raises UsageError for an unknown architecture.
    """
    try:
        return emulated_device(arch or DEFAULT_ARCH)
    except UnknownArchitectureError as error:
        raise UsageError(f"--arch {arch}: {error}") from None


def choose(backend: str, arch: str | None) -> tuple[str, Device, str]:
    """Return (backend, device, warning or "") for the request auto, cuda or emulator."""
    if backend == "emulator" or (backend == "auto" and not has_driver()):
        return "emulator", emulated(arch), ""
    if arch is not None:
        emulated(arch)  # rejects an invalid name
    try:
        device = cuda_device(arch)
    except BackendUnavailable as error:
        if backend == "cuda":
            raise
        return "emulator", emulated(arch), f"emulating: {error}"
    return "cuda", device, _beyond(device)


def _beyond(device: Device) -> str:
    """Describe how code is generated for a card that is newer than the compiler; empty for any
    other card."""
    major, minor = device.compute_capability
    if device.runs_machine_code:
        return ""
    return (
        f"{device.name} is sm_{major}{minor}: kernels are compiled for {device.arch}, and the "
        "driver compiles their PTX for the card, so registers and spills are not the card's own\n"
        f"  for these, name an nvcc that knows sm_{major}{minor} in NVCC"
    )
