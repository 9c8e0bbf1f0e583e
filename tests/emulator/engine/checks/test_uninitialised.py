"""Uninitialised values: copying them is not a fault, but using them is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator_tools import CORRECT, FAULTY, CompilePtx, ptx_kernel
from kernel_files import check, faults, others, run_file

from harness.emulator import launch, parse

UNOPTIMISED = "-Xcicc -O0"


def _faults(does: str) -> list[str]:
    """The faults of a kernel that has loaded an uninitialised word into %r2, and %i + 1 into
    %r3."""
    body = f"""
    .shared .align 16 .b8 s[1024];
    .local .align 16 .b8 own[16];
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, 4, %a0;
    mov.u32 %r10, s;
    mad.lo.u32 %r1, %i, 16, %r10;
    add.u32 %r3, %i, 1;
    ld.shared.u32 %r2, [%r1];
    {does}
    """
    report = launch(parse(ptx_kernel(body, ["u64"])), "k", 2, 48, [np.zeros(48, np.uint32)])
    return [fault.kind for fault in report.faults]


STORED = "st.global.u32 [%a0], %r4;"


@pytest.mark.parametrize(
    "does",
    [
        "",
        "mov.u32 %r4, %r2;",
        "add.u32 %r4, %r2, 5; st.shared.u32 [%r1+4], %r4;",
        f"st.shared.u32 [%r1], %r3; ld.shared.u32 %r4, [%r1]; {STORED}",
        f"st.local.u32 [own], %r2; st.local.u32 [own], %r3; ld.local.u32 %r4, [own]; {STORED}",
        f"setp.lt.u32 %p1, %r2, 7; setp.eq.u32 %p2, %r3, 99; and.pred %p3, %p1, %p2; "
        f"selp.u32 %r4, %r2, %r3, %p3; {STORED}",
        f"setp.lt.u32 %p1, %r2, 7; setp.ne.u32 %p2, %r3, 99; or.pred %p3, %p1, %p2; "
        f"selp.u32 %r4, %r3, %r2, %p3; {STORED}",
        f"setp.ne.u32 %p2, %r3, 99; setp.lt.or.u32 %p3, %r2, 7, %p2; "
        f"selp.u32 %r4, %r3, %r2, %p3; {STORED}",
        f"and.b32 %r4, %r2, 0; {STORED}",
        f"mov.u32 %r4, %r2; mov.u32 %r4, %r3; {STORED}",
        f"setp.eq.u32 %p1, %r3, 99; @%p1 mov.u32 %r3, %r2; mov.u32 %r4, %r3; {STORED}",
        f"shfl.sync.idx.b32 %r4, %r2, 3, 31, -1; shfl.sync.idx.b32 %r4, %r3, 3, 31, -1; {STORED}",
    ],
)
def test_what_is_not_used_is_no_fault(does: str) -> None:
    assert _faults(does) == []


@pytest.mark.parametrize(
    "does",
    [
        "st.global.u32 [%a0], %r2;",
        f"add.u32 %r4, %r2, %r3; {STORED}",
        f"setp.lt.u32 %p1, %r2, 7; setp.ne.u32 %p2, %r3, 99; and.pred %p3, %p1, %p2; "
        f"selp.u32 %r4, 1, 2, %p3; {STORED}",
        f"selp.u32 %r4, %r2, %r3, %p9; selp.u32 %r5, %r3, %r4, %p9; mov.u32 %r4, %r5; "
        f"selp.u32 %r4, %r3, %r2, %p9; {STORED}",
        "setp.lt.u32 %p1, %r2, 7; @%p1 bra L; mov.u32 %r3, 1; L: st.global.u32 [%a0], %r3;",
        f"and.b32 %r4, %r2, 4; add.u32 %r4, %r4, %r10; ld.shared.u32 %r4, [%r4]; {STORED}",
        "and.b32 %r4, %r2, 4; cvt.u64.u32 %l1, %r4; mov.u64 %l2, own; add.u64 %l1, %l1, %l2; "
        "st.local.u32 [%l1], %r3;",
        "atom.shared.add.u32 %r4, [%r1+8], 1;",
        "red.global.add.u32 [%a0], %r2;",
        f"st.shared.u32 [%r1+8], %r2; ld.shared.u32 %r4, [%r1+8]; {STORED}",
        f"st.local.u32 [own+4], %r2; bar.sync 0; ld.local.u32 %r4, [own+4]; {STORED}",
        "cvta.local.u64 %l1, 0; mov.u64 %l2, own; add.u64 %l1, %l1, %l2; "
        f"st.u32 [%l1+8], %r2; ld.u32 %r4, [%l1+8]; {STORED}",
        f"shfl.sync.idx.b32 %r4, %r2, 3, 31, -1; {STORED}",
        "vote.sync.ballot.b32 %r4, %p1, -1; setp.ne.u32 %p1, %r2, 0; "
        "vote.sync.ballot.b32 %r4, %p1, -1;",
        "setp.ne.u32 %p1, %r2, 0; bar.red.popc.u32 %r4, 0, %p1;",
    ],
)
def test_what_is_used_is_a_fault(does: str) -> None:
    assert _faults(does) == ["uninitialised"]


def test_a_fault_names_the_read_and_the_line_of_the_use(compile_ptx: CompilePtx) -> None:
    path = FAULTY / "unwritten_copied_along.cu"
    (fault,) = run_file(compile_ptx, path).report.faults
    assert fault.line in faults(path)
    assert (fault.block, fault.thread) == ((0, 0, 0), (63, 0, 0))
    assert (
        "read of 4 bytes at offset 256 of `s` in shared memory, which nothing has" in fault.message
    )
    assert fault.message.endswith("it is used in line 10")


@pytest.mark.parametrize(
    "name",
    [
        "structs_with_padding", "bit_fields_set_in_part", "grid_sync", "merge_looks_past_its_end",
        "lock_in_every_round",
    ],
)  # fmt: skip
def test_a_correct_kernel_is_not_accused_when_it_is_not_optimised(
    compile_ptx: CompilePtx, name: str
) -> None:
    path = CORRECT / f"{name}.cu"
    outcome = run_file(compile_ptx, path, flags=UNOPTIMISED)
    assert not outcome.report.faults, str(outcome.report.faults[0])
    assert check(path, outcome.was, outcome.a)


@pytest.mark.parametrize(
    "name", ["atomics_before_clear", "mask_without_itself", "padding_read", "local_array_unwritten"]
)
def test_a_planted_fault_has_its_line_when_it_is_not_optimised(
    compile_ptx: CompilePtx, name: str
) -> None:
    """Unoptimised code calls functions of CUDA's headers, some of which have no lines of their
    own."""
    path = FAULTY / f"{name}.cu"
    (fault,) = run_file(compile_ptx, path, flags=UNOPTIMISED).report.faults
    assert Path(fault.file).name == path.name
    assert fault.kind in faults(path).get(fault.line, ()), str(fault)
    for line in others(path):
        assert f"line {line}" in fault.message, str(fault)


@pytest.mark.parametrize(
    ("stored", "kinds"), [("st.global.u32 [%a0], %r3;", ["warp mask"]), ("", [])]
)
def test_what_a_shuffle_takes_from_a_lane_that_is_not_there_must_not_be_used(
    stored: str, kinds: list[str]
) -> None:
    body = f"""
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, 4, %a0;
    shfl.sync.down.b32 %r3, %i, 1, 31, -1;
    {stored}
    """
    report = launch(parse(ptx_kernel(body, ["u64"])), "k", 1, 40, [np.zeros(40, np.uint32)])
    assert [fault.kind for fault in report.faults] == kinds
    for fault in report.faults:
        assert "shuffle from lane 8, which does not take part" in fault.message
        assert fault.thread == (39, 0, 0)


NEVER_SET = """
extern "C" __global__ void k(int* out, int n) {
    int x;
    if (n > (int)threadIdx.x) x = 3;
    out[threadIdx.x] = x;          // LINE stored
}
"""


@pytest.mark.parametrize(("n", "accused"), [(64, 0), (40, 1)])
def test_a_register_that_nothing_wrote_is_told_where_it_is_used(
    compile_ptx: CompilePtx, n: int, accused: int
) -> None:
    module = compile_ptx(NEVER_SET, flags="-G")
    faults = launch(module, "k", 1, 64, [np.zeros(64, np.int32), n]).faults
    assert len(faults) == accused
    for fault in faults:
        assert fault.kind == "uninitialised"
        assert (
            fault.line
            == NEVER_SET.split("\n").index(
                next(line for line in NEVER_SET.split("\n") if "LINE stored" in line)
            )
            + 1
        )
        assert "register `%r" in fault.message
        assert fault.thread == (40, 0, 0)


@pytest.mark.parametrize(
    ("does", "kinds"),
    [
        ("st.global.u32 [%a0], %r19;", ["uninitialised"]),
        ("setp.lt.u32 %p1, %r19, 7; @%p1 bra L; L:", ["uninitialised"]),
        ("add.u32 %r2, %r19, 1; st.global.u32 [%a0], %r2;", ["uninitialised"]),
        ("add.u32 %r2, %r19, 1;", []),
        ("and.b32 %r2, %r19, 0; st.global.u32 [%a0], %r2;", []),
        ("setp.lt.u32 %p1, %i, 9; @%p1 mov.u32 %r19, 5; @%p1 st.global.u32 [%a0], %r19;", []),
        (
            "setp.lt.u32 %p1, %i, 9; @%p1 mov.u32 %r19, 5; st.global.u32 [%a0], %r19;",
            ["uninitialised"],
        ),
    ],
)
def test_a_register_that_nothing_wrote_may_be_carried_about(does: str, kinds: list[str]) -> None:
    body = f"ld.param.u64 %a0, [p0]; mad.wide.u32 %a0, %i, 4, %a0; {does}"
    report = launch(parse(ptx_kernel(body, ["u64"])), "k", 1, 40, [np.zeros(40, np.uint32)])
    assert [fault.kind for fault in report.faults] == kinds
