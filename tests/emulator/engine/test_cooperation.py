"""Blocks that wait for the whole grid, and warps that arrive at a barrier without waiting there."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, run

from harness.emulator import LaunchError, LaunchReport, launch

SOURCE = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
// Each pass reads what another block wrote in the pass before.
extern "C" __global__ void passes(int* a, int* b, int count) {
    int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int pass = 0; pass < count; pass++) {
        if (blockIdx.x & 1) {  // odd blocks take longer and have barriers of their own
            __shared__ int s[64];
            s[threadIdx.x] = a[(i + 64) % n];
            __syncthreads();
            b[i] = s[63 - threadIdx.x] + 1;
        } else {
            b[i] = a[(i + 64) % n] + 1;
        }
        cg::this_grid().sync();
        int* t = a; a = b; b = t;
    }
}
// A barrier of the grid written by hand: all blocks arrive before any goes on.
extern "C" __global__ void by_hand(unsigned* arrived, int* a, int* b) {
    a[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned*)arrived < gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
    b[blockIdx.x * blockDim.x + threadIdx.x] =
        a[(blockIdx.x + 1) % gridDim.x * blockDim.x + threadIdx.x];
}
// Two producer warps fill a buffer, two consumer warps drain it.
extern "C" __global__ void pipeline(const int* in, int* out, int rounds) {
    __shared__ int s[64];
    int t = threadIdx.x;
    for (int k = 0; k < rounds; k++) {
        if (t < 64) {
            s[t] = in[k * 64 + t] * 2;
            asm volatile("bar.arrive 1, 128;" ::: "memory");
            asm volatile("bar.sync 2, 128;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            out[k * 64 + t - 64] = s[127 - t];
            asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
    }
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_grid_meets_after_every_pass(compile_ptx: CompilePtx, arch: str) -> None:
    a = np.random.default_rng(1).integers(0, 100, 5 * 64, dtype=np.int32)
    wanted, b = a.copy(), np.zeros_like(a)
    run(compile_ptx(SOURCE, arch), "passes", 5, 64, [a, b, 3], chunk_threads=64)
    for _ in range(3):
        blocks = np.roll(wanted, -64).reshape(5, 64) + 1
        blocks[1::2] = blocks[1::2, ::-1]
        wanted = blocks.reshape(-1)
    assert (b == wanted).all()


def test_a_grid_that_cannot_execute_at_once_is_refused(compile_ptx: CompilePtx) -> None:
    a = np.zeros(4, np.int32)
    with pytest.raises(LaunchError, match="synchronises its whole grid"):
        launch(compile_ptx(SOURCE), "passes", 1 << 20, 1024, [a, a.copy(), 1])


def test_blocks_wait_for_as_many_others_as_a_device_holds(compile_ptx: CompilePtx) -> None:
    """132 SMs hold 264 blocks of 1024 threads; waiting for a 265th block would never end."""

    def meet(blocks: int) -> tuple[LaunchReport, np.ndarray]:
        arrived = np.zeros(1, np.uint32)
        a, b = np.zeros(blocks * 1024, np.int32), np.zeros(blocks * 1024, np.int32)
        return launch(compile_ptx(SOURCE), "by_hand", blocks, 1024, [arrived, a, b]), b

    report, b = meet(264)
    assert not report.faults
    assert b.reshape(264, 1024).T.tolist() == [[*range(1, 264), 0]] * 1024
    report, _ = meet(265)
    assert [fault.kind for fault in report.faults] == ["deadlock"]


def test_producers_arrive_and_consumers_wait(compile_ptx: CompilePtx) -> None:
    given = np.random.default_rng(2).integers(0, 100, (5, 64), dtype=np.int32)
    out = np.zeros_like(given)
    run(compile_ptx(SOURCE), "pipeline", 1, 128, [given, out, 5])
    assert (out == 2 * given[:, ::-1]).all()
