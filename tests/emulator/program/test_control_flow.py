"""Lanes that diverge, wait for each other, exit early, and call functions."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import launch, parse
from harness.emulator.program.block_order import execution_order

SOURCE = r"""
#define ID (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void collatz(const unsigned* in, unsigned* out, unsigned n) {
    unsigned i = ID;
    if (i >= n) return;
    unsigned x = in[i], steps = 0;
    while (x != 1) { x = x & 1 ? 3 * x + 1 : x / 2; steps++; }
    out[i] = steps;
}

extern "C" __global__ void nested(unsigned* out) {
    unsigned i = ID, sum = 0;
    for (unsigned a = 0; a < i % 7; a++) {
        if (a == 5) break;
        for (unsigned b = a; b < i % 5; b++) {
            if ((a + b) % 3 == 1) continue;
            sum += a * 10 + b;
        }
    }
    out[i] = sum;
}

extern "C" __global__ void chosen(const unsigned* in, unsigned* out) {
    unsigned i = ID, x = in[i], y;
    switch (x) {
        case 0: y = i * 3; break;
        case 1: y = i ^ 0x55; break;
        case 2: y = i / 3; break;
        case 3: y = i + 1000; break;
        case 4: y = __popc(i); break;
        case 5: y = i << 3; break;
        default: y = 7;
    }
    out[i] = y;
}

__device__ __noinline__ float polynomial(float x, float y) { return x * y + 2.0f; }
__device__ __noinline__ unsigned gcd(unsigned a, unsigned b) {
    while (b) { unsigned t = a % b; a = b; b = t; }
    return a;
}
extern "C" __global__ void calls(float* out, unsigned* divisors) {
    unsigned i = ID;
    out[i] = polynomial(out[i], 3.0f) + (i % 3 == 0 ? polynomial(1.0f, out[i]) : 0.0f);
    divisors[i] = gcd(i + 12, 36);
}

// Warps leave one after another; the others' barrier must not wait for them.
extern "C" __global__ void early_exit(unsigned* out) {
    __shared__ unsigned s[256];
    unsigned t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    if (t >= 100) return;
    __syncthreads();
    out[blockIdx.x * blockDim.x + t] = s[255 - t];
}

extern "C" __global__ void counted_barriers(unsigned* out) {
    __shared__ unsigned s[128];
    unsigned t = threadIdx.x;
    if (t < 64) {
        s[t] = t + 1;
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[t] = s[63 - t];
    } else {
        s[t] = t * 2;
        asm volatile("bar.sync 2, 64;" ::: "memory");
        out[t] = s[191 - t];
    }
}

