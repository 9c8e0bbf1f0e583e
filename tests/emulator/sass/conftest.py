"""nvcc for machine code: source text to a cubin, read."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from emulator_tools import KERNELS, find_nvcc

from harness.emulator.sass import MachineCode, read

CompileCubin = Callable[..., Path]
ReadSource = Callable[..., MachineCode]


@pytest.fixture(autouse=True)
def engine() -> None:
    """Machine code has one engine: these tests need not run twice."""


@pytest.fixture(scope="session")
def compile_cubin(tmp_path_factory: pytest.TempPathFactory) -> CompileCubin:
    """CUDA source to a cubin's file; each compiled once."""
    nvcc = find_nvcc()
    folder = tmp_path_factory.mktemp("cubin")
    made: dict[tuple[str, str], Path] = {}

    def compiled(source: str, arch: str = "sm_90") -> Path:
        if (source, arch) not in made:
            path = folder / f"test{len(made)}.cu"
            path.write_text(source)
            out = path.with_suffix(".cubin")
            command = [
                nvcc, "-O3", "-lineinfo", "-cubin", "-std=c++17", f"-arch={arch}", f"-I{KERNELS}",
                str(path), "-o", str(out),
            ]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            made[source, arch] = out
        return made[source, arch]

    return compiled


@pytest.fixture(scope="session")
def read_source(compile_cubin: CompileCubin) -> ReadSource:
    """CUDA source to machine code; each read once, so that variables live on within a test only."""
    return lambda source, arch="sm_90": read(compile_cubin(source, arch))
