"""Divergent branches, compared with counts made by hand and with an H200's readings."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import InstructionCount, LaunchReport, parse

TARGETS = "smsp__sass_branch_targets{}.sum"
UNIFORM = "smsp__sass_average_branch_targets_threads_uniform.pct"


def counts(report: LaunchReport) -> tuple[float, float, float]:
    """The numbers of all branches, of divergent ones and of uniform ones."""
    kinds = ("", "_threads_divergent", "_threads_uniform")
    total, divergent, uniform = (report.counter(TARGETS.format(kind)).value for kind in kinds)
    return total, divergent, uniform


def branches(report: LaunchReport) -> list[InstructionCount]:
    return [each for each in report.instructions if each.branches]


def below(limit: int) -> str:
    return f"""
    setp.lt.u32 %p1, %i, {limit};
    @%p1 bra L;
    add.u32 %r1, %r1, 1;
    L: add.u32 %r1, %r1, 1;
    """


@pytest.mark.parametrize(
    ("limit", "diverged"), [(0, 0), (1, 1), (8, 1), (31, 1), (32, 0), (33, 1), (47, 1), (48, 0)]
)
def test_a_warp_diverges_where_its_lanes_go_both_ways(limit: int, diverged: int) -> None:
    """Blocks of 48 threads: a whole warp and half a warp."""
    report = run(parse(ptx_kernel(below(limit))), "k", 5, 48, [])
    assert counts(report) == (5 * 2, 5 * diverged, 5 * (2 - diverged))
    assert report.counter(UNIFORM).value == 100 * (2 - diverged) / 2
    (branch,) = branches(report)
    assert (branch.opcode, branch.branches, branch.diverged_warps) == ("bra", 10, 5 * diverged)


def test_warps_diverge_in_some_blocks_and_not_in_others() -> None:
    """In block b, the first 8·b threads do not branch: 0, 8, 16, 24, and then all 32 lanes of the
    first warp."""
    body = """
    mov.u32 %r2, %ctaid.x;
    shl.b32 %r2, %r2, 3;
    setp.lt.u32 %p1, %i, %r2;
    @!%p1 bra L;
    add.u32 %r1, %r1, 1;
    L: add.u32 %r1, %r1, 1;
    """
    report = run(parse(ptx_kernel(body)), "k", 5, 64, [])
    assert counts(report) == (10, 3, 7)


def test_a_choice_by_block_diverges_no_warp() -> None:
    body = """
    mov.u32 %r2, %ctaid.x;
    setp.lt.u32 %p1, %r2, 3;
    @%p1 bra L;
    add.u32 %r1, %r1, 1;
    L: add.u32 %r1, %r1, 1;
    """
    report = run(parse(ptx_kernel(body)), "k", 7, 96, [])
    assert counts(report) == (21, 0, 21)


def test_lanes_that_are_elsewhere_do_not_make_a_branch_divergent() -> None:
    """All of the 16 lanes that reach the inner branch take the same path."""
    body = """
    setp.lt.u32 %p1, %i, 16;
    @%p1 bra DONE;
    setp.ge.u32 %p2, %i, 16;
    @%p2 bra DONE;
    add.u32 %r1, %r1, 1;
    DONE: add.u32 %r1, %r1, 1;
    """
    report = run(parse(ptx_kernel(body)), "k", 1, 32, [])
    assert [(b.branches, b.diverged_warps) for b in branches(report)] == [(1, 1), (1, 0)]


def test_a_guard_is_no_branch_and_a_jump_is_one_that_never_diverges() -> None:
    body = """
    setp.lt.u32 %p1, %i, 8;
    @%p1 add.u32 %r1, %r1, 1;
    bra L;
    L: @%p1 ret;
    """
    report = run(parse(ptx_kernel(body)), "k", 1, 64, [])
    assert counts(report) == (2, 0, 2)
    assert branches(report) == []


def test_without_a_branch_there_is_no_share_of_uniform_ones() -> None:
    report = run(parse(ptx_kernel("add.u32 %r1, %r1, 1;")), "k", 1, 32, [])
    assert counts(report) == (0, 0, 0)
    with pytest.raises(KeyError):
        report.counter(UNIFORM)


@pytest.mark.parametrize(
    ("modulus", "diverged"), [(1, 0), (2, 4), (3, 4)]
)  # lanes go to 1, 2 or 3 places; two entries of the table are the same place
def test_a_jump_table_diverges_where_lanes_of_a_warp_go_to_different_places(
    modulus: int, diverged: int
) -> None:
    body = f"""
    rem.u32 %r2, %i, {modulus};
    TABLE: .branchtargets A, B, B;
    brx.idx %r2, TABLE;
    A: add.u32 %r1, %r1, 1;
    B: add.u32 %r1, %r1, 2;
    """
    report = run(parse(ptx_kernel(body)), "k", 2, 64, [])
    assert counts(report) == (4, diverged, 4 - diverged)
    assert [(b.opcode, b.diverged_warps) for b in branches(report)] == [("brx.idx", diverged)]


def test_entries_of_a_jump_table_that_lead_to_one_place_do_not_part_a_warp() -> None:
    body = """
    and.b32 %r2, %i, 1;
    add.u32 %r2, %r2, 1;
    TABLE: .branchtargets A, B, B;
    brx.idx %r2, TABLE;
    A: add.u32 %r1, %r1, 1;
    B: add.u32 %r1, %r1, 2;
    """
    report = run(parse(ptx_kernel(body)), "k", 2, 64, [])
    assert counts(report) == (4, 0, 4)


# Read on an H200 with Nsight Compute 2025.3.1, 4 warps and n = 5: a warp has 1 + 5 branches in
# `loop`; twice that in `either`, with the choice and a jump over the other half; and twice that in
# `calls`, with two calls and two returns.
SOURCE = r"""
extern "C" __global__ void loop(const int* a, const int* b, int* o) {
    int t = threadIdx.x, s = 0, n = a[0];
#pragma unroll 1
    for (int k = 0; k < n; k++) s = s * 3 + a[k + t];
    o[t] = s;
}
extern "C" __global__ void either(const int* a, const int* b, int* o) {
    int t = threadIdx.x, s = 0, n = a[0];
    if (b[t] & 1) {
#pragma unroll 1
        for (int k = 0; k < n; k++) s = s * 3 + a[k + t];
        s ^= 77; __threadfence(); o[64] = s;
    } else {
#pragma unroll 1
        for (int k = 0; k < n; k++) s = s * 5 + a[k + t] * 9;
        __threadfence(); o[65] = s;
    }
    o[t] = s;
}
__device__ __noinline__ int callee(int x, const int* a) {
    int s = 0;
#pragma unroll 1
    for (int k = 0; k < x; k++) s = s * 7 + a[k];
    return s;
}
extern "C" __global__ void calls(const int* a, const int* b, int* o) {
    o[threadIdx.x] = callee(a[0], a) + callee(a[1], b);
}
"""


@pytest.mark.parametrize(
    ("kernel", "alike", "total", "divergent"),
    [("loop", True, 24, 0), ("either", False, 56, 4), ("calls", True, 64, 0)],
)  # fmt: skip
def test_branches_are_those_that_hardware_counts(
    compile_ptx: CompilePtx, kernel: str, alike: bool, total: int, divergent: int
) -> None:
    a = np.full(128, 5, np.int32)
    b = np.zeros(128, np.int32) if alike else np.arange(128, dtype=np.int32)
    report = run(compile_ptx(SOURCE), kernel, 2, 64, [a, b, np.zeros(128, np.int32)], checks=False)
    found, parted, uniform = counts(report)
    assert parted == divergent
    assert uniform == found - parted
    assert found == total
