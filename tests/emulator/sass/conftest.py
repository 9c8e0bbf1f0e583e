"""nvcc for machine code: source text to a cubin, read."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from emulator_tools import PtxFile, find_nvcc
from filelock import FileLock

from harness.emulator.sass import MachineCode, read

CompileCubin = Callable[..., Path]
ReadSource = Callable[..., MachineCode]


@pytest.fixture(autouse=True)
def engine() -> None:
    """Machine code has one engine: these tests need not run twice."""


@pytest.fixture(scope="session")
def compile_cubin(ptx_file: PtxFile) -> CompileCubin:
    """CUDA source (text, or the path of a file) to a cubin's file, assembled once of its PTX."""
    nvcc = find_nvcc()

    def compiled(source: str | Path, arch: str = "sm_90") -> Path:
        ptx = ptx_file(source, arch)
        out = ptx.with_suffix(".cubin")
        with FileLock(out.with_suffix(".lock")):
            if not out.exists():
                made = out.with_suffix(".made")
                command = [
                    nvcc, "-lineinfo", "-cubin", f"-arch={arch}", str(ptx), "-o", str(made),
                ]  # fmt: skip
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr
                made.rename(out)
        return out

    return compiled


@pytest.fixture(scope="session")
def read_source(compile_cubin: CompileCubin) -> ReadSource:
    """CUDA source to machine code, read anew: its variables live on within a test only."""

    def found(source: str | Path, arch: str = "sm_90") -> MachineCode:
        cubin = compile_cubin(source, arch)
        return read(cubin, cubin.with_suffix(".listing"))

    return found
