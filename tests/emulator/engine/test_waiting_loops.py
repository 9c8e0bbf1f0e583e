"""Loops that branch on a value that another thread may have changed: some wait for the change, most
do not."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, run

from harness.emulator import LaunchError, LaunchReport, launch

SOURCE = r"""
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
// Counts in a register, though what it branches on is the result of an atomic.
extern "C" __global__ void counts_up(unsigned* own, const unsigned* trips, unsigned* out) {
    unsigned k = 0;
    for (; k < trips[ID]; k++)
        if (atomicExch(&own[ID], k) == 12345) break;
    out[ID] = k;
}
// Counts in memory: no register changes from pass to pass.
extern "C" __global__ void counts_down(unsigned* own, const unsigned* trips, unsigned* out) {
    own[ID] = trips[ID] + 1;
    while (atomicSub(&own[ID], 1u) > 1u) {
    }
    out[ID] = trips[ID];
}
// Blocks are at the loop at different times, as what stands behind it takes them longer or not.
extern "C" __global__ void in_phases(unsigned* own, const unsigned* trips, unsigned* out) {
    unsigned x = 0;
    for (unsigned phase = 0; phase < 6; phase++) {
        for (unsigned k = 0; k < trips[ID] / 4; k++)
            if (atomicExch(&own[ID], k) == 12345) return;
        if ((blockIdx.x + phase) % 3 == 0)
            for (unsigned k = 0; k < 40; k++) x = x * 1664525u + atomicExch(&own[ID], 7);
    }
    out[ID] = trips[ID];
}
extern "C" __global__ void lock_in_block(const unsigned* trips, unsigned* out) {
    __shared__ unsigned lock, total;
    if (threadIdx.x == 0) lock = 0, total = 0;
    __syncthreads();
    while (atomicCAS(&lock, 0u, 1u) != 0u) {
    }
    __threadfence_block();
    unsigned x = total;
    for (unsigned k = 0; k < trips[ID]; k++) x = x * 1664525u + 1013904223u;
    total = x + 1;
    __threadfence_block();
    atomicExch(&lock, 0u);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}
extern "C" __global__ void all_blocks_meet(unsigned* arrived, unsigned* out) {
    extern __shared__ char room[];
    room[threadIdx.x] = threadIdx.x;
    out[blockIdx.x] = 1;
    __threadfence();
    atomicAdd(arrived, 1u);
    while (*(volatile unsigned*)arrived < gridDim.x) {
    }
    __threadfence();
    out[gridDim.x + blockIdx.x] = out[(blockIdx.x + 1) % gridDim.x] + room[0];
}
enum { PLAIN, SLEEPS_LONGER, COUNTS, LOOKS_AT_THE_CLOCK };
template <int how> __device__ void lock_and_add(unsigned* lock, unsigned* total) {
    unsigned ns = 8, tries = 0;
    long long start = clock64();
    while (atomicCAS(lock, 0u, 1u) != 0u) {
        if (how == SLEEPS_LONGER) __nanosleep(ns), ns *= 2;
        if (how == COUNTS && ++tries > 1000000) __trap();
        if (how == LOOKS_AT_THE_CLOCK && clock64() - start > 1ll << 40) __trap();
    }
    __threadfence();
    *total += threadIdx.x;
    __threadfence();
    atomicExch(lock, 0u);
}
#define LOCK(name, how) extern "C" __global__ void name(unsigned* lock, unsigned* total) { \
    lock_and_add<how>(lock, total); }
