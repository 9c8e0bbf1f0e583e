"""Boxes that are multicast to several blocks of a cluster have arrived once the mbarrier's phase is
complete, and not before."""

from __future__ import annotations

import numpy as np
import pytest
from tensor_kernels import DUMP, WAIT, kernel

from harness.emulator import LaunchReport, TensorMap, launch, parse

BLOCKS, ROWS, WIDE = 4, 4, 16
SIZE = ROWS * WIDE * 4
MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
COPY = """cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes\
.multicast::cluster [{place}], [%l1, {{0, {row}}}], [%r3], %h1;"""


def _kernel(
    expected: int, copies: str, mask: int, *, wait: str = WAIT, then: str = "", first: str = "",
    size: int = SIZE * BLOCKS, end: str = MEET,
) -> str:  # fmt: skip
    """The rank is in %r20; %p5 is true if it is not 0. Each rank stores the given number of bytes
    to its own part."""
    return kernel(f"""@!%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
        fence.mbarrier_init.release.cluster; {MEET}
        mov.u32 %r20, %cluster_ctarank; mov.b16 %h1, {mask}; setp.ne.u32 %p5, %r20, 0;
        {first} @%p1 bra WAITS;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {expected};
        {copies}
        WAITS: {wait} mad.wide.u32 %l2, %r20, {SIZE * BLOCKS}, %l2;
        {DUMP.format(size)} {then}
        LEAVES: {end}""")


def _launched(text: str) -> tuple[LaunchReport, np.ndarray, np.ndarray]:
    tensor = np.random.default_rng(3).random(WIDE * ROWS * BLOCKS, np.float32)
    out = np.zeros((BLOCKS, ROWS * WIDE * BLOCKS), np.float32)
    map_ = TensorMap(tensor, [WIDE, ROWS], [WIDE, ROWS * BLOCKS])
    arguments = [map_, out.view(np.uint8).reshape(-1)]
    return launch(parse(text), "k", BLOCKS, 32, arguments, cluster=BLOCKS), tensor, out


OWN_PART = (
    f"mad.lo.u32 %r21, %r20, {SIZE}, %r2; mul.lo.u32 %r22, %r20, {ROWS};"
    + COPY.format(place="%r21", row="%r22")
)  # fmt: skip
OF_THE_FIRST = "@%p5 bra WAITS; " + COPY.format(place="%r2", row="0")


def test_each_block_gets_what_all_asked_for_at_the_same_place() -> None:
    report, tensor, out = _launched(_kernel(SIZE * BLOCKS, OWN_PART, 15))
    assert not report.faults
    assert (out == tensor).all()


def test_a_block_that_the_mask_leaves_out_gets_nothing() -> None:
    """Ranks 0 and 2 expect a box; the others wait for nothing."""
    first = "and.b32 %r23, %r20, 1; setp.ne.u32 %p6, %r23, 0; @%p6 bra LEAVES;"
    text = _kernel(SIZE, OF_THE_FIRST, 0b0101, first=first, size=SIZE)
    report, tensor, out = _launched(text)
    assert not report.faults
    assert (out[[0, 2], : ROWS * WIDE] == tensor[: ROWS * WIDE]).all()
    assert not out[[1, 3]].any()


def test_a_rank_that_the_cluster_does_not_have_is_a_fault() -> None:
    (fault,) = _launched(_kernel(SIZE, OF_THE_FIRST, 1 << 4))[0].faults
    assert "rank 4" in fault.message


def test_another_blocks_box_that_is_read_before_its_wait_races() -> None:
    (fault,) = _launched(_kernel(SIZE * BLOCKS, OWN_PART, 15, wait=MEET))[0].faults
    assert fault.kind == "race"


AGAIN = f"""@%p1 bra DONE; @%p5 bra DONE;
    {COPY.format(place="%r2", row="4")} DONE:"""


@pytest.mark.parametrize("told", [True, False])
def test_a_box_that_is_sent_again_waits_until_all_blocks_have_read_it(told: bool) -> None:
    again = f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {SIZE};"
    then = f"bar.sync 0; @!%p1 {again} {MEET if told else ''} {AGAIN} {WAIT}".replace(
        "AGAIN:", "SECOND:"
    ).replace("bra AGAIN", "bra SECOND").replace(", 0; @!%p2", ", 1; @!%p2")  # fmt: skip
    report = _launched(_kernel(SIZE * BLOCKS, OWN_PART, 15, then=then))[0]
    assert [fault.kind for fault in report.faults] == ([] if told else ["race"])


@pytest.mark.parametrize("meets", [True, False])
def test_a_block_that_does_not_wait_for_its_box_stays_until_it_has_come(meets: bool) -> None:
    first = "setp.eq.u32 %p6, %r20, 3; @%p6 bra LEAVES;"
    text = _kernel(SIZE, OF_THE_FIRST, 15, first=first, size=SIZE, end=MEET if meets else "")
    kinds = [fault.kind for fault in _launched(text)[0].faults]
    assert kinds == ([] if meets else ["cluster"])
