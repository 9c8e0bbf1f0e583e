"""Stand-ins for components that a clean machine lacks: a driver, a CUDA toolkit, and torch.

scripts/clean_machines.py puts them into the roots of its machines.
"""

from __future__ import annotations

import re
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

import gpu_packages

from harness.compiler import drivers

TOOLKIT_13 = (*gpu_packages.HEADERS, "nvidia-cuda-nvcc==13.0.88", "nvidia-cuda-crt==13.0.88",
              "nvidia-nvvm==13.0.88", "nvidia-cuda-cccl==13.0.85")  # fmt: skip
HEADERS_12 = ("nvidia-cuda-runtime-cu12==12.8.90", "nvidia-cuda-profiler-api-cu12==12.8.90")


@dataclass(frozen=True)
class World:
    """A machine. `toolkit`: the CUDA release of its own toolkit, if any. `wrapped`: whether PATH
    has only a wrapper script for nvcc."""

    name: str
    driver: str = ""
    cuda: int = 0
    toolkit: str = ""
    wrapped: bool = False
    has_pycuda: bool = True


def stub_driver(world: World, root: Path, wheels: Path) -> None:
    """Install the given driver's libcuda.so.1 and nvidia-smi, as on a machine without a GPU."""
    names: set[str] = set()
    for wheel in [*wheels.glob("nvidia_cuda_runtime-13*"), *wheels.glob("*profiler_api-13*")]:
        with zipfile.ZipFile(wheel) as packed:
            for name in packed.namelist():
                if name.endswith(("/cuda.h", "/cudaProfiler.h")):
                    names |= set(re.findall(r"\bcu[A-Z]\w+", packed.read(name).decode()))
    told = {
        "cuDriverGetVersion": f"(int *v) {{ *v = {world.cuda}; return 0; }}",
        "cuGetErrorName": '(int e, const char **s) { *s = "CUDA_ERROR_NO_DEVICE"; return 0; }',
        "cuGetErrorString":
            '(int e, const char **s) { *s = "no CUDA-capable device is detected"; return 0; }',
    }  # fmt: skip
    source = root / "tmp/libcuda.c"
    source.write_text("".join(
        f"int {name}{told.get(name, '(void) { return 100; }')}\n" for name in sorted(names)
    ))  # fmt: skip
    run("chroot", root, "gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "/tmp/libcuda.c",
        "-o", "/usr/lib/x86_64-linux-gnu/libcuda.so.1")  # fmt: skip
    run("chroot", root, "ldconfig")
    script(root / "usr/bin/nvidia-smi", f"echo 'a GPU that is not there, {world.driver}'")


def lay_toolkit(world: World, root: Path, wheels: Path) -> None:
    """Install the machine's toolkit in /usr/local/cuda and, if the machine is `wrapped`, put a
    wrapper script for nvcc on PATH."""
    folder = root / drivers.USUAL_ROOT.lstrip("/")
    is_13 = world.toolkit.startswith("13")
    for wheel in wheels.glob("*.whl"):
        if ("_cu12-" in wheel.name) is not is_13:
            unpack(wheel, folder)
    if not is_13:
        script(folder / "bin/nvcc",
               f"echo 'Cuda compilation tools, release {world.toolkit}, V{world.toolkit}.93'\n"
               f"echo '#$ _HERE_={drivers.USUAL_ROOT}/bin' >&2; echo '#$ TOP=..' >&2\n"
               'case "$*" in *--version*|*--dryrun*) ;; *) exit 1 ;; esac')  # fmt: skip
    if world.wrapped:
        script(root / "usr/local/bin/nvcc", f'exec {drivers.USUAL_ROOT}/bin/nvcc "$@"')


def unpack(wheel: Path, folder: Path) -> None:
    """Unpack the files of nvidia/<component>/ in the layout of NVIDIA's installer."""
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            parts = Path(name).parts
            if parts[0] == "nvidia" and len(parts) > 3:
                to = folder.joinpath(*parts[2:])
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(packed.read(name))
                if "bin" in parts:
                    to.chmod(0o755)


def stand_in_torch(folder: Path) -> None:
    """Write empty wheels of torch. pip considers a local version newer than the real one."""
    folder.mkdir(parents=True, exist_ok=True)
    for version in ("2.11.0+nothing", "2.10.99+nothing"):
        info = f"torch-{version}.dist-info"
        about = f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
        with zipfile.ZipFile(folder / f"torch-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("torch/__init__.py", "")
            wheel.writestr(f"{info}/METADATA", about)
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: none\n"
                           "Root-Is-Purelib: true\nTag: py3-none-any\n")  # fmt: skip
            wheel.writestr(f"{info}/RECORD", "")


def run(*command: object) -> str:
    """Return a command's output; if the command fails, exit and print it."""
    ended = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if ended.returncode:
        shown = " ".join(map(str, command))
        raise SystemExit(f"{shown} failed\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return ended.stdout


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
