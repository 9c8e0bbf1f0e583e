"""Atomics on 128 bits: their results, and their faults."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import UnknownInstruction, launch, parse

SOURCE = r"""
struct __align__(16) Pair { unsigned long long a, b; };
extern "C" __global__ void hand_on(Pair* place, Pair* found) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    found[t] = atomicExch(&place[t % 3], Pair{t, ~0ull - t});
}
extern "C" __global__ void swap(Pair* place, Pair* found) {
    __shared__ Pair best;
    if (threadIdx.x == 0) best = Pair{0, 100};
    __syncthreads();
    unsigned t = threadIdx.x;
    found[t] = atomicCAS(&best, Pair{t / 2, 100}, Pair{t / 2 + 1, 100});
    __syncthreads();
    if (t == 0) *place = best;
}
// A counter and a sum that have to agree, which a loop around a compare-and-swap sees to.
extern "C" __global__ void count_and_sum(Pair* total, const unsigned long long* x) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    Pair seen = atomicExch(&total[1], Pair{0, 0}), was;  // whatever it is
    do {
        was = seen;
        seen = atomicCAS(total, was, Pair{was.a + 1, was.b + x[i]});
    } while (seen.a != was.a || seen.b != was.b);
}
extern "C" __global__ void unset(Pair* found) {
    __shared__ Pair place;
    found[0] = atomicExch(&place, Pair{1, 2});
}
extern "C" __global__ void beside_a_store(Pair* place) {
    if (threadIdx.x == 0) place->b = 5;
    if (threadIdx.x == 32) atomicExch(place, Pair{1, 2});
}
"""


def test_each_lane_finds_what_the_one_before_it_left(compile_ptx: CompilePtx) -> None:
    place = np.array([[7, 8], [9, 10], [11, 12]], np.uint64)
    state, found = place.tolist(), np.zeros((80, 2), np.uint64)
    run(compile_ptx(SOURCE), "hand_on", 2, 40, [place, found])
    for t, (a, b) in enumerate(found.tolist()):
        assert [a, b] == state[t % 3]
        state[t % 3] = [t, 2**64 - 1 - t]
    assert place.tolist() == state


def test_both_halves_are_compared_before_both_are_swapped(compile_ptx: CompilePtx) -> None:
    place, found = np.zeros((1, 2), np.uint64), np.zeros((40, 2), np.uint64)
    run(compile_ptx(SOURCE), "swap", 1, 40, [place, found])
    assert found[:, 0].tolist() == [0, *((t + 1) // 2 for t in range(1, 40))]
    assert place.tolist() == [[20, 100]]


def test_a_loop_around_a_compare_and_swap_gets_every_thread_through(
    compile_ptx: CompilePtx,
) -> None:
    x = np.random.default_rng(1).integers(0, 2**60, 96, dtype=np.uint64)
    total = np.zeros((2, 2), np.uint64)
    run(compile_ptx(SOURCE), "count_and_sum", 3, 32, [total, x])
    assert total[0].tolist() == [96, int(x.sum())]


def test_what_nothing_wrote_may_not_be_exchanged(compile_ptx: CompilePtx) -> None:
    (fault,) = launch(compile_ptx(SOURCE), "unset", 1, 1, [np.zeros(2, np.uint64)]).faults
    assert fault.kind == "uninitialised"
    assert "16 bytes" in fault.message


def test_a_store_to_one_half_beside_it_is_a_race(compile_ptx: CompilePtx) -> None:
    place = np.zeros(2, np.uint64)
    (fault,) = launch(compile_ptx(SOURCE), "beside_a_store", 1, 64, [place]).faults
    assert fault.kind == "race"


@pytest.mark.parametrize(("offset", "kind"), [(8, "misaligned"), (32, "out of bounds")])
def test_it_has_to_be_aligned_and_within_bounds(offset: int, kind: str) -> None:
    body = f"""{{ .reg .b128 %w; ld.param.u64 %a0, [p0]; mov.b128 %w, {{%a0, %a0}};
        atom.global.exch.b128 _, [%a0+{offset}], %w; }}"""
    module = parse(ptx_kernel(body, ["u64"]))
    (fault,) = launch(module, "k", 1, 1, [np.zeros(4, np.uint64)]).faults
    assert fault.kind == kind


def test_its_sectors_are_a_model(compile_ptx: CompilePtx) -> None:
    place, found = np.zeros((3, 2), np.uint64), np.zeros((64, 2), np.uint64)
    report = run(compile_ptx(SOURCE), "hand_on", 1, 64, [place, found])
    (one,) = (i for i in report.instructions if i.opcode == "atom.global.exch.b128")
    assert (one.atomic_lanes, one.atomic_addresses) == (64, 6)
    assert one.global_sectors >= 4  # 48 bytes for each of two warps
    sectors = report.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum")
    assert (sectors.value, sectors.provenance) == (one.global_sectors, "emulator-model")


@pytest.mark.parametrize(
    "text",
    ["atom.add.b128 %w, [%l0], %w;", "red.global.exch.b128 [%l0], %w;",
     "atom.exch.b128 %l1, [%l0], %w;", "atom.exch.b128 %w, [%l0], %l1;",
     "atom.local.exch.b128 %w, [%l0], %w;", "atom.v2.exch.b128 %w, [%l0], %w;",
     "atom.cas.b128 %w, [%l0], %w;"],
)  # fmt: skip
def test_forms_that_there_are_not_are_refused(text: str) -> None:
    with pytest.raises(UnknownInstruction):
        launch(parse(ptx_kernel("{ .reg .b128 %w; " + text + " }")), "k", 1, 1, [])