extern "C" __global__ void votes(const int* in, int* out) {
    int p = in[threadIdx.x];
    out[3 * threadIdx.x] = __syncthreads_count(p);
    out[3 * threadIdx.x + 1] = __syncthreads_and(p);
    out[3 * threadIdx.x + 2] = __syncthreads_or(p);
}
"""


def _python_collatz(x: int) -> int:
    steps = 0
    while x != 1:
        x = 3 * x + 1 if x & 1 else x // 2
        steps += 1
    return steps


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_lanes_leave_a_loop_each_in_its_own_time(compile_ptx: CompilePtx, arch: str) -> None:
    values = np.arange(1, 1001, dtype=np.uint32)
    out = np.zeros(1000, np.uint32)
    run(compile_ptx(SOURCE, arch), "collatz", 8, 128, [values, out, 1000])
    assert out.tolist() == [_python_collatz(v) for v in values.tolist()]


def test_nested_loops_with_break_and_continue(compile_ptx: CompilePtx) -> None:
    out = np.zeros(300, np.uint32)
    run(compile_ptx(SOURCE), "nested", 3, 100, [out])
    for i, found in enumerate(out.tolist()):
        expected = 0
        for a in range(min(i % 7, 5)):
            expected += sum(a * 10 + b for b in range(a, i % 5) if (a + b) % 3 != 1)
        assert found == expected, i


def test_a_switch_sends_each_lane_its_own_way(compile_ptx: CompilePtx) -> None:
    values = (np.arange(256) * 7 % 9).astype(np.uint32)
    out = np.zeros(256, np.uint32)
    run(compile_ptx(SOURCE), "chosen", 2, 128, [values, out])
    ways = [lambda i: i * 3, lambda i: i ^ 0x55, lambda i: i // 3, lambda i: i + 1000,
            lambda i: bin(i).count("1"), lambda i: i << 3]  # fmt: skip
    expected = [ways[v](i) if v < 6 else 7 for i, v in enumerate(values.tolist())]
    assert out.tolist() == expected


def test_an_indirect_branch_takes_its_target_from_a_table() -> None:
    body = """
    ts: .branchtargets La, Lb, Lc;
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, 4, %a0;
    rem.u32 %r1, %i, 3;
    brx.idx %r1, ts;
    La: mov.u32 %r2, 10; bra.uni Ldone;
    Lb: mov.u32 %r2, 20; bra.uni Ldone;
    Lc: mov.u32 %r2, 30;
    Ldone: st.global.u32 [%a0], %r2;
    """
    out = np.zeros(70, np.uint32)
    run(parse(ptx_kernel(body, ["u64"])), "k", 1, 70, [out])
    assert out.tolist() == [10 * (1 + i % 3) for i in range(70)]


def test_device_functions_are_called(compile_ptx: CompilePtx) -> None:
    x = np.arange(96, dtype=np.float32)
    divisors = np.zeros(96, np.uint32)
    out = x.copy()
    run(compile_ptx(SOURCE), "calls", 3, 32, [out, divisors])
    expected = np.where(np.arange(96) % 3 == 0, x * 3 + 2 + x + 2, x * 3 + 2)
    assert out.tolist() == expected.tolist()
    assert divisors.tolist() == np.gcd(np.arange(96) + 12, 36).tolist()


def test_threads_that_have_exited_do_not_hold_up_a_barrier(compile_ptx: CompilePtx) -> None:
    out = np.zeros((3, 256), np.uint32)
    run(compile_ptx(SOURCE), "early_exit", 3, 256, [out], checks=False)
    assert (out[:, :100] == 255 - np.arange(100)).all()
    assert not out[:, 100:].any()


def test_barriers_with_a_number_and_a_count_let_part_of_a_block_go(compile_ptx: CompilePtx) -> None:
    out = np.zeros(128, np.uint32)
    run(compile_ptx(SOURCE), "counted_barriers", 1, 128, [out])
    assert out[:64].tolist() == list(range(64, 0, -1))
    assert out[64:].tolist() == [2 * t for t in range(127, 63, -1)]


@pytest.mark.parametrize("holds", [[], [5], list(range(96)), list(range(0, 96, 2))])
def test_barriers_reduce_a_predicate(compile_ptx: CompilePtx, holds: list[int]) -> None:
    given = np.zeros(96, np.int32)
    given[holds] = 1
    out = np.zeros((96, 3), np.int32)
    run(compile_ptx(SOURCE), "votes", 1, 96, [given, out])
    assert (out[:, 0] == len(holds)).all()
    assert ((out[:, 1] != 0) == (len(holds) == 96)).all()
    assert ((out[:, 2] != 0) == (len(holds) > 0)).all()


def test_a_guard_on_any_instruction_holds_for_its_lanes_only() -> None:
    body = """
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, 4, %a0;
    setp.lt.u32 %p1, %i, 10;
    mov.u32 %r1, 1;
    @%p1 add.u32 %r1, %r1, 5;
    @!%p1 mul.lo.u32 %r1, %i, 2;
    setp.eq.u32 %p2, %i, 40;
    @%p2 ret;
    @!%p1 st.global.u32 [%a0], %r1;
    @%p1 st.global.u32 [%a0], %r1;
    """
    module = parse(ptx_kernel(body, ["u64"]))
    out = np.full(64, 99, np.uint32)
    report = run(module, "k", 1, 64, [out])
    expected = [6 if i < 10 else 2 * i for i in range(64)]
    expected[40] = 99
    assert out.tolist() == expected
    by_opcode = {(i.opcode, i.ptx_line): i for i in report.instructions}
    add = next(i for (op, _), i in by_opcode.items() if op == "add.u32")
    # Every warp issues it with all of its lanes; the predicate is true in ten lanes.
    assert (add.warps, add.threads, add.threads_predicated_on) == (2, 64, 10)


def test_reconvergence_brings_the_lanes_of_a_warp_back_together() -> None:
    body = """
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, 4, %a0;
    and.b32 %r1, %i, 1;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra Leven;
    mul.lo.u32 %r2, %i, 3;
    bra.uni Ljoin;
    Leven: add.u32 %r2, %i, 7;
    Ljoin: activemask.b32 %r3;
    st.global.u32 [%a0], %r3;
    """
    out = np.zeros(64, np.uint32)
    report = run(parse(ptx_kernel(body, ["u64"])), "k", 1, 64, [out])
    assert (out == 0xFFFFFFFF).all()
    counts = {i.opcode: (i.warps, i.threads) for i in report.instructions}
    assert counts["mul.lo.u32"] == (2, 32)
    assert counts["activemask.b32"] == (2, 64)


def test_a_loop_is_left_together_even_if_its_exit_stands_before_its_body() -> None:
    # 0 → 3 (header); 3 → 1 (exit) or 2 (body); 2 → 3
    assert execution_order([[3], [], [3], [1, 2]]) == [0, 3, 2, 1]


def test_an_inner_loop_stands_inside_its_outer_loop() -> None:
    #      entry 0 → outer 1 → inner 2 ⇄ 3, inner leaves to 4 → outer 1, outer leaves to 5
    assert execution_order([[1], [2, 5], [3, 4], [2], [1], []]) == [0, 1, 2, 3, 4, 5]
    # The same graph, with the exit of both loops written first.
    assert execution_order([[2], [], [3, 1], [4, 5], [3], [2]]) == [0, 2, 3, 4, 5, 1]


def test_an_inner_loop_begins_with_its_header_even_if_its_latch_is_written_first() -> None:
    # Only the head of the outer loop leads into the inner one: 1 → 3 (header), 5 → 2 (latch) → 3.
    order = execution_order([[1], [3], [3], [4, 6], [2, 5], [2], [1, 7], []])
    assert order == [0, 1, 3, 4, 5, 2, 6, 7]


VOTES = """
    ld.param.u64 %a0, [p0];
    mov.u32 %r1, 3;
    mov.u32 %r2, 0;
