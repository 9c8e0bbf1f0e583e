"""nvcc for machine code: compiles source text to a cubin, and reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from emulator_tools import PtxFile, assemble
from filelock import FileLock

from harness.emulator.sass import MachineCode, keep_listings, read

CompileCubin = Callable[..., Path]
ReadSource = Callable[..., MachineCode]
ListTogether = Callable[[Sequence[Path]], None]
MadeOnce = Callable[[str, Callable[[], Any]], Any]


@pytest.fixture(autouse=True)
def engine() -> None:
    """Run each test once, because machine code has only one engine."""


@pytest.fixture(scope="session")
def compile_cubin(ptx_file: PtxFile) -> CompileCubin:
    """Compile CUDA source (text, or the path of a file) to a cubin file, assembled once from its
    PTX."""

    def compiled(source: str | Path, arch: str = "sm_90") -> Path:
        ptx = ptx_file(source, arch)
        out = ptx.with_suffix(".cubin")
        with FileLock(out.with_suffix(".lock")):
            if not out.exists():
                made = out.with_suffix(".made")
                assemble(ptx, made, arch).rename(out)
        return out

    return compiled


@pytest.fixture(scope="session")
def read_source(compile_cubin: CompileCubin) -> ReadSource:
    """Compile CUDA source to machine code, which is read again for each test, so that its variables
    persist only within a test."""

    def found(source: str | Path, arch: str = "sm_90") -> MachineCode:
        cubin = compile_cubin(source, arch)
        return read(cubin, _listing(cubin))

    return found


@pytest.fixture(scope="session")
def list_together(compile_cubin: CompileCubin, made_once: MadeOnce) -> ListTogether:
    """List several files, which are read one after another, in one call of the disassembler."""

    def listed(sources: Sequence[Path]) -> None:
        def make() -> None:
            keep_listings({cubin: _listing(cubin) for cubin in map(compile_cubin, sources)})

        made_once(f"listings-{sources[0].stem}", make)

    return listed


def _listing(cubin: Path) -> Path:
    return cubin.with_suffix(".listing")
