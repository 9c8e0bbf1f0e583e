"""Numbered barriers for some of a block's warps, in machine code and in PTX."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from emulator_tools import assemble

from harness.emulator import launch, parse
from harness.emulator.sass import launch_machine_code, read

THREADS = 128
HEAD = '.version 8.0\n.target sm_90\n.address_size 64\n.file 1 "k.cu"\n'
START = """
.visible .entry k%d(.param .u64 in, .param .u64 out)
{
    .reg .pred %p<8>;
    .reg .b32 %r<16>;
    .reg .b64 %a<4>;
    .shared .align 4 .b32 held[128];
    ld.param.u64 %a0, [in];
    ld.param.u64 %a1, [out];
    mov.u32 %r0, %tid.x;
    mad.wide.u32 %a1, %r0, 4, %a1;
    ld.global.u32 %r1, [%a0];
    shl.b32 %r2, %r0, 2;
    mov.u32 %r3, held;
    add.u32 %r3, %r3, %r2;
    setp.ge.u32 %p0, %r0, 64;
    and.b32 %r4, %r0, 16;
    setp.ne.u32 %p1, %r4, 0;
    mov.u32 %r7, %ntid.x;
"""
# The upper half of the block writes and continues; the lower half waits for it.
HANDED_OVER = """
    @%p0 bra writes;
    bar.sync %r1, 128;
    ld.shared.u32 %r5, [%r3 + 256];
    st.global.u32 [%a1], %r5;
    ret;
writes:
    add.u32 %r5, %r0, 1000;
    st.shared.u32 [%r3], %r5;
    bar.arrive %r1, 128;
    st.global.u32 [%a1], %r0;
    ret;
}
"""
# The halves of each of the lower two warps arrive one after the other, but count as one warp.
IN_HALVES = """
    @%p0 bra writes;
    mov.u32 %r6, 0;
    @%p1 bra second;
    barrier.sync %r1, 96;
    bra reads;
second:
    barrier.sync %r1, 96;
reads:
    ld.shared.u32 %r5, [held + 256];
    st.global.u32 [%a1], %r5;
    ret;
writes:
    setp.ge.u32 %p2, %r0, 96;
    @%p2 ret;
    mov.u32 %r5, 7;
    st.shared.u32 [held + 256], %r5;
    bar.sync %r1, 96;
    st.global.u32 [%a1], %r0;
    ret;
}
"""
BOTH_IN_REGISTERS = HANDED_OVER.replace("%r1, 128", "%r1, %r7")
OF_THE_BLOCK = """
    .loc 1 42 0
    bar.sync %r1;
    st.global.u32 [%a1], %r0;
    ret;
}
"""
OF_SO_MANY = OF_THE_BLOCK.replace("%r1;", "1, %r1;")
BY_LANES = OF_THE_BLOCK.replace("bar.sync %r1;", "shr.u32 %r1, %r4, 4;\n    bar.sync %r1, 128;")
# The halves of the block wait at different lines; the upper half has written.
IN_TWO_LINES = """
    @%p0 bra writes;
    .loc 1 60 0
    barrier.sync 1;
    ld.shared.u32 %r5, [%r3 + 256];
    st.global.u32 [%a1], %r5;
    ret;
writes:
    st.shared.u32 [%r3], %r0;
    .loc 1 70 0
    barrier.sync 1;
    st.global.u32 [%a1], %r0;
    ret;
}
"""
# The upper half of the block writes and arrives, and its last warp also waits: 3 warp arrivals in
# all.
TWICE = """
    @!%p0 ret;
    st.shared.u32 [%r3], %r0;
    bar.arrive 1, 96;
    setp.lt.u32 %p2, %r0, 96;
    @%p2 ret;
    bar.sync 1, 96;
    ld.shared.u32 %r5, [%r3 + -128];
    st.global.u32 [%a1], %r5;
    ret;
}
"""
IN_TWO_LINES_ALIGNED = IN_TWO_LINES.replace("barrier.sync", "barrier.sync.aligned")
BODIES = [HANDED_OVER, BOTH_IN_REGISTERS, IN_HALVES, OF_THE_BLOCK, OF_SO_MANY, BY_LANES,
          IN_TWO_LINES, IN_TWO_LINES_ALIGNED, TWICE]  # fmt: skip
SOURCE = HEAD + "".join(START.replace("%d", str(n)) + body for n, body in enumerate(BODIES))
Launches = Callable[[str, int], list[tuple[list[str], np.ndarray]]]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Launches:
    """The faults and results of a kernel in PTX and in machine code."""
    source = tmp_path_factory.mktemp("barriers") / "k.ptx"
    source.write_text(SOURCE)
    code, module = read(assemble(source, source.with_suffix(".cubin"), "sm_90")), parse(SOURCE)

    def launches(body: str, number: int) -> list[tuple[list[str], np.ndarray]]:
        kernel, given = f"k{BODIES.index(body)}", np.array([number], np.uint32)
        outs = [np.zeros(THREADS, np.uint32) for _ in range(2)]
        reports = (
            launch(module, kernel, 1, THREADS, [given, outs[0]]),
            launch_machine_code(code, kernel, 1, THREADS, [given, outs[1]], ptx=module),
        )
        return [([str(f) for f in r.faults], out) for r, out in zip(reports, outs, strict=True)]

    return launches


@pytest.mark.parametrize("number", [0, 15])
@pytest.mark.parametrize("body", [HANDED_OVER, BOTH_IN_REGISTERS, IN_HALVES])
def test_some_warps_meet_at_a_barrier(both: Launches, body: str, number: int) -> None:
    threads = np.arange(THREADS)
    wanted = np.where(threads < 64, threads + 1064, threads)
    if body == IN_HALVES:
        wanted = np.where(threads < 64, 7, np.where(threads < 96, threads, 0))
    for faults, out in both(body, number):
        assert not faults
        np.testing.assert_array_equal(out, wanted)


def test_a_warp_that_arrives_and_then_waits_counts_twice(both: Launches) -> None:
    threads = np.arange(THREADS)
    for faults, out in both(TWICE, 0):
        assert not faults
        np.testing.assert_array_equal(out, np.where(threads < 96, 0, threads - 32))


def test_barriers_that_are_not_aligned_meet_those_of_other_lines(both: Launches) -> None:
    for faults, out in both(IN_TWO_LINES, 0):
        assert not faults
        np.testing.assert_array_equal(out, np.arange(THREADS) % 64 + 64)


def test_aligned_barriers_do_not_meet_those_of_other_lines(both: Launches) -> None:
    for (fault,), _ in both(IN_TWO_LINES_ALIGNED, 0):
        assert "64 in line 60, 64 in line 70" in fault


def test_there_is_no_sixteenth_barrier(both: Launches) -> None:
    """ptxas keeps only the low four bits of a constant barrier number, because a block has 16
    barriers."""
    for (fault,), _ in both(OF_THE_BLOCK, 16):
        assert fault.startswith("k.cu:42: out of bounds: barrier 16: a block has barriers 0 to 15")


def test_a_number_of_threads_is_one_of_warps(both: Launches) -> None:
    for (fault,), _ in both(OF_SO_MANY, 33):
        assert "a barrier of 33 threads: they come in whole warps of 32" in fault


def test_lanes_that_name_different_barriers_are_told(both: Launches) -> None:
    ptx, code = (faults for faults, _ in both(BY_LANES, 0))
    assert "deadlock" in ptx[0]
    assert "threads of a warp come together to different barriers" in code[0]
