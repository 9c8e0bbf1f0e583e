"""Votes and shuffles whose lanes come in different passes of a loop: each waits for all lanes that
its mask names, in PTX as in machine code."""

from __future__ import annotations

import numpy as np
import pytest
from both_forms import check_results
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

SOURCE = r"""
#define EACH_IN_ITS_PASS(value) \
    unsigned found = 0; \
    _Pragma("unroll 1") for (int pass = 0; pass < 6; pass++) \
        if (threadIdx.x % 3 == pass % 3) found = found * 64 + (value); \
    out[threadIdx.x] = found
extern "C" __global__ void votes(const int* in, unsigned* out) {
    EACH_IN_ITS_PASS(__popc(__ballot_sync(~0u, in[threadIdx.x] > pass / 3)));
}
extern "C" __global__ void shuffles(const int* in, unsigned* out) {
    EACH_IN_ITS_PASS(__shfl_xor_sync(~0u, in[threadIdx.x] + pass / 3, 1));
}
extern "C" __global__ void halves(const int* in, unsigned* out) {
    const unsigned own = threadIdx.x < 16 ? 0xFFFFu : 0xFFFF0000u;
    EACH_IN_ITS_PASS(__popc(__ballot_sync(own, in[threadIdx.x] > pass / 3)));
}
"""
GIVEN = np.arange(32, dtype=np.int32) * 7 % 4
FIRST, SECOND = GIVEN > 0, GIVEN > 1
HALF = np.arange(32) // 16
WANTED = {
    "votes": np.full(32, FIRST.sum() * 64 + SECOND.sum()),
    "shuffles": GIVEN[np.arange(32) ^ 1] * 65 + 1,
    "halves": (FIRST.reshape(2, 16).sum(1) * 64 + SECOND.reshape(2, 16).sum(1))[HALF],
}


@pytest.mark.parametrize("from_code", [False, True], ids=["ptx", "machine code"])
def test_lanes_wait_for_those_that_come_in_another_pass(
    compile_ptx: CompilePtx, read_source: ReadSource, from_code: bool
) -> None:
    form = read_source(SOURCE) if from_code else compile_ptx(SOURCE)
    check_results(form, GIVEN, WANTED)
