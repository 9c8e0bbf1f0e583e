"""nvcc for the emulator's tests, and both runs of its engine."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from emulator_tools import KERNELS, CompilePtx, find_nvcc

from harness.emulator import Module, launch, parse


@pytest.fixture(autouse=True, params=["auto", "judge"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test once as a launch chooses, and once by the judge alone."""
    monkeypatch.setitem(launch.__kwdefaults__, "engine", request.param)


@pytest.fixture(scope="session")
def compile_ptx(tmp_path_factory: pytest.TempPathFactory) -> CompilePtx:
    """CUDA source (text, or the path of a file) to a parsed module; each compiled once."""
    nvcc = find_nvcc()
    folder = tmp_path_factory.mktemp("ptx")
    texts: dict[tuple[object, ...], str] = {}

    def compiled(
        source: str | Path, arch: str = "sm_90", defines: Sequence[str] = (), flags: str = ""
    ) -> Module:
        key = (source, arch, tuple(defines), flags)
        if key not in texts:
            path = source if isinstance(source, Path) else folder / f"test{len(texts)}.cu"
            if not isinstance(source, Path):
                path.write_text(source)
            out = folder / f"{len(texts)}.ptx"
            command = [
                nvcc, "-O3", "-lineinfo", "-ptx", "-std=c++17", f"-arch={arch}", f"-I{KERNELS}",
                *(f"-D{d}" for d in defines), *flags.split(), str(path), "-o", str(out),
            ]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            texts[key] = out.read_text()
        return parse(texts[key])

    return compiled
