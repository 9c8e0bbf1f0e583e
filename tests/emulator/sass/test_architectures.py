"""Machine code of each architecture: the same results as PTX, whatever the code finds where."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import launch
from harness.emulator.sass import launch_machine_code
from harness.emulator.sass.architectures import ARCHITECTURES

SOURCE = """extern "C" __global__
void k(const float* in, float* out, long long stride, int which, float scale) {
    __shared__ float own[48];
    const int i = blockIdx.y * gridDim.x * blockDim.x + blockIdx.x * blockDim.x + threadIdx.x;
    float local[4];
    for (int j = 0; j < 4; j++) local[j] = in[(i + j * stride) % 192];
    own[threadIdx.x] = in[i] * scale;
    __syncthreads();
    const float* from = which ? own : in;
    float sum = from[47 - threadIdx.x] + local[(i + which) & 3];
    if (threadIdx.x % 3) {
        const unsigned int here = __activemask();
        sum += __shfl_sync(here, sum, __ffs(here) - 1) * gridDim.y;
    }
    __syncwarp();
    out[i] = sum;
}"""
"""Constants that the driver sets, local and generic addresses, 64-bit sums, lanes that part, and
warps of half their lanes."""


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("arch", ["sm_75"])
def test_machine_code_of_an_architecture_computes_what_its_ptx_does(
    read_source: ReadSource, compile_ptx: CompilePtx, arch: str, which: int
) -> None:
    given = np.random.default_rng(3).random(192, np.float32)
    ours, theirs = np.zeros_like(given), np.zeros_like(given)
    machine = launch_machine_code(
        read_source(SOURCE, arch), "k", (2, 2), 48, [given, ours, 5, which, 1.5]
    )
    ptx = launch(compile_ptx(SOURCE, arch), "k", (2, 2), 48, [given, theirs, 5, which, 1.5])
    assert not machine.faults, machine.faults
    assert not ptx.faults
    np.testing.assert_array_equal(ours.view(np.uint32), theirs.view(np.uint32))


def test_only_an_architecture_whose_hardware_was_read_is_called_so() -> None:
    assert [each.name for each in ARCHITECTURES.values() if each.was_read] == ["sm_90"]
