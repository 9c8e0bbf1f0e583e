"""Kernels in files whose comments give their launch and their faults.

    // LAUNCH k<<<2, 64>>>(float[128], float[2]=0, null, 100)
    // CHECK (a[1] == was[0].reshape(2, 64).sum(axis=1)).all()
    ...
        s[t] += s[t + 16];  // FAULT: race
        s[t] = x;  // OTHER

An array contains 0, 1, 2, …, or the value after `=`, and so do `texture[4x8]` and `surface[4x8]`,
which have 4 rows of floats. CHECK is an expression of the arrays after (`a`) and before (`was`) the
launch. FAULT marks the lines at which faults of the given kinds may be reported; OTHER marks a line
that the message has to name as well.
"""

from __future__ import annotations

import re
from ast import literal_eval
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from emulator_tools import CompilePtx

from harness.emulator import LaunchReport, Module, Surface, Texture, launch
from harness.emulator.sass import MachineCode, MachineReport, launch_machine_code

TYPES = {
    "float": np.float32, "double": np.float64, "int": np.int32, "unsigned": np.uint32,
    "char": np.int8,
}  # fmt: skip
KINDS = {
    "uninitialised", "race", "divergent barrier", "deadlock", "budget", "out of bounds",
    "misaligned", "warp mask", "mbarrier",
}  # fmt: skip
BUDGET = 2**24


@dataclass(frozen=True)
class Outcome:
    """The outcome of a file's launch: the arguments before and after, and the report."""

    was: list[Any]
    a: list[Any]
    report: LaunchReport


def _argument(text: str) -> Any:
    if plane := re.fullmatch(r"(texture|surface)\[(\d+)x(\d+)\]", text):
        height, width = int(plane[2]), int(plane[3])
        texels = np.arange(height * width, dtype=np.float32).reshape(height, width)
        return Texture(texels) if plane[1] == "texture" else Surface(texels)
    array = re.fullmatch(r"(\w+)\[(\d+)\](?:=(\S+))?", text)
    if array is None:
        return None if text == "null" else literal_eval(text)
    kind, count, fill = array.groups()
    if fill is None:
        return np.arange(int(count)).astype(TYPES[kind])
    return np.full(int(count), literal_eval(fill), TYPES[kind])


@dataclass(frozen=True)
class Asked:
    """The launch that a file's LAUNCH line requests."""

    kernel: str
    grid: Any
    block: Any
    shared: list[int]
    arguments: list[Any]

    def copied(self) -> list[Any]:
        """The arguments, which a launch may change."""
        return [
            each.copy() if isinstance(each, np.ndarray)
            else Surface(each.texels.copy()) if isinstance(each, Surface)
            else each
            for each in self.arguments
        ]  # fmt: skip


def asked(path: Path) -> Asked:
    kernel, shape, arguments = _launch(path).groups()
    grid, block, *shared = literal_eval(f"({shape},)")
    return Asked(kernel, grid, block, shared, [_argument(p.strip()) for p in arguments.split(",")])


def kernel_of(path: Path) -> str:
    """The name of a file's kernel."""
    return str(_launch(path)[1])


def _launch(path: Path) -> re.Match[str]:
    found = re.search(r"// LAUNCH (\w+)<<<(.*)>>>\((.*)\)$", path.read_text(), re.MULTILINE)
    assert found, f"{path} has no LAUNCH line"
    return found


def run_file(
    compile_ptx: CompilePtx, path: Path, arch: str = "sm_90", flags: str = "", **keywords: Any
) -> Outcome:
    """Compile a file and launch it according to its LAUNCH line."""
    how = asked(path)
    a = how.copied()
    keywords.setdefault("max_thread_instructions", BUDGET)
    module = compile_ptx(path, arch, flags=flags) if flags else compile_ptx(path, arch)
    report = launch(module, how.kernel, how.grid, how.block, a, *how.shared, **keywords)
    return Outcome(how.arguments, a, report)


def run_code(
    code: MachineCode, path: Path, ptx: Module | None = None
) -> tuple[list[Any], MachineReport]:
    """Launch a file's machine code according to its LAUNCH line; return the arguments after the
    launch, and the report."""
    how = asked(path)
    a = how.copied()
    report = launch_machine_code(
        code, how.kernel, how.grid, how.block, a, *how.shared, ptx=ptx,
        max_thread_instructions=BUDGET,
    )  # fmt: skip
    return a, report


def check(path: Path, was: list[Any], a: list[Any]) -> bool:
    """Return whether the file's CHECK holds for the arguments before and after the launch."""
    found = re.search(r"// CHECK (.*)$", path.read_text(), re.MULTILINE)
    assert found, f"{path} has no CHECK line"
    names = {"np": np, "a": a, "was": was}
    return bool(eval(found.group(1), names))


def faults(path: Path) -> dict[int, set[str]]:
    """The lines at which a fault may be reported, each with the permitted kinds."""
    out = {}
    for number, line in enumerate(path.read_text().split("\n"), 1):
        mark = re.search(r"// FAULT: (.*)$", line)
        if mark:
            out[number] = {kind for kind in KINDS if kind in mark.group(1)}
            assert out[number], f"{path}:{number} names no kind of fault"
    return out


def others(path: Path) -> list[int]:
    """The lines that the message has to name."""
    lines = path.read_text().split("\n")
    return [number for number, line in enumerate(lines, 1) if line.endswith("// OTHER")]
