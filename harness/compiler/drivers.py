"""The machine's NVIDIA driver and CUDA toolkit, and whether kernels can be timed with them.

Nothing is downloaded or changed. A CUDA 12 driver cannot run what the CUDA 13 compiler produces
(CUDA Compatibility, "Minor Version Compatibility"). `make setup` calls this with the system's
Python, before anything is installed, so it uses only the standard library. `doctor` calls it, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

USUAL_ROOT = "/usr/local/cuda"
"""The folder in which NVIDIA's installers put a toolkit, whether or not it is on PATH."""

OLDEST_NVCC = (12, 4)


class SetupError(Exception):
    """A failed setup. Its three lines say what failed, why, and what to do about it.

    `settled`: whether trying again is futile until something changes.
    """

    def __init__(self, what: str, why: str, remedy: str, settled: bool = True) -> None:
        super().__init__(f"{what}\n  {why}\n  {remedy}")
        self.what, self.why, self.remedy = what, why, remedy
        self.settled = settled


@dataclass(frozen=True)
class Toolkit:
    """A CUDA toolkit installed on the machine: its nvcc, release and root folder."""

    nvcc: str
    release: tuple[int, int]
    root: Path


def _driver() -> ctypes.CDLL | None:
    """Load the driver's library, from WSL's folder if necessary; None if there is no driver."""
    for name in ("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    return None


def driver() -> tuple[int, int] | None:
    """Return the CUDA release that the driver supports, such as (12, 2); None if unknown."""
    library, found = _driver(), ctypes.c_int(0)
    with contextlib.suppress(AttributeError):
        if library and library.cuDriverGetVersion(ctypes.byref(found)) == 0 and found.value:
            return found.value // 1000, found.value % 1000 // 10
    return None


def driver_library() -> Path | None:
    """Return the path of the driver's library."""
    if _driver() is None:
        return None
    found = re.search(r"(/\S*/libcuda\.so\S*)", Path("/proc/self/maps").read_text())
    return Path(found[1]) if found else None


def own(tool: str) -> str | None:
    """Find a tool of the machine's CUDA toolkit, in the same places that the harness searches."""
    home = os.environ.get("CUDA_HOME")
    named = [os.environ.get(tool.upper()), home and str(Path(home) / "bin" / tool), tool,
             f"{USUAL_ROOT}/bin/{tool}"]  # fmt: skip
    return next((found for name in named if name and (found := shutil.which(name))), None)


def toolkit() -> Toolkit | None:
    """Find the toolkit that contains the real nvcc, even if `nvcc` is only a wrapper script."""
    nvcc = own("nvcc")
    if nvcc is None:
        return None
    version = re.search(r"release (\d+)\.(\d+)", said(nvcc, "--version"))
    # In its dry run, `#$ TOP=…` gives the toolkit, and `_HERE_` the folder of the real nvcc.
    dry = said(nvcc, "--dryrun", "x.cu")
    here = re.search(r"^#\$ _HERE_=(.+)$", dry, re.MULTILINE)
    top = re.search(r"^#\$ TOP=(.+)$", dry, re.MULTILINE)
    if not version:
        return None
    folder = Path(here[1].strip()) if here else Path(nvcc).resolve().parent
    root = (folder / ".." if not top else folder / Path(top[1].strip())).resolve()
    return Toolkit(nvcc, (int(version[1]), int(version[2])), root)


def obstacle(cuda: tuple[int, int] | None, ours: Toolkit | None) -> SetupError | None:
    """Return why nothing can be timed here, before any download; None if timing is possible."""
    if cuda is None:
        return SetupError(
            "the GPU cannot be used: its driver does not load",
            "libcuda.so.1 is missing, or does not say which CUDA it runs",
            "mend the driver until nvidia-smi lists the GPU",
        )
    runs = f"{cuda[0]}.{cuda[1]}"
    if ours and ours.release < OLDEST_NVCC:
        return SetupError(
            f"the GPU cannot be used: nvcc {ours.release[0]}.{ours.release[1]} is too old",
            f"{ours.nvcc} is what is compiled with; 12.4 is the oldest that works",
            "install a newer CUDA toolkit and name its nvcc in NVCC",
        )
    release = ours.release if ours else (13, 0)
    if release[0] > cuda[0]:
        whose = f"{ours.nvcc} is" if ours else "the only compiler on PyPI is"
        return SetupError(
            f"the GPU cannot be used: its driver runs CUDA {runs} and older",
            f"{whose} of CUDA {release[0]}.{release[1]}, whose code needs driver 580 or newer",
            "update the driver to 580, or install the CUDA toolkit 12.4 to 12.9",
        )
    return None


def missing_for_building() -> SetupError | None:
    """Return what this machine lacks for compiling PyCUDA."""
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return SetupError(
            "PyCUDA cannot be built: Python.h is missing",
            f"{sys.executable} came without the headers that extensions are compiled with",
            f"install them (Debian: apt install python3-dev or python{version}-dev)",
        )
    return None


def said(*command: str) -> str:
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout + ended.stderr
