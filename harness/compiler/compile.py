"""Compile a .cu file to PTX and cubin, with the assembler's report per kernel; cached by content.

There is only one path: nvcc generates the PTX that the emulator executes, and ptxas assembles the
same PTX into the cubin that the GPU runs. PTX from another compiler enters at the second step.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from harness.cases import Device, Step
from harness.compiler import cache, toolchain
from harness.compiler.clusters import declare, plain_name, symbol_of
from harness.compiler.toolchain import Toolchain
from harness.compiler.units import Unit, explained, unit
from harness.console.suggestions import did_you_mean
from harness.errors import CompileError
from harness.processes import children, host_memory
from harness.silicon.architectures import Limits
from harness.silicon.occupancy import Occupancy, theoretical_occupancy

__all__ = [
    "Built", "Resources", "Unit", "build", "build_all", "kernel_name", "occupancy", "resources",
    "unit",
]  # fmt: skip


COMPILING = 512 << 20
"""Memory, in bytes, to allow for nvcc on one file. The most observed was 360 MB, for a file that
includes all of CUB."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Resources:
    """The resources that ptxas allocates to a kernel; for shared memory, only the static part."""

    registers: int
    shared_bytes: int
    spill_bytes: int
    stack_bytes: int
    sass_sha256: str = ""
    """The hash of the kernel's machine code, without names and line numbers."""
    local_at: str = ""
    """The `file:line` with most of the spills and stack accesses; empty if there are none."""
    loaded_sha256: str = ""
    """The hash of everything that is loaded to run the kernel: machine code, constants and
    variables."""


@dataclass(frozen=True)
class Built:
    """A compiled unit: its files, and each kernel's resources.

    `kernels`: the resources by symbol. `names`: the symbols of kernels for which the matrix gives
    C++ names. `variables`: the symbols of `__device__` variables, whose values persist between
    launches.
    """

    ptx: Path
    cubin: Path
    source_sha256: str
    cubin_sha256: str
    kernels: Mapping[str, Resources]
    was_cached: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    variables: tuple[str, ...] = ()

    def loaded_by(self, device: Device) -> Path:
        """The file that the device loads: machine code, or PTX that its driver compiles."""
        return self.cubin if device.runs_machine_code else self.ptx


def build_all(
    units: Sequence[Unit], done: Callable[[Unit], None] = lambda unit: None
) -> dict[Unit, Built | CompileError]:
    """Compile every distinct unit in parallel; return failures as values."""
    return in_parallel(units, build, done)


def in_parallel(
    units: Sequence[Unit],
    make: Callable[[Unit, Toolchain], Result],
    done: Callable[[Unit], None] = lambda unit: None,
) -> dict[Unit, Result | CompileError]:
    """Build every distinct unit; return each one's result, or the reason for its failure."""
    compiler = toolchain.find()
    results: dict[Unit, Result | CompileError] = {}
    with ThreadPoolExecutor(max_workers=_at_a_time()) as pool:
        pending = {pool.submit(make, one, compiler): one for one in dict.fromkeys(units)}
        try:
            for future in as_completed(pending):
                try:
                    results[pending[future]] = future.result()
                except CompileError as error:
                    results[pending[future]] = error
                done(pending[future])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            children.kill_until(lambda: all(future.done() for future in pending))
            raise
    return results