Louter:
    mov.u32 %r3, %i;
    bra.uni Lheader;
Llatch:
    popc.b32 %r5, %r4;
    add.u32 %r2, %r2, %r5;
    add.u32 %r3, %r3, 32;
Lheader:
    setp.lt.u32 %p1, %r3, 70;
    vote.sync.any.pred %p2, %p1, 0xffffffff;
    @!%p2 bra Lleave;
    and.b32 %r6, %r3, 5;
    setp.eq.u32 %p3, %r6, 0;
    and.pred %p3, %p3, %p1;
    vote.sync.ballot.b32 %r4, %p3, 0xffffffff;
    @!%p3 bra Llatch;
    mad.wide.u32 %a1, %r3, 4, %a0;
    st.global.u32 [%a1], %r2;
    bra.uni Llatch;
Lleave:
    add.u32 %r1, %r1, -1;
    setp.ne.u32 %p4, %r1, 0;
    @%p4 bra Louter;
    mad.wide.u32 %a1, %i, 4, %a0;
    st.global.u32 [%a1+512], %r2;
"""


def test_lanes_vote_together_in_an_inner_loop_whose_latch_is_written_first() -> None:
    out = np.zeros(160, np.uint32)
    assert not run(parse(ptx_kernel(VOTES, ["u64"])), "k", 1, 32, [out]).faults
    chosen = [i for i in range(70) if i & 5 == 0]
    before = [2 * len(chosen) + sum(i // 32 < k // 32 for i in chosen) for k in chosen]
    assert out[chosen].tolist() == before
    assert out[128:].tolist() == [3 * len(chosen)] * 32


def test_results_do_not_depend_on_which_blocks_share_a_chunk(compile_ptx: CompilePtx) -> None:
    values = np.random.default_rng(2).integers(1, 5000, 999, dtype=np.uint32)
    module, seen = compile_ptx(SOURCE), []
    for chunk in (1, 96, 1000, 65536):
        out = np.zeros(999, np.uint32)
        report = launch(module, "collatz", 11, 96, [values, out, 999], chunk_threads=chunk)
        seen.append((out.tolist(), report.counters, report.instructions))
    assert all(s == seen[0] for s in seen)
