"""The messages of the checks, what the checks tolerate, and how they are turned off."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CORRECT, FAULTY, CompilePtx, ptx_kernel, run
from kernel_files import run_file

from harness.emulator import Fault, LaunchReport, Module, launch, parse


def _race(module: Module, *args: object, **keywords: object) -> Fault:
    (fault,) = launch(module, "k", *args, **keywords).faults  # type: ignore[arg-type]
    assert fault.kind == "race"
    return fault


def test_a_race_names_both_threads_and_both_lines(compile_ptx: CompilePtx) -> None:
    values = np.arange(66, dtype="f4") ** 2
    fault = _race(compile_ptx(FAULTY / "stencil_in_place.cu"), 1, 64, [values])
    assert fault.message.startswith("write after read: 4 bytes at offset ")
    assert "argument 0" in fault.message
    assert "read it in line 5, with no barrier in between" in fault.message
    assert fault.block == (0, 0, 0)


def test_a_race_between_blocks_names_the_other_block(compile_ptx: CompilePtx) -> None:
    module = compile_ptx(FAULTY / "blocks_write_one_word.cu")
    for chunk_threads in (65536, 32):
        args = [np.arange(128, dtype=np.float32), np.zeros(1, np.float32)]
        fault = _race(module, 4, 32, args, chunk_threads=chunk_threads)
        other = {(0, 0, 0): "(3, 0, 0)", (1, 0, 0): "(0, 0, 0)"}[fault.block]
        assert f"block {other}, thread (0, 0, 0) wrote it in line 6" in fault.message


READ_BY_MANY = """
extern "C" __global__ void k(float* x, float* out) {
    if (blockIdx.x == 1 || threadIdx.x == 0)
        out[blockIdx.x * blockDim.x + threadIdx.x] = x[0];
    __syncthreads();
    if (blockIdx.x == 1 && threadIdx.x == 0) x[0] = 7;
}
"""


def test_many_readers_of_one_block_do_not_hide_a_reader_of_another(
    compile_ptx: CompilePtx,
) -> None:
    module = compile_ptx(READ_BY_MANY)
    for chunk_threads in (65536, 32):
        args = [np.ones(1, np.float32), np.zeros(64, np.float32)]
        fault = _race(module, 2, 32, args, chunk_threads=chunk_threads)
        assert fault.line == 6
        assert fault.message.startswith("write after read: 4 bytes at offset 0 of argument 0")
        assert "block (0, 0, 0), thread (0, 0, 0) read it in line 4" in fault.message


def test_checks_can_be_switched_off_but_not_those_of_addresses(compile_ptx: CompilePtx) -> None:
    x = np.arange(66, dtype=np.float32)
    module = compile_ptx(FAULTY / "stencil_in_place.cu")
    assert not launch(module, "k", 1, 64, [x], checks=False).faults
    (fault,) = launch(module, "k", 1, 65, [x], checks=False).faults
    assert fault.kind == "out of bounds"


def _counted(report: LaunchReport) -> list[object]:
    return [*report.counters, *report.instructions]


def test_checks_do_not_change_a_count(compile_ptx: CompilePtx) -> None:
    module = compile_ptx(CORRECT / "histogram_shared_atomics.cu")
    counts = []
    for checks in (True, False):
        values, bins = np.arange(1000, dtype=np.uint32), np.zeros(16, np.uint32)
        counts.append(_counted(run(module, "k", 3, 128, [values, bins, 1000], checks=checks)))
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("first", "second", "raced"),
    [
        ("st.shared.u32 [s], 1", "st.shared.u32 [s], 1", False),
        ("st.shared.u32 [s], 1", "st.shared.u32 [s], 2", True),
        ("st.shared.u32 [s], 1", "ld.shared.u32 %r2, [s]", True),
        ("ld.shared.u32 %r2, [s]", "st.shared.u32 [s], 1", True),
        ("ld.shared.u32 %r2, [s]", "ld.shared.u32 %r2, [s]", False),
        ("red.shared.add.u32 [s], 1", "red.shared.max.u32 [s], 2", False),
        ("red.shared.add.u32 [s], 1", "ld.shared.u32 %r2, [s]", True),
        ("red.shared.add.u32 [s], 1", "ld.volatile.shared.u32 %r2, [s]", False),
        ("st.shared.u32 [s], 1", "red.shared.add.u32 [s], 1", True),
        ("st.volatile.shared.u32 [s], 1", "ld.volatile.shared.u32 %r2, [s]", True),
        ("ld.volatile.shared.u32 %r2, [s]", "st.volatile.shared.u32 [s], 1", True),
        ("st.volatile.shared.u32 [s], 1", "st.volatile.shared.u32 [s], 2", True),
        ("st.volatile.shared.u32 [s], 1", "st.volatile.shared.u32 [s], 1", False),
        ("red.shared.add.u32 [s], 1", "st.volatile.shared.u32 [s], 2", True),
        ("st.volatile.shared.u32 [s], 2", "red.shared.add.u32 [s], 1", True),
        ("st.relaxed.cta.shared.u32 [s], 1", "st.relaxed.cta.shared.u32 [s], 2", False),
        ("st.relaxed.cta.shared.u32 [s], 1", "st.shared.u32 [s], 2", True),
        ("st.relaxed.cta.shared.u32 [s], 1", "ld.shared.u32 %r2, [s]", True),
        ("st.relaxed.cta.shared.u32 [s], 1", "ld.relaxed.cta.shared.u32 %r2, [s]", False),
        ("st.shared.u8 [s], 1", "st.shared.u8 [s+1], 2", False),
        ("st.shared.u16 [s], 1", "st.shared.u8 [s+1], 2", True),
        ("st.shared.v2.u32 [s], {%i, %i}", "st.shared.u32 [s+4], 77", True),
        ("st.shared.v2.u32 [s], {%i, %i}", "st.shared.u32 [s+8], 77", False),
    ],
)
def test_two_warps_that_access_a_word_race_if_one_writes(
    first: str, second: str, raced: bool
) -> None:
    """Thread 0 makes the first access, thread 32 the second, with no barrier between them."""
    body = f"""
    .shared .align 8 .b8 s[16];
    mov.u64 %l0, 0;
    mov.u32 %r2, 0;
    setp.eq.u32 %p0, %i, 5;
    @%p0 st.shared.u64 [s], %l0;
    @%p0 st.shared.u64 [s+8], %l0;
    bar.sync 0;
    setp.eq.u32 %p1, %i, 0;
    setp.eq.u32 %p2, %i, 32;
    @%p1 {first};
    @%p2 {second};
    @%p2 st.global.u32 [%a0], %r2;
    """.replace("[%a0], %r2", "[%a1], %r2")
    body = "ld.param.u64 %a1, [p0];\n" + body
    report = launch(parse(ptx_kernel(body, ["u64"])), "k", 2, 64, [np.zeros(1, np.uint32)])
    kinds = [fault.kind for fault in report.faults]
    assert kinds == (["race"] if raced else [])


@pytest.mark.parametrize("between", ["bar.sync 0", "bar.sync 1, 64", "bar.warp.sync -1"])
def test_what_orders_two_warps_and_what_does_not(between: str) -> None:
    body = f"""
    .shared .align 4 .b8 s[256];
    shl.b32 %r1, %i, 2;
    mov.u32 %r3, s;
    add.u32 %r2, %r3, %r1;
    st.shared.u32 [%r2], %i;
    {between};
    xor.b32 %r4, %r1, 128;
    add.u32 %r4, %r3, %r4;
    ld.shared.u32 %r5, [%r4];
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, 4, %a0;
    st.global.u32 [%a0], %r5;
    """
    out = np.zeros(64, np.uint32)
    report = launch(parse(ptx_kernel(body, ["u64"])), "k", 1, 64, [out])
    assert [f.kind for f in report.faults] == (["race"] if "warp" in between else [])


def test_spinning_on_a_flag_that_is_never_set_names_the_loop(compile_ptx: CompilePtx) -> None:
    module = compile_ptx(FAULTY / "spin_for_ever.cu")
    args = [np.ones(1, np.uint32), np.zeros(32, np.uint32)]
    (fault,) = launch(module, "k", 1, 32, args, max_thread_instructions=10**6).faults
    assert (fault.kind, fault.line) == ("deadlock", 4)


def test_writes_that_change_nothing_are_remarked_on_beside_reads(compile_ptx: CompilePtx) -> None:
    path = CORRECT / "same_value_beside_reads.cu"
    report = run_file(compile_ptx, path).report
    lines = path.read_text().split("\n")
    said = {lines[remark.line - 1].strip(): remark for remark in report.remarks}
    assert set(said) == {"seven[0] = 7;", "nine[own] = 9;"}
    for remark in report.remarks:
        assert remark.count > 0
        assert "changes nothing, and a read of the same word in line" in str(remark)


def test_a_kernel_without_such_writes_has_no_remarks(compile_ptx: CompilePtx) -> None:
    assert run_file(compile_ptx, CORRECT / "tiled_gemm.cu").report.remarks == ()


def test_volatile_accesses_to_a_flag_are_remarked_on_with_both_lines(
    compile_ptx: CompilePtx,
) -> None:
    path = CORRECT / "volatile_flag.cu"
    lines = path.read_text().split("\n")
    report = run_file(compile_ptx, path).report
    (remark,) = report.remarks
    there = [n for n in range(len(lines)) if f"in line {n} meet at a flag" in remark.message]
    said = {lines[n - 1].strip() for n in [remark.line, *there]}
    assert said == {"if (t == 32) flag = 1;", "while (flag == 0) {"}


@pytest.mark.parametrize("name", ["volatile_data", "lock_taken_without_fence"])
def test_a_race_says_what_is_missing(compile_ptx: CompilePtx, name: str) -> None:
    (fault,) = run_file(compile_ptx, FAULTY / f"{name}.cu").report.faults
    hint = {
        "volatile_data": "volatile orders nothing; use cuda::atomic_ref",
        "lock_taken_without_fence": "there is no fence; put __threadfence() behind it",
    }
    assert hint[name] in fault.message
