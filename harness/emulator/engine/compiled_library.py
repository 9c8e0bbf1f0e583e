"""Compile C++ with g++, once for each version of its sources and each kind of processor."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from filelock import FileLock

from harness.emulator.engine.c_header import CHeader, cache_folder
from harness.files import scratch

FLAGS = (
    "-std=c++17", "-O3", "-march=native", "-fPIC", "-pthread", "-fno-strict-aliasing",
    "-fwrapv",  # addresses and integers wrap around
    # Every operation is rounded separately; errno and floating-point traps are unused.
    "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
)  # fmt: skip

_TOGETHER = {"judge", "races"}
"""Folders whose sources are compiled in one compiler call. All sources of a folder instantiate the
same templates, which takes longer than compiling the rest of a source."""

COMPILING_S = 600.0
"""Deadline for compiling on busy cores, which is not counted against other deadlines."""


def compiled(name: str, header: CHeader, *folders: Path) -> Any | str:
    """Load the first folder's sources as a library, or return the reason why it is unavailable.

    `header`: declares the library's functions. `folders`: folders of headers; sources include a
    header by its path relative to its folder.
    """
    compiler = _compiler()
    if not compiler:
        return "no g++"
    try:
        return header.ffi.dlopen(str(_built(compiler, name, folders)))
    except (OSError, RuntimeError) as error:  # RuntimeError: home folder unknown
        return f"cannot build it: {error}"
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or error.stdout or str(error)).strip().splitlines()
        return f"{compiler} failed: {next((x for x in lines if 'error' in x), str(error))}"


def is_to_build(name: str, *folders: Path) -> bool:
    """Return whether `compiled` would have to compile first, and can do so."""
    compiler = _compiler()
    try:
        return bool(compiler) and not _file(compiler, name, folders).exists()
    except (OSError, RuntimeError):
        return False


def _compiler() -> str:
    return os.environ.get("CXX") or shutil.which("g++") or ""


def _built(compiler: str, name: str, folders: Sequence[Path]) -> Path:
    path = _file(compiler, name, folders)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):  # a second process waits for the first
            if not path.exists():
                _build(compiler, path, folders)
    return path


def _units(folder: Path) -> list[list[Path]]:
    """The sources for each compiler call, with the longest lists first."""
    units: dict[str, list[Path]] = {}
    for source in sorted(folder.rglob("*.cpp")):
        shared = _TOGETHER.intersection(source.relative_to(folder).parts)
        units.setdefault(min(shared, default=str(source)), []).append(source)
    return sorted(units.values(), key=len, reverse=True)


def _file(compiler: str, name: str, folders: Sequence[Path]) -> Path:
    """The library's file; its name identifies its sources."""
    sources = sorted(folders[0].rglob("*.cpp"))
    headers = sorted(header for folder in folders for header in folder.rglob("*.h"))
    about = Path(shutil.which(compiler) or compiler).stat()
    parts = [compiler, f"{about.st_size} {about.st_mtime_ns}", _processor(), *_flags()]
    parts += [path.read_text() for path in (*sources, *headers)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]
    return cache_folder() / f"{name}-{digest}.so"


def _build(compiler: str, path: Path, folders: Sequence[Path]) -> None:
    with scratch.folder(path.parent) as folder:
        made = folder / path.name
        including = [word for each in folders for word in ("-I", str(each))]
        steps, objects = [], []
        for number, unit in enumerate(_units(folders[0])):
            whole = folder / f"{number}.cpp"
            whole.write_text("".join(f'#include "{source}"\n' for source in unit))
            objects.append(whole.with_suffix(".o"))
            steps.append([*_flags(), *including, "-c", str(whole), "-o", str(objects[-1])])
        with ThreadPoolExecutor(os.cpu_count()) as several:
            list(several.map(lambda step: _run(compiler, *step), steps))
        _run(compiler, *_flags(), "-shared", *map(str, objects), "-o", str(made))
        made.replace(path)


def _flags() -> tuple[str, ...]:
    """The compiler flags: the harness's own, followed by those in CXXFLAGS, such as sanitizers."""
    return (*FLAGS, *shlex.split(os.environ.get("CXXFLAGS", "")))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def _processor() -> str:
    """The processor's features, on which `-march=native` depends."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    told = ("vendor_id", "cpu family", "model", "flags", "CPU part", "Features")  # x86 and ARM
    lines = dict.fromkeys(line for line in text.splitlines() if line.startswith(told))
    return "\n".join((platform.machine(), *lines))


def names_of(header: CHeader, lookup: Callable[[int, Any], int]) -> dict[str, int]:
    """Map names to indices. `lookup`: a library function that stores the name with a given index,
    and returns 0 after the last name."""
    names: dict[str, int] = {}
    name = header.ffi.new("const char **")
    while lookup(len(names), name):
        names[header.ffi.string(name[0]).decode()] = len(names)
    return names
