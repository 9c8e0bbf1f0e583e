"""If a launch has a loop that waits for an mbarrier, a counter is exact only if the loop does not
add to it."""

from __future__ import annotations

import numpy as np
import pytest
from sass.conftest import ReadSource

from harness.emulator.sass import launch_machine_code

SOURCE = r"""
__device__ __forceinline__ bool is_done(unsigned barrier) {
    unsigned done;
    asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;"
                 " selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(barrier) : "memory");
    return done;
}
__device__ __forceinline__ int loaded(const int* from) {
    int value;
    asm volatile("ld.global.s32 %0, [%1];" : "=r"(value) : "l"(from));
    return value;
}
template <bool LOOKS> __device__ void all_arrive(int* out, const int* in) {
    __shared__ unsigned long long word;
    const unsigned barrier = __cvta_generic_to_shared(&word);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(barrier) : "memory");
    __syncthreads();
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
    int seen = loaded(in + threadIdx.x);
    while (!is_done(barrier)) if (LOOKS) seen += loaded(in + threadIdx.x);
    out[threadIdx.x] = seen;
}
extern "C" __global__ void waits(int* out, const int* in) { all_arrive<false>(out, in); }
extern "C" __global__ void looks(int* out, const int* in) { all_arrive<true>(out, in); }
"""


@pytest.mark.parametrize(
    ("kernel", "loads"), [("waits", "machine-exact"), ("looks", "emulator-model")]
)
def test_loads_are_exact_unless_the_loop_that_waits_has_some(
    kernel: str, loads: str, read_source: ReadSource
) -> None:
    out, given = np.zeros(64, np.int32), np.arange(64, dtype=np.int32)
    report = launch_machine_code(read_source(SOURCE), kernel, 1, 64, [out, given])
    assert report.faults == ()
    assert report.counter("smsp__inst_executed.sum").provenance == "emulator-model"
    name = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
    assert report.counter(name).provenance == loads
