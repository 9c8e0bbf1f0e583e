"""If lanes leave a loop after different numbers of iterations, the loop's counts are marked
`ptx-level`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator_tools import CompilePtx

from harness.emulator import launch

SOURCE = r"""
extern "C" __global__ void sums(const float* a, float* y, unsigned k) {
    float sum = 0.0f;
    for (unsigned j = threadIdx.x; j < k; j += 32) sum += a[j];
    y[threadIdx.x] = sum;
}
extern "C" __global__ void nested(const float* a, float* y, unsigned k) {
    __shared__ float s[64];
    float sum = 0.0f;
    for (unsigned r = 0; r < k; r++) {
        s[threadIdx.x] = a[r];
        __syncthreads();
        #pragma unroll 1
        for (unsigned j = 0; j < threadIdx.x; j++) sum += s[j];
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}
"""
LOADS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
STORES = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
WAVEFRONTS = "memory_l1_wavefronts_shared"


@pytest.mark.parametrize(
    ("kernel", "k", "exact", "of_ptx"),
    [
        ("sums", 96, {LOADS, STORES, WAVEFRONTS}, set()),
        ("sums", 100, {STORES, WAVEFRONTS}, {LOADS}),
        ("nested", 3, {LOADS, STORES}, {WAVEFRONTS}),
    ],
)  # fmt: skip
def test_only_counts_of_loops_that_lanes_leave_apart_are_those_of_ptx(
    compile_ptx: CompilePtx, tmp_path: Path, kernel: str, k: int, exact: set[str], of_ptx: set[str]
) -> None:
    path = tmp_path / "loops.cu"
    path.write_text(SOURCE)
    report = launch(compile_ptx(path), kernel, 1, 32, [np.ones(128, "f4"), np.ones(32, "f4"), k])
    provenance = {counter.name: counter.provenance for counter in report.counters}
    assert {provenance[name] for name in exact} == {"emulator-exact"}
    assert {provenance[name] for name in of_ptx} <= {"ptx-level"}