LOCK(plain, PLAIN)
LOCK(sleeps_longer, SLEEPS_LONGER)
LOCK(counts, COUNTS)
LOCK(looks_at_the_clock, LOOKS_AT_THE_CLOCK)
extern "C" __global__ void gives_up(volatile unsigned* flag, unsigned* out) {
    long long start = clock64();
    while (*flag == 0 && clock64() - start < 10000000) {
    }
    out[threadIdx.x] = 1;
}
extern "C" __global__ void ring(volatile unsigned* flag, unsigned* out) {
    unsigned next = (blockIdx.x + 1) % gridDim.x;
    if (threadIdx.x == 0) {
        while (flag[blockIdx.x] == 0) {
        }
        out[blockIdx.x] = flag[blockIdx.x];
        flag[next] = flag[blockIdx.x] + 1;
    }
}
"""
TRIPS = np.random.default_rng(1).integers(1, 90, 320, dtype=np.uint32)


def _warps(report: LaunchReport, opcode: str) -> int:
    return sum(i.warps for i in report.instructions if i.opcode.startswith(opcode))


@pytest.mark.parametrize(("kernel", "opcode"), [("counts_up", "atom"), ("counts_down", "atom")])
def test_lanes_that_wait_for_nobody_meet_behind_the_loop(
    compile_ptx: CompilePtx, kernel: str, opcode: str
) -> None:
    own, out = np.zeros(320, np.uint32), np.zeros(320, np.uint32)
    report = run(compile_ptx(SOURCE), kernel, 5, 64, [own, TRIPS, out])
    assert out.tolist() == TRIPS.tolist()
    passes = TRIPS.reshape(10, 32).max(axis=1) + (kernel == "counts_down")
    assert _warps(report, opcode) == passes.sum()
    assert report.instructions[-1].warps == 10  # the return


@pytest.mark.parametrize("kernel", ["counts_up", "counts_down", "in_phases", "lock_in_block"])
def test_what_a_block_counts_does_not_depend_on_the_blocks_beside_it(
    compile_ptx: CompilePtx, kernel: str
) -> None:
    seen = []
    for chunk_threads in (1, 128, 192, 65536):
        arrays = [np.zeros(320, np.uint32), TRIPS, np.zeros(320, np.uint32)]
        args = arrays[1:] if kernel == "lock_in_block" else arrays
        report = run(compile_ptx(SOURCE), kernel, 5, 64, args, chunk_threads=chunk_threads)
        seen.append((arrays[2].tolist(), report.counters, report.instructions))
    assert all(s == seen[0] for s in seen)


@pytest.mark.parametrize("kernel", ["plain", "sleeps_longer", "counts", "looks_at_the_clock"])
def test_a_lock_goes_round_whatever_its_loop_does_while_it_waits(
    compile_ptx: CompilePtx, kernel: str
) -> None:
    lock, total = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    report = run(compile_ptx(SOURCE), kernel, 1, 64, [lock, total], max_thread_instructions=2**24)
    assert total[0] == sum(range(64))
    if kernel != "counts":  # in which the engine lets a waiting lane loop for longer, once
        assert report.counter("smsp__inst_executed.sum").value < 6000


def test_blocks_pass_something_round(compile_ptx: CompilePtx) -> None:
    flags, out = np.zeros(9, np.uint32), np.zeros(9, np.uint32)
    flags[4] = 1
    run(compile_ptx(SOURCE), "ring", 9, 32, [flags, out])
    assert out.tolist() == [6, 7, 8, 9, 1, 2, 3, 4, 5]


def test_waiting_for_what_nobody_does_is_told_at_once(compile_ptx: CompilePtx) -> None:
    (fault,) = launch(
        compile_ptx(SOURCE), "ring", 9, 32, [np.zeros(9, np.uint32), np.zeros(9, np.uint32)]
    ).faults
    assert fault.kind == "deadlock"
    assert "for something that no thread does" in fault.message


@pytest.mark.parametrize("chunk_threads", [1, 2, 3, 5])
def test_blocks_that_wait_for_each_other_are_together_whatever_the_chunk(
    compile_ptx: CompilePtx, chunk_threads: int
) -> None:
    flags, out = np.zeros(9, np.uint32), np.zeros(9, np.uint32)
    flags[4] = 1
    report = run(
        compile_ptx(SOURCE), "ring", 9, 1, [flags, out], chunk_threads=chunk_threads, observe=True
    )
    assert out.tolist() == [6, 7, 8, 9, 1, 2, 3, 4, 5]
    seen = next(each for each in report.observed if each.name.startswith("argument 1"))
    assert (seen.written > 0).all()


def test_blocks_whose_memory_keeps_them_apart_are_not_called_a_deadlock(
    compile_ptx: CompilePtx,
) -> None:
    arrived, out = np.zeros(1, np.uint32), np.zeros(264, np.uint32)
    args, room = [arrived, out], 200 << 10
    with pytest.raises(LaunchError, match=r"holds 132 .* allows 45\b.*checks=False"):
        launch(compile_ptx(SOURCE), "all_blocks_meet", 132, 1, args, room)
    assert arrived[0] == 0
    assert not out.any()
    run(compile_ptx(SOURCE), "all_blocks_meet", 132, 1, args, room, checks=False)
    assert (out == 1).all()


def test_a_loop_that_looks_at_the_clock_ends_by_itself(compile_ptx: CompilePtx) -> None:
    out = np.zeros(32, np.uint32)
    run(compile_ptx(SOURCE), "gives_up", 1, 32, [np.zeros(1, np.uint32), out])
    assert (out == 1).all()