def _at_a_time() -> int:
    """Return how many compilers to run at once: one per core, as far as memory allows."""
    cores, available = os.cpu_count() or 1, host_memory.available()
    return cores if available is None else max(1, min(cores, available // COMPILING))


_KEPT = "kernels, what is loaded, variables, local memory"


def is_kept(one: Unit) -> bool:
    """Return whether the unit was compiled before with the same sources; headers may have
    changed."""
    return cache.has(one.key(toolchain.find(), _KEPT))


def build(one: Unit, compiler: Toolchain | None = None) -> Built:
    """Compile the unit, or take it from the cache if nothing that it depends on has changed.

    Raises CompileError with nvcc's own message.
    """
    compiler = compiler or toolchain.find()
    key = one.key(compiler, _KEPT)
    try:
        entry, about, was_cached = cache.entry_of(key, lambda work: _compile(one, compiler, work))
    except CompileError as error:
        raise explained(one, error) from None
    kernels = {name: Resources(**found) for name, found in about["kernels"].items()}
    return Built(
        entry / "kernel.ptx", entry / "kernel.cubin", about["source_sha256"],
        about["files"]["kernel.cubin"], kernels, was_cached, about["names"],
        tuple(about["variables"]),
    )  # fmt: skip


def _compile(one: Unit, compiler: Toolchain, work: Path) -> cache.About:
    # Only compiling needs the readers of machine code; without them, workers import faster.
    from harness.compiler import identity, local_memory
    from harness.compiler.variables import device_variables

    ptx, cubin, depends = work / "kernel.ptx", work / "kernel.cubin", work / "depends"
    arch, names = one.arch, {}
    if one.is_ptx:
        ptx.write_bytes(one.source.read_bytes())
        arch = one.assembled_for(ptx.read_text(errors="replace"))
    else:
        names = _to_ptx(one, compiler, ptx, depends)
    if one.clusters:
        ptx.write_text(declare(ptx.read_text(), one.clusters, names, one.source.name))
    said = cache.run(one.source, [compiler.nvcc, f"-arch={arch}", "-lineinfo", *one.flags,
                                  "-Xptxas", "-v", "-cubin", "-o", str(cubin),
                                  str(ptx)])  # fmt: skip
    code, local = identity.machine_code(cubin), local_memory.places(cubin)
    made = resources(said)
    whole = identity.loaded(cubin, made)
    headers = [] if one.is_ptx else cache.dependencies(depends, one.include)
    for path in (depends, work / "unit.cu"):
        path.unlink(missing_ok=True)
    return {
        "source_sha256": cache.sha256(one.source),
        "kernels": {
            name: asdict(
                replace(
                    found,
                    sass_sha256=code.get(name, ""),
                    local_at=local.get(name, ""),
                    loaded_sha256=whole.get(name, ""),
                )
            )
            for name, found in made.items()
        },
        "names": names,
        "variables": device_variables(cubin),
        "headers": headers,
        "folders": cache.looked_in([one.source, *one.sources, *headers], one.include),
    }


def _to_ptx(one: Unit, compiler: Toolchain, ptx: Path, depends: Path) -> dict[str, str]:
    """Write a CUDA source's PTX, and list its headers; return the symbols of its C++ names."""
    # nvcc's own -MD preprocesses everything a second time, which is a fifth of a small unit's time.
    rule = '-MD,-MT,kernel,-MF,"' + str(depends).replace(",", r"\,") + '"'
    cache.run(one.source, [compiler.nvcc, *one.options(), "-ptx", "-Xcompiler", rule,
                           "-o", str(ptx), str(one.file(ptx.parent))])  # fmt: skip
    return one.take_symbols(ptx)


def resources(said: str) -> dict[str, Resources]:
    """Parse each kernel's resources from the output of `ptxas -v`."""
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


def occupancy(found: Resources, step: Step, limits: Limits) -> Occupancy:
    """Compute how many of a launch's blocks fit on a multiprocessor, taking dynamic shared memory
    into account.
    """
    shared = found.shared_bytes + step.shared_bytes
    return theoretical_occupancy(limits, step.threads_per_block, found.registers, shared)


def kernel_name(name: str, built: Built, source: str) -> str:
    """Return the kernel's symbol: the name itself, or its C++ mangling. Raises CompileError."""
    if name in built.names:
        return built.names[name]
    mangled = symbol_of(name, built.kernels)
    if len(mangled) == 1:
        return mangled[0]
    what = f"has {len(mangled)} kernels named" if mangled else "has no kernel"
    found = {each: plain_name(each) for each in mangled or built.kernels}
    plain = list(found.values())
    there = ", ".join(
        each if plain.count(each) == 1 else f"{each} ({symbol})" for symbol, each in found.items()
    )
    near = "" if mangled else did_you_mean(name, plain)
    raise CompileError(
        f"{source} {what} `{name}`; it has {there or 'none'}{near}\n"
        "  write one of these as `kernel:`, or of a template its name with its arguments, such as "
        f"{name}<256>"
    )
