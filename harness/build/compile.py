"""A .cu file → PTX → cubin, with what the assembler says of each kernel; cached by content.

There is one path: nvcc makes the PTX that the emulator executes, and assembles that same PTX into
the cubin that the GPU runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from harness.build import toolchain
from harness.build.toolchain import Toolchain
from harness.cases import Case, Step
from harness.errors import CompileError
from harness.silicon.architectures import architecture
from harness.silicon.occupancy import Occupancy, theoretical_occupancy

CACHE = Path(".cache") / "compile"
FLAGS = ("-std=c++17", "-O3", "-lineinfo")
C_TYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "int32": "int",
}
"""What the macro DTYPE stands for in a kernel."""

_DEADLINE_S = 300


@dataclass(frozen=True)
class Unit:
    """One compilation: several cases of a variant share it."""

    source: Path
    include: tuple[Path, ...]
    defines: tuple[tuple[str, str], ...]
    arch: str


@dataclass(frozen=True)
class Resources:
    """What ptxas allots to one kernel. Bytes of shared memory are the static ones."""

    registers: int
    shared_bytes: int
    spill_bytes: int
    stack_bytes: int
    sass_sha256: str = ""
    """Of the kernel's machine code alone, without names and line numbers."""


@dataclass(frozen=True)
class Built:
    """A compiled unit: its files, and each kernel's resources."""

    ptx: Path
    cubin: Path
    source_sha256: str
    cubin_sha256: str
    kernels: Mapping[str, Resources]
    was_cached: bool = False


def unit(case: Case, kernels: Path, arch: str) -> Unit:
    """What must be compiled for a case; `kernels` is the folder that holds all problems."""
    folder = kernels / case.problem
    defines = {"DTYPE": C_TYPES[case.dtype], **{k: str(v) for k, v in case.defines.items()}}
    return Unit(folder / case.source, (kernels, folder), tuple(sorted(defines.items())), arch)


def build_all(
    units: Sequence[Unit], done: Callable[[Unit], None] = lambda unit: None
) -> dict[Unit, Built | CompileError]:
    """Every distinct unit compiled, in parallel; a failure is a value and costs no other unit."""
    compiler = toolchain.find()
    results: dict[Unit, Built | CompileError] = {}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        pending = {pool.submit(build, one, compiler): one for one in dict.fromkeys(units)}
        try:
            for future in as_completed(pending):
                try:
                    results[pending[future]] = future.result()
                except CompileError as error:
                    results[pending[future]] = error
                done(pending[future])
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return results


def build(one: Unit, compiler: Toolchain | None = None) -> Built:
    """The compiled unit, from the cache where nothing it depends on has changed.

    Raises CompileError with nvcc's own message.
    """
    compiler = compiler or toolchain.find()
    try:
        source = one.source.read_bytes()
    except OSError as error:
        raise CompileError(f"{one.source}: {error.strerror}") from None
    key = _digest(str(one.source.resolve()), source.hex(), str(one.defines), one.arch,
                  str(FLAGS), compiler.version)  # fmt: skip
    entry = CACHE / key[:32]
    cached = _cached(entry)
    if cached is not None:
        return cached
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        work = Path(scratch) / "entry"
        work.mkdir()
        _compile(one, compiler, work)
        # Two processes may build the same unit: the first to finish wins, both are equal.
        shutil.rmtree(entry, ignore_errors=True)
        try:
            work.rename(entry)
        except OSError:
            if not entry.exists():
                raise
    built = _cached(entry)
    if built is None:
        raise CompileError(f"{one.source}: {entry} cannot be read back; delete it and run again")
    return Built(**{**vars(built), "was_cached": False})


