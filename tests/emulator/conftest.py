"""nvcc for the emulator's tests, and both engines of a launch."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path

import kernel_units
import pytest
from emulator_tools import CORRECT, FAULTY, KERNELS, ROOT, CompilePtx, PtxFile, find_nvcc
from filelock import FileLock

from harness.compiler import cache, toolchain
from harness.emulator import Module, launch, parse


@pytest.fixture(autouse=True, params=["auto", "judge"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test twice: with the engine that a launch chooses (`auto`), and with `judge`
    alone."""
    monkeypatch.setitem(launch.__kwdefaults__, "engine", request.param)


@pytest.fixture(scope="session")
def ptx_file(shared_by_all_workers: Path) -> PtxFile:
    """Compile CUDA source (text, or the path of a file) to a PTX file.

    Each source is compiled once, by one of the processes that share the tests, and the result is
    cached for later sessions as the harness caches its own: by content, options and headers.
    A source in a test's own folder has a different path each time, so its result is used only in
    this session. The kernels of a folder are compiled together.
    """
    nvcc, version = find_nvcc(), toolchain.find().version
    kept, passing = ROOT / ".cache" / "tests", shared_by_all_workers / "ptx"
    appended = os.environ.get("NVCC_APPEND_FLAGS", "")

    def compiled(
        source: str | Path, arch: str = "sm_90", defines: Sequence[str] = (), flags: str = ""
    ) -> Path:
        is_plain = not (defines or flags)
        if is_plain and isinstance(source, Path) and source.parent in (CORRECT, FAULTY):
            return of_folder(source.parent, arch) / f"{source.stem}.ptx"
        return entry_of(source, arch, defines, flags) / "kernel.ptx"

    @functools.cache
    def of_folder(folder: Path, arch: str) -> Path:
        return entry_of(kernel_units.text(folder), arch, unit=folder)

    def entry_of(
        source: str | Path, arch: str, defines: Sequence[str] = (), flags: str = "",
        unit: Path | None = None,
    ) -> Path:  # fmt: skip
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
            for name, cut in kernel_units.cut(made.read_text(), unit) if unit else ():
                (work / f"{name}.ptx").write_text(cut)
            return {"headers": [each for each in headers if each != path]}

        key = cache.digest("ptx for tests", nvcc, version, appended, str(path), text, *options)
        with FileLock(folder / f"{key[:32]}.lock"), pytest.MonkeyPatch.context() as patch:
            patch.setattr(cache, "CACHE", folder)
            entry, _, _ = cache.entry_of(key, compile_into)
        return entry

    return compiled


@pytest.fixture(scope="session")
def compile_ptx(ptx_file: PtxFile) -> CompilePtx:
    """Compile CUDA source (text, or the path of a file) to a parsed module."""
    texts: dict[tuple[object, ...], str] = {}

    def compiled(
        source: str | Path, arch: str = "sm_90", defines: Sequence[str] = (), flags: str = ""
    ) -> Module:
        key = (source, arch, tuple(defines), flags)
        if key not in texts:
            texts[key] = ptx_file(source, arch, defines, flags).read_text()
        return parse(texts[key])

    return compiled
