"""Compiles the machine with g++, once for each of its versions, and loads it.

The flags, the cache and the headers that say what memory accesses cost are the PTX engine's.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.emulator.engine import library as engine
from harness.emulator.errors import LaunchError
from harness.emulator.sass.layout import declare

SOURCES = Path(__file__).parent / "machine"


@dataclass(frozen=True)
class Machine:
    """The loaded library, with the numbers of its definitions."""

    library: ctypes.CDLL
    definitions: dict[str, int]


def load() -> Machine:
    """Raises LaunchError if there is no compiler, or it fails."""
    machine = _loaded()
    if isinstance(machine, str):
        raise LaunchError(machine)
    return machine


@functools.cache
def _loaded() -> Machine | str:
    """The machine, or why there is none; a failure is not tried again."""
    compiler = os.environ.get("CXX") or shutil.which("g++")
    if not compiler:
        return "machine code is executed by a program in C++: install g++, or set CXX"
    try:
        library = ctypes.CDLL(str(_built(compiler)))
    except (OSError, RuntimeError) as error:  # RuntimeError: nobody knows the home folder
        return f"the machine cannot be built: {error}"
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or error.stdout or str(error)).strip().splitlines()
        return f"{compiler} failed: {next((x for x in lines if 'error' in x), str(error))}"
    declare(library)
    return Machine(library, _definitions(library))


def _built(compiler: str) -> Path:
    """The library's file; its name says what it was made from."""
    sources = sorted(SOURCES.glob("*.cpp"))
    headers = [*SOURCES.glob("*.h"), *engine.MACHINE.glob("*.h")]
    about = Path(shutil.which(compiler) or compiler).stat()
    parts = [compiler, f"{about.st_size} {about.st_mtime_ns}", engine._processor(), *engine.FLAGS]
    parts += [path.read_text() for path in (*sources, *sorted(headers))]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]
    path = engine.cache_folder() / f"sass-{digest}.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            made = Path(folder) / path.name
            command = [
                compiler, *engine.FLAGS, "-I", str(engine.MACHINE), *map(str, sources), "-o",
                str(made),
            ]  # fmt: skip
            subprocess.run(command, check=True, capture_output=True, text=True)
            made.replace(path)  # another process may do the same: the last one stays
    return path


def _definitions(library: ctypes.CDLL) -> dict[str, int]:
    library.sass_definition.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
    names: dict[str, int] = {}
    name = ctypes.c_char_p()
    while library.sass_definition(len(names), ctypes.byref(name)):
        names[(name.value or b"").decode()] = len(names)
    return names
