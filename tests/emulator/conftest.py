"""nvcc for the emulator's tests, and both runs of its engine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from emulator_tools import KERNELS, ROOT, CompilePtx, PtxFile, find_nvcc
from filelock import FileLock

from harness.compiler import cache, toolchain
from harness.emulator import Module, launch, parse


@pytest.fixture(autouse=True, params=["auto", "judge"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test once as a launch chooses, and once by the judge alone."""
    monkeypatch.setitem(launch.__kwdefaults__, "engine", request.param)


@pytest.fixture(scope="session")
def ptx_file(shared_by_all_workers: Path) -> PtxFile:
    """CUDA source (text, or the path of a file) to a file with its PTX.

    Each is compiled once, by one of the processes that share the tests between them, and kept for
    the next session as the product keeps what it compiles: by content, options and headers. What
    comes from a test's own folder has another path each time, and is of this session alone.
    """
    nvcc, version = find_nvcc(), toolchain.find().version
    kept, passing = ROOT / ".cache" / "tests", shared_by_all_workers / "ptx"
    appended = os.environ.get("NVCC_APPEND_FLAGS", "")

    def compiled(
        source: str | Path, arch: str = "sm_90", defines: Sequence[str] = (), flags: str = ""
    ) -> Path:
        is_text = not isinstance(source, Path)
        folder = kept if is_text or source.is_relative_to(ROOT) else passing
        folder.mkdir(parents=True, exist_ok=True)
        text = source if is_text else source.read_text()
        path = folder / f"{cache.digest(text)}.cu" if is_text else source
        options = ["-O3", "-lineinfo", "-std=c++17", f"-arch={arch}", f"-I{KERNELS}",
                   *(f"-D{d}" for d in defines), *flags.split()]  # fmt: skip

        def compile_into(work: Path) -> cache.About:
            if is_text:
                path.write_text(text)
            depends, made = work / "depends", work / "kernel.ptx"
            rule = f"-MD,-MT,kernel,-MF,{depends}"
            command = [nvcc, "-ptx", *options, "-Xcompiler", rule, str(path), "-o", str(made)]
            cache.run(path, command)
            headers = cache.dependencies(depends, [ROOT, *path.parents[:1]])
            depends.unlink()
            return {"headers": [each for each in headers if each != path]}

        key = cache.digest("ptx for tests", nvcc, version, appended, str(path), text, *options)
        with FileLock(folder / f"{key[:32]}.lock"), pytest.MonkeyPatch.context() as patch:
            patch.setattr(cache, "CACHE", folder)
            entry, _, _ = cache.entry_of(key, compile_into)
        return entry / "kernel.ptx"

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
