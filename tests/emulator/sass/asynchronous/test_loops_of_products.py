"""A loop of `wgmma` that may have no iterations: ptxas ends the group with an empty product,
`HGMMA.64x8x16.F16 RZ, gdesc[URZ], RZ, !UPT, gsb0`, on the path around the loop."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import launch
from harness.emulator.sass import launch_machine_code

SOURCE = """
typedef unsigned int word;
extern "C" __global__ void __launch_bounds__(128) k(const word* in, word* out, int times) {
    __shared__ __align__(1024) word tile[1024];
    for (int i = threadIdx.x; i < 1024; i += 128) tile[i] = in[i];
    asm volatile("fence.proxy.async;");
    __syncthreads();
    const unsigned long long at = __cvta_generic_to_shared(tile) >> 4 & 0x3FFF;
    const unsigned long long factor = at | 128ull >> 4 << 16 | 256ull >> 4 << 32;
    word s[4] = {};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll 1
    for (int i = 0; i < times; ++i)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0, %1, %2, %3}, %4, %5, 1;"
                     : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
                     : "l"(factor), "l"(factor + (2048 >> 4)) : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = s[i];
}
"""


@pytest.mark.parametrize("times", [0, 1, 3])
def test_a_group_without_products_ends(
    compile_ptx: CompilePtx, read_source: ReadSource, times: int
) -> None:
    module, code = compile_ptx(SOURCE, "sm_90a"), read_source(SOURCE, "sm_90a")
    bytes_ = np.random.default_rng(5).integers(-3, 4, 4096, np.int8)
    words = bytes_.view(np.uint32)
    theirs, ours = np.ones((2, 512), np.int32)
    ptx = launch(module, "k", 1, 128, [words, theirs, times])
    report = launch_machine_code(code, "k", 1, 128, [words, ours, times], ptx=module)
    assert not ptx.faults, ptx.faults[0]
    assert not report.faults, report.faults[0]
    executed = {each.opcode: each for each in report.instructions}
    assert executed["HGMMA.64x8x16.F16"].shared_wavefronts == 18
    assert {each.provenance for each in report.counters} == {"machine-exact"}
    factors = [_factor(bytes_[first:][: rows * 32]) for first, rows in ((0, 64), (2048, 8))]
    wanted = times * (factors[0] @ factors[1].T)
    placed = wanted.reshape(4, 2, 8, 4, 2).transpose(0, 2, 3, 1, 4).ravel()
    np.testing.assert_array_equal(theirs, placed)
    np.testing.assert_array_equal(ours, placed)


def _factor(bytes_: np.ndarray) -> np.ndarray:
    """The rows of a factor that consists of cores of eight rows and 16 bytes, two per row."""
    return bytes_.reshape(-1, 2, 8, 16).transpose(0, 2, 1, 3).reshape(-1, 32).astype(np.int32)
