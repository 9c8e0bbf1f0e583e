"""Barriers with a reduction, for any barrier number: the instruction that reads the result does not
name the barrier."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import assemble, run

from harness.emulator import parse
from harness.emulator.sass import launch_machine_code, read

THREADS = 128
KERNEL = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .reg .pred %p<8>;
    .reg .b32 %r<16>;
    .reg .b64 %a<4>;
    ld.param.u64 %a0, [in];
    ld.param.u64 %a1, [out];
    mov.u32 %r0, %tid.x;
    mad.wide.u32 %a0, %r0, 4, %a0;
    mad.wide.u32 %a1, %r0, 16, %a1;
    ld.global.u32 %r1, [%a0];
    setp.ne.u32 %p0, %r1, 0;
    // Each half of the block at a barrier of its own, then all of it at two others.
    shr.u32 %r2, %r0, 6;
    add.u32 %r2, %r2, 4;
    barrier.red.popc.u32 %r3, %r2, 64, %p0;
    barrier.red.and.pred %p1, 2, %p0;
    barrier.red.or.pred %p2, 15, %p0;
    barrier.red.popc.u32 %r4, 0, %p0;
    selp.u32 %r5, 1, 0, %p1;
    selp.u32 %r6, 1, 0, %p2;
    st.global.v4.u32 [%a1], {%r3, %r5, %r6, %r4};
    ret;
}
"""


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_each_barrier_has_a_result_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    source = tmp_path_factory.mktemp("barriers") / "k.ptx"
    source.write_text(KERNEL)
    code = read(assemble(source, source.with_suffix(".cubin"), "sm_90"))
    texts = [i.text for i in code.functions["k"].instructions]
    assert sum(text.startswith("B2R.RESULT") for text in texts) == 4
    votes = (np.random.default_rng(3).random(THREADS) < share).astype(np.uint32)
    ours, theirs = (np.zeros((THREADS, 4), np.uint32) for _ in range(2))
    assert not launch_machine_code(code, "k", 1, THREADS, [votes, ours]).faults
    run(parse(KERNEL), "k", 1, THREADS, [votes, theirs])
    halves = np.repeat(votes.reshape(2, -1).sum(1), THREADS // 2)
    wanted = [[half, votes.all(), votes.any(), votes.sum()] for half in halves]
    np.testing.assert_array_equal(ours, np.array(wanted, np.uint32))
    np.testing.assert_array_equal(theirs, ours)