def _compile(one: Unit, compiler: Toolchain, work: Path) -> None:
    ptx, cubin, depends = work / "kernel.ptx", work / "kernel.cubin", work / "depends"
    options = [*FLAGS, f"-arch={one.arch}"]
    options += [f"-I{folder}" for folder in one.include]
    options += [f"-D{name}={value}" for name, value in one.defines]
    _run(one, [compiler.nvcc, *options, "-ptx", "-MD", "-MF", str(depends),
               "-o", str(ptx), str(one.source)])  # fmt: skip
    said = _run(one, [compiler.nvcc, f"-arch={one.arch}", "-lineinfo", "-Xptxas", "-v",
                      "-cubin", "-o", str(cubin), str(ptx)])  # fmt: skip
    listed = depends.read_text().partition(" : ")[2].replace("\\\n", " ").strip()
    headers = [
        Path(name)
        for name in re.sub(r"(?<!\\)\s+", "\n", listed).replace("\\ ", " ").split("\n")
        # The toolkit's own headers change with its version, which is in the key.
        if any(Path(name).resolve().is_relative_to(f.resolve()) for f in one.include)
    ]
    code = machine_code(cubin)
    about = {
        "source_sha256": _sha256(one.source),
        "cubin_sha256": _sha256(cubin),
        "ptx_sha256": _sha256(ptx),
        "kernels": {
            name: asdict(replace(found, sass_sha256=code.get(name, "")))
            for name, found in resources(said).items()
        },
        "headers": {str(path.resolve()): _sha256(path) for path in headers},
    }
    (work / "about.json").write_text(json.dumps(about, indent=1))


def _cached(entry: Path) -> Built | None:
    """What the entry holds, unless a header has changed since."""
    try:
        about = json.loads((entry / "about.json").read_text())
        current = all(_sha256(Path(path)) == was for path, was in about["headers"].items())
        for kind in ("cubin", "ptx"):
            current &= _sha256(entry / f"kernel.{kind}") == about[f"{kind}_sha256"]
        if not current:
            return None
        kernels = {name: Resources(**found) for name, found in about["kernels"].items()}
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Built(entry / "kernel.ptx", entry / "kernel.cubin", about["source_sha256"],
                 about["cubin_sha256"], kernels, was_cached=True)  # fmt: skip


def _run(one: Unit, command: Sequence[str]) -> str:
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_DEADLINE_S
        )
    except subprocess.TimeoutExpired:
        raise CompileError(f"{one.source}: nvcc did not end within {_DEADLINE_S} s") from None
    except OSError as error:
        raise CompileError(f"{command[0]} does not run: {error}") from None
    if ended.returncode:
        said = (ended.stderr + ended.stdout).strip() or f"exit code {ended.returncode}"
        raise CompileError(f"nvcc rejects {one.source}:\n{said}")
    return ended.stderr + ended.stdout


def resources(said: str) -> dict[str, Resources]:
    """Each kernel's resources, from what `ptxas -v` prints."""
    found: dict[str, Resources] = {}
    for part in said.split("Compiling entry function '")[1:]:
        name = part.partition("'")[0]

        def number(pattern: str, text: str = part) -> int:
            match = re.search(pattern, text)
            return int(match[1]) if match else 0

        found[name] = Resources(
            registers=number(r"Used (\d+) registers"),
            shared_bytes=number(r"(\d+) bytes smem"),
            spill_bytes=number(r"(\d+) bytes spill stores"),
            stack_bytes=number(r"(\d+) bytes stack frame"),
        )
    return found


def occupancy(found: Resources, step: Step, arch: str) -> Occupancy:
    """How many blocks of a launch a multiprocessor holds, static and dynamic memory together."""
    shared = found.shared_bytes + step.shared_bytes
    return theoretical_occupancy(
        architecture(arch), step.threads_per_block, found.registers, shared
    )


def machine_code(cubin: Path) -> dict[str, str]:
    """Kernel → SHA-256 of its SASS: two kernels of the same hash are the same to the GPU.

    Empty where the file is not in the format that cubins have had so far.
    """
    try:
        with cubin.open("rb") as file:
            return {
                section.name.removeprefix(".text."): hashlib.sha256(section.data()).hexdigest()
                for section in ELFFile(file).iter_sections()
                if section.name.startswith(".text.")
            }
    except ELFError:
        return {}


def kernel_name(name: str, built: Built, source: str) -> str:
    """The kernel's symbol: the name itself, or its C++ mangling. Raises CompileError."""
    if name in built.kernels:
        return name
    # _Z, the length, the name; a template's arguments follow after an I (Itanium C++ ABI).
    mangled = [symbol for symbol in built.kernels if symbol.startswith(f"_Z{len(name)}{name}")]
    if len(mangled) == 1:
        return mangled[0]
    what = f"has {len(mangled)} kernels named" if mangled else "has no kernel"
    there = ", ".join(mangled or built.kernels) or "none"
    raise CompileError(
        f"{source} {what} `{name}`; it has {there}\n"
        '  write one of these as `kernel:`, or declare it extern "C" __global__'
    )


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
