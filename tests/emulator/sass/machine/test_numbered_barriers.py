"""Barriers at which warps arrive several times or without waiting, and which of their accesses are
then ordered for other warps, in PTX and in machine code."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import launch
from harness.emulator.sass import launch_machine_code

SOURCE = r"""
#include <cstdint>
#define WAIT(id, n) asm volatile("bar.sync " #id ", " #n ";" ::: "memory")
#define ARRIVE(id, n) asm volatile("bar.arrive " #id ", " #n ";" ::: "memory")
#define TILE __shared__ __align__(128) int tile[128]; \
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32
__device__ unsigned at(void* of) { return (unsigned)__cvta_generic_to_shared(of); }

// The first warp arrives `times`; what it stores after its last arrival is for nobody.
template <int times, bool late> __device__ void several(const int* in, int* out) {
    TILE;
    tile[96 + lane] = 0;
    __syncthreads();
    if (warp == 0) {
        for (int i = 0; i < times; i++) {
            tile[32 * i + lane] = in[lane] + i;
            if (times == 1) ARRIVE(1, 64);
            if (times == 2) ARRIVE(1, 96);
            if (times == 3) ARRIVE(1, 128);
        }
        if (late) tile[96 + lane] = in[lane];
    } else {
        if (times == 1) WAIT(1, 64);
        if (times == 2) WAIT(1, 96);
        if (times == 3) WAIT(1, 128);
        int sum = late ? tile[127 - lane] : 0;
        for (int i = 0; i < times; i++) sum += tile[32 * i + 31 - lane];
        out[lane] = sum;
    }
}
extern "C" __global__ void twice(const int* in, int* out) { several<2, false>(in, out); }
extern "C" __global__ void thrice(const int* in, int* out) { several<3, false>(in, out); }
extern "C" __global__ void stores_late(const int* in, int* out) { several<1, true>(in, out); }
extern "C" __global__ void stores_late_again(const int* in, int* out) { several<2, true>(in, out); }
extern "C" __global__ void reads_without_waiting(const int* in, int* out) {
    TILE;
    tile[threadIdx.x] = 0;
    __syncthreads();
    if (warp == 0) {
        tile[lane] = in[lane];
        WAIT(1, 64);
    } else {
        ARRIVE(1, 64);
        out[lane] = tile[31 - lane];
    }
}

// The second warp waits for what the first does, and meets the third, which then writes.
template <bool bulk> __device__ void passed_on(const int* in, int* out) {
    TILE;
    __shared__ __align__(8) uint64_t barrier;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at(&barrier)), "r"(bulk ? 1 : 32));
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (warp == 0 && bulk && lane == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;"
                     :: "r"(at(&barrier)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], 512, [%2];"
                     :: "r"(at(tile)), "l"(in), "r"(at(&barrier)) : "memory");
    } else if (warp == 0 && !bulk) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
                     :: "r"(at(tile + 4 * lane)), "l"(in + 4 * lane) : "memory");
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];"
                     :: "r"(at(&barrier)) : "memory");
    } else if (warp == 1) {
        for (int done = 0; !done;)
            asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0;"
                         "selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(at(&barrier)) : "memory");
        WAIT(1, 64);
    } else if (warp == 2) {
        WAIT(1, 64);
        out[lane] = tile[4 * lane];
        tile[4 * lane] = 0;
    }
}
extern "C" __global__ void copies_passed_on(const int* in, int* out) { passed_on<false>(in, out); }
extern "C" __global__ void bulk_passed_on(const int* in, int* out) { passed_on<true>(in, out); }
"""
GIVEN = np.arange(128, dtype=np.int32) * 3
BACK = GIVEN[:32][::-1]
RIGHT = {
    "twice": (64, 2 * BACK + 1), "thrice": (64, 3 * BACK + 3),
    "copies_passed_on": (96, GIVEN[::4]), "bulk_passed_on": (96, GIVEN[::4]),
}  # fmt: skip
RACES = ("stores_late", "stores_late_again", "reads_without_waiting")


@pytest.mark.parametrize("from_code", [False, True], ids=["ptx", "machine code"])
def test_a_warp_counts_as_often_as_it_arrives_and_orders_what_it_did_before(
    compile_ptx: CompilePtx, read_source: ReadSource, from_code: bool
) -> None:
    code, module = read_source(SOURCE), compile_ptx(SOURCE)

    def found(kernel: str, block: int) -> tuple[list[str], np.ndarray]:
        out = np.zeros(32, np.int32)
        if from_code:
            faults = launch_machine_code(code, kernel, 1, block, [GIVEN, out], ptx=module).faults
        else:
            faults = launch(module, kernel, 1, block, [GIVEN, out]).faults
        return [fault.kind for fault in faults], out

    for kernel, (block, wanted) in RIGHT.items():
        kinds, out = found(kernel, block)
        assert (kernel, kinds, out.tolist()) == (kernel, [], wanted.tolist())
    for kernel in RACES:
        assert (kernel, found(kernel, 64)[0]) == (kernel, ["race"])
