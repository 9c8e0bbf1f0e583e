"""Find the CUDA compiler and its release.

The harness looks in NVCC, CUDA_HOME, PATH, /usr/local/cuda and then among this Python's installed
wheels. So a machine without a CUDA toolkit uses the wheels, and a machine with one uses the
toolkit's compiler.
"""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.compiler.drivers import USUAL_ROOT
from harness.console.suggestions import install, is_clone
from harness.errors import CompileError
from harness.processes import children

_ANSWER_S = 60


@dataclass(frozen=True)
class Toolchain:
    """An nvcc: its path, its release (such as "13.0.88"), and the setting or location of origin."""

    nvcc: str
    version: str
    found_in: str


def candidates() -> list[tuple[str, str]]:
    """List (path or command, where it was configured) in search order."""
    named = []
    if nvcc := os.environ.get("NVCC"):
        named.append((nvcc, "NVCC"))
    if home := os.environ.get("CUDA_HOME"):
        named.append((str(Path(home) / "bin" / "nvcc"), "CUDA_HOME"))
    named.append(("nvcc", "PATH"))
    named.append((f"{USUAL_ROOT}/bin/nvcc", USUAL_ROOT))
    wheels = Path(sysconfig.get_path("purelib")) / "nvidia"
    named += [(str(path), "the installed wheels") for path in sorted(wheels.glob("cu*/bin/nvcc"))]
    return named


@cache
def find() -> Toolchain:
    """Find the compiler to use. Raises CompileError if there is none, or it does not run."""
    for name, where in candidates():
        path = shutil.which(name)
        if path is None and where == "NVCC":  # an explicit choice is not replaced by another nvcc
            raise CompileError(
                f"NVCC names {name}, which is no program that can be run\n"
                "  correct NVCC, or unset it to take the nvcc of this machine"
            )
        if path is None:
            continue
        try:
            shown = children.output([path, "--version"], _ANSWER_S)
        except children.LateError:
            raise CompileError(
                f"nvcc from {where} does not tell its version within {_ANSWER_S} s: {path}"
            ) from None
        except OSError as error:
            raise CompileError(f"nvcc from {where} does not run: {path}: {error}") from None
        version = re.search(r"\bV(\d+\.\d+\.\d+)", shown.out)
        if shown.code or not version:
            raise CompileError(f"nvcc from {where} does not run: {path} --version: {shown.err}")
        return Toolchain(path, version[1], where)
    raise CompileError(
        "no CUDA compiler: NVCC and CUDA_HOME name none, and there is none on PATH\n"
        f"  install it for this Python: {install('', 'compiler')}"
        + "  (make bench does that itself)"
        * is_clone()
    )
