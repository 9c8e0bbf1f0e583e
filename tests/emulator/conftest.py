"""nvcc for the emulator's tests, and both runs of its engine."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from emulator_tools import KERNELS, CompilePtx, PtxFile, find_nvcc
from filelock import FileLock

from harness.emulator import Module, launch, parse


@pytest.fixture(autouse=True, params=["auto", "judge"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test once as a launch chooses, and once by the judge alone."""
    monkeypatch.setitem(launch.__kwdefaults__, "engine", request.param)


@pytest.fixture(scope="session")
def ptx_file(shared_by_all_workers: Path) -> PtxFile:
    """CUDA source (text, or the path of a file) to a file with its PTX.

    Each is compiled once, and by one of the processes that share the tests between them.
    """
    nvcc = find_nvcc()
    folder = shared_by_all_workers / "ptx"
    folder.mkdir(exist_ok=True)

    def compiled(
        source: str | Path, arch: str = "sm_90", defines: Sequence[str] = (), flags: str = ""
    ) -> Path:
        key = (source, arch, tuple(defines), flags)
        out = folder / f"{hashlib.sha256(repr(key).encode()).hexdigest()}.ptx"
        with FileLock(out.with_suffix(".lock")):
            if not out.exists():
                path = source if isinstance(source, Path) else out.with_suffix(".cu")
                if not isinstance(source, Path):
                    path.write_text(source)
                made = out.with_suffix(".part")
                command = [
                    nvcc, "-O3", "-lineinfo", "-ptx", "-std=c++17", f"-arch={arch}",
                    f"-I{KERNELS}", *(f"-D{d}" for d in defines), *flags.split(), str(path),
                    "-o", str(made),
                ]  # fmt: skip
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr
                made.rename(out)
        return out

    return compiled


@pytest.fixture(scope="session")
def compile_ptx(ptx_file: PtxFile) -> CompilePtx:
    """CUDA source (text, or the path of a file) to a parsed module."""
    texts: dict[tuple[object, ...], str] = {}

    def compiled(
        source: str | Path, arch: str = "sm_90", defines: Sequence[str] = (), flags: str = ""
    ) -> Module:
        key = (source, arch, tuple(defines), flags)
        if key not in texts:
            texts[key] = ptx_file(source, arch, defines, flags).read_text()
        return parse(texts[key])

    return compiled
