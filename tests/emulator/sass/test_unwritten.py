"""Uses of uninitialised memory are found in machine code, as far as the code shows them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator_tools import FAULTY, CompilePtx
from kernel_files import faults, run_code
from sass.conftest import ReadSource

from harness.emulator import LaunchError
from harness.emulator.sass import MachineReport, launch_machine_code

KERNEL = """extern "C" __global__ void {name}(float* x, float* y) {{
    const int t = threadIdx.x;
    __shared__ float s[128];
    {body}
}}
"""
THREADS = 64

USED = {
    "a sum is stored": "y[t] = x[t] + 1;",
    "a comparison decides a branch": "if (x[t] > 3) y[t] = 1;",
    "an index": "y[(int)x[t]] = 1;",
    "an atomic adds it": "atomicAdd(y, x[t]);",
    "an atomic adds to it": "atomicAdd(x + t, 1.f);",
    "a moved value is computed with": "float v = x[t]; __syncthreads(); y[t] = v * v;",
    "half of an array in shared memory": "if (t < 32) s[t] = 1; __syncthreads(); y[t] = s[t] + 1;",
    "an atomic in shared memory": "atomicAdd(s, 1.f);",
    "another lane's": "float v = t ? x[t] : 1; y[t] = __shfl_down_sync(~0u, v, 1) + 1;",
    "one of a warp's": "int v = t ? ((int*)x)[t] : 1; y[t] = __reduce_add_sync(~0u, v);",
    "the second word of a vector": "s[2 * t] = 1; float2 v = ((float2*)s)[t]; y[t] = v.x + v.y;",
}
NOT_USED = {
    "it is written first": "x[t] = 2; y[t] = x[t] * 2;",
    "another thread writes it first": "s[t] = 1; __syncthreads(); y[t] = s[63 - t] + 1;",
    "a selection discards it": "float v = x[t]; y[t] = t > 100 ? v * 2 : 3;",
    "a condition that is false anyway": "if (t > 100 && x[t] > 3) y[t] = 1;",
    "it is only read": "volatile float v = x[t]; y[t] = t;",
    "another lane's, discarded": "float v = t % 32 ? x[t] : 1; y[t] = __shfl_sync(~0u, v, 0) + 1;",
    "the first word of a vector": "s[2 * t] = 1; float2 v = ((float2*)s)[t]; y[t] = v.x + 1;",
    "a register that is used again": "float v = x[t]; asm volatile(\"\" :: \"f\"(v)); v = t;"
    "asm volatile(\"\" : \"+f\"(v)); y[t] = v + 1;",
}  # fmt: skip


RACE = "y[t] = s[63 - t] + 1; s[t] = 2;"
KERNELS = {
    body: f"k{number}" for number, body in enumerate([*USED.values(), *NOT_USED.values(), RACE])
}
SOURCE = "".join(KERNEL.format(name=name, body=body) for body, name in KERNELS.items())
"""All kernels in one source, which is compiled and disassembled once."""


def _ran(compile_ptx: CompilePtx, read_source: ReadSource, body: str) -> MachineReport:
    x, y = np.arange(THREADS, dtype=np.float32), np.zeros(THREADS, np.float32)
    return launch_machine_code(
        read_source(SOURCE), KERNELS[body], 1, THREADS, [x, y], ptx=compile_ptx(SOURCE),
        written={0: np.zeros(x.nbytes, np.bool_)},
    )  # fmt: skip


@pytest.mark.parametrize("body", USED.values(), ids=USED)
def test_a_use_is_a_fault(compile_ptx: CompilePtx, read_source: ReadSource, body: str) -> None:
    (fault,) = _ran(compile_ptx, read_source, body).faults
    assert fault.kind == "uninitialised"
    line = SOURCE[: SOURCE.index(f"    {body}\n}}")].count("\n") + 1
    assert f"which nothing has written; it is used in line {line}" in fault.message


@pytest.mark.parametrize("body", NOT_USED.values(), ids=NOT_USED)
def test_what_is_no_use_is_no_fault(
    compile_ptx: CompilePtx, read_source: ReadSource, body: str
) -> None:
    assert _ran(compile_ptx, read_source, body).faults == ()


def test_a_word_that_a_later_warp_writes_without_order_is_a_race(
    compile_ptx: CompilePtx, read_source: ReadSource
) -> None:
    (fault,) = _ran(compile_ptx, read_source, RACE).faults
    assert fault.kind == "race"


@pytest.mark.parametrize(
    "name",
    ["branch_on_unwritten", "padding_read", "stencil_halo_off_by_one", "unwritten_index",
     "vector_with_its_last_element_unset", "window_sum_without_halo"],
)  # fmt: skip
def test_a_planted_use_is_found_at_its_line(
    compile_ptx: CompilePtx, read_source: ReadSource, name: str
) -> None:
    path = FAULTY / f"{name}.cu"
    _, report = run_code(read_source(path), path, compile_ptx(path))
    (fault,) = report.faults
    assert fault.kind in faults(path)[fault.line]
    assert Path(fault.file).name == path.name


COPY = """
extern "C" __global__ void k(const float* x, float* y, int n) {
    if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x];
}
"""


def test_maps_of_written_bytes_are_updated(
    compile_ptx: CompilePtx, read_source: ReadSource
) -> None:
    x, y = np.arange(THREADS, dtype=np.float32), np.zeros(THREADS, np.float32)
    code, ptx = read_source(COPY), compile_ptx(COPY)
    known = np.zeros(y.nbytes, np.bool_)
    launch_machine_code(code, "k", 1, THREADS, [x, y, 10], ptx=ptx, written={1: known})
    assert known.sum() == known[:40].sum() == 40
    launch_machine_code(code, "k", 1, THREADS, [x, y, 10], written={1: known})
    assert known.all(), "nothing is followed without the PTX, so any byte may have been written"


@pytest.mark.parametrize(
    "written", [{2: np.zeros(4, np.bool_)}, {1: np.zeros(4, np.bool_)}, {1: None}]
)
def test_a_map_that_fits_no_array_is_refused(
    read_source: ReadSource, written: dict[int, np.ndarray | None]
) -> None:
    y = np.zeros(THREADS, np.float32)
    with pytest.raises(LaunchError, match="written"):
        launch_machine_code(read_source(COPY), "k", 1, 1, [y, y.copy(), 1], written=written)
