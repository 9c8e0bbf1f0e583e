"""Sectors of asynchronous copies: as an H200 counted them for tiles whose rows are padded."""

from __future__ import annotations

import numpy as np
import pytest
from sass.conftest import ReadSource

from harness.emulator.sass import launch_machine_code

COPIES = """extern "C" __global__ void k(const float* in, float* out) {
    __shared__ __align__(128) float tile[ROWS * STRIDE];
    const unsigned int row = threadIdx.x * 4 / LENGTH, column = threadIdx.x * 4 % LENGTH;
    const unsigned int to = __cvta_generic_to_shared(&tile[row * STRIDE + column]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::
                 "r"(to), "l"(in + row * 1024 + column));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    out[threadIdx.x] = tile[row * STRIDE + column];
}"""


@pytest.mark.parametrize(
    ("length", "stride", "sectors"),
    [
        (16, 16, 16),  # rows of 64 bytes, one behind the other
        (16, 20, 20),  # every second row begins in the middle of a sector of shared memory
        (32, 36, 18),  # the same of rows of 128 bytes
        (128, 136, 16),  # one row per warp
    ],
)
def test_a_sector_that_lands_in_two_is_fetched_for_both(
    read_source: ReadSource, length: int, stride: int, sectors: int
) -> None:
    text = COPIES.replace("LENGTH", str(length)).replace("STRIDE", str(stride))
    code = read_source(text.replace("ROWS", str(128 // length)))
    given = np.arange(8 * 1024, dtype=np.float32)
    out = np.zeros(32, np.float32)
    report = launch_machine_code(code, "k", 1, 32, [given, out])
    assert report.faults == ()
    lanes = 4 * np.arange(32)
    assert np.array_equal(out, given[lanes // length * 1024 + lanes % length])
    copy = next(each for each in report.instructions if each.opcode.startswith("LDGSTS"))
    assert (copy.global_requests, copy.global_sectors) == (1, sectors)
