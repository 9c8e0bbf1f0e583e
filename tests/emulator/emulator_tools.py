"""Helpers of the emulator's tests: finding nvcc, and writing kernels with a single instruction."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.emulator import LaunchReport, Module, launch, parse
from harness.emulator.sass import MachineReport

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "kernels"
FAULTY, CORRECT = (Path(__file__).parent / name for name in ("faulty", "correct"))

CompilePtx = Callable[..., Module]
PtxFile = Callable[..., Path]


def find_nvcc() -> str:
    """Find nvcc in NVCC, CUDA_HOME, PATH, or the wheels. Fail if it is not found."""
    candidates = [os.environ.get("NVCC", "")]
    if "CUDA_HOME" in os.environ:
        candidates.append(str(Path(os.environ["CUDA_HOME"]) / "bin" / "nvcc"))
    candidates.append(shutil.which("nvcc") or "")
    candidates.append(str(Path(sysconfig.get_path("purelib")) / "nvidia/cu13/bin/nvcc"))
    for candidate in candidates:
        if candidate and shutil.which(candidate):
            return candidate
    pytest.fail(f"no nvcc: none of {[c for c in candidates if c]}; set NVCC, or install the wheels")


def assemble(ptx: Path, cubin: Path, arch: str) -> Path:
    """Assemble PTX to machine code, with line information. Fail with the assembler's message."""
    command = [find_nvcc(), "-lineinfo", "-cubin", f"-arch={arch}", str(ptx), "-o", str(cubin)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return cubin


def counts_what_an_h200_does(report: MachineReport, launch: str) -> None:
    """Assert that 30 of Nsight Compute's readings equal the emulator's counts. A counter that the
    emulator lacks must have been read as 0."""
    path = Path(__file__).parents[2] / "reports" / "h200" / "fidelity" / "warpgroups.csv"
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["launch"] == launch]
    assert len(rows) == 30
    counted = {each.name: each.value for each in report.counters}
    read = {row["counter"]: float(row["reading"]) for row in rows}
    assert {name: counted.get(name, 0) for name in read} == pytest.approx(read, rel=1e-12)


SIZES = {"pred": 1, "b16": 2, "b32": 4, "b64": 8, "f32": 4, "f64": 8}
LETTERS = {"b16": "h", "b32": "r", "b64": "l", "f32": "f", "f64": "d"}


def ptx_kernel(body: str, params: Sequence[str] = (), declarations: str = "") -> str:
    """A module with one kernel `k`. Registers of every type are declared; `%i` holds the thread
    index."""
    parameters = ",\n".join(f".param .{t} p{n}" for n, t in enumerate(params))
    return f"""
.version 8.0
.target sm_90
.address_size 64
{declarations}
.visible .entry k(
{parameters}
)
{{
    .reg .pred %p<20>;
    .reg .b16 %h<20>;
    .reg .b32 %r<20>;
    .reg .b64 %l<20>;
    .reg .f32 %f<20>;
    .reg .f64 %d<20>;
    .reg .b32 %i;
    .reg .b64 %a<20>;
    mov.u32 %i, %tid.x;
{body}
    ret;
}}
"""


def elementwise(
    instruction: str, sources: Sequence[tuple[str, np.ndarray]], result: str, out: np.dtype | type
) -> np.ndarray:
    """Execute one instruction for each element. `$0` is its result, `$1` … are its operands.

    `sources` pairs a register class (b16, b32, b64, f32, f64) with the operands' values; `result`
    is the class of the result, or `pred`, which gives 0 or 1 as u32.
    """
    body, text = [], instruction
    operands = [np.ascontiguousarray(np.atleast_1d(values)) for _, values in sources]
    count = max(len(v) for v in operands)
    operands = [np.ascontiguousarray(np.broadcast_to(v, (count,))) for v in operands]
    for n, (kind, _) in enumerate(sources):
        register = f"%{LETTERS[kind]}{n + 1}"
        body += [
            f"ld.param.u64 %a{n}, [p{n}];",
            f"mad.wide.u32 %a{n}, %i, {SIZES[kind]}, %a{n};",
            f"ld.global.{kind} {register}, [%a{n}];",
        ]
        text = text.replace(f"${n + 1}", register)
    kind = "b32" if result == "pred" else result
    target = "%p0" if result == "pred" else f"%{LETTERS[result]}0"
    at = len(sources)
    body.append(text.replace("$0", target))
    if result == "pred":
        body.append("selp.b32 %r0, 1, 0, %p0;")
        target = "%r0"
    body += [
        f"ld.param.u64 %a{at}, [p{at}];",
        f"mad.wide.u32 %a{at}, %i, {SIZES[kind]}, %a{at};",
        f"st.global.{kind} [%a{at}], {target};",
    ]
    module = parse(ptx_kernel("\n".join(body), ["u64"] * (at + 1)))
    found = np.empty(count, out)
    for first in range(0, count, 1024):
        part = found[first : first + 1024]
        report = launch(
            module, "k", 1, len(part), [*(v[first : first + 1024] for v in operands), part]
        )
        assert not report.faults, str(report.faults[0])
    return found


def run(module: Module, kernel: str, *args: object, **keywords: object) -> LaunchReport:
    """Launch, and assert that there was no fault."""
    report = launch(module, kernel, *args, **keywords)  # type: ignore[arg-type]
    assert not report.faults, str(report.faults[0])
    return report
