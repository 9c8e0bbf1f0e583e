"""Requests whose lanes access several blocks of a cluster, and multicasts of boxes that are partly
outside their tensor: correct from PTX and machine code. An H100's readings show what requests of
4 bytes per lane cost; the counters of other requests are models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sass.asynchronous.both import Both, Case, launched, together
from tensor_kernels import DUMP, WAIT, kernel

from harness.emulator import TensorMap

BLOCKS, LANES = 4, 32
TELLS = "mbarrier::complete_tx::bytes"
MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
OTHER = f"""mov.u32 %r20, %cluster_ctarank; add.u32 %r21, %r20, %r1; and.b32 %r21, %r21, 3;
    shl.b32 %r9, %r1, 2; add.u32 %r10, %r2, %r9; mad.lo.u32 %r11, %r20, 100, %r1;
    st.shared.u32 [%r10], %r11; mapa.shared::cluster.u32 %r24, %r10, %r21;
    mapa.shared::cluster.u32 %r25, %r3, %r21; @!%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
    @!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128; {MEET}"""
"""Lane i of block b names block (b + i) mod 4, and its own word of shared memory there, which holds
100 times the block's number, plus the lane's."""
OUT = """ld.shared.u32 %r13, [%r10];
    KEEP: mad.lo.u32 %r15, %r20, 32, %r1; mad.wide.u32 %l5, %r15, 8, %l2;
    st.global.v2.u32 [%l5], {%r12, %r13};"""


def _case(name: str, body: str) -> Case:
    text = kernel(f"{OTHER} mov.u32 %r12, 0; {body} {OUT} {MEET}")
    text = text.replace(".param .align 64 .b8 map[128], ", "").replace(
        "mov.b64 %l0, map; cvta.param.u64 %l1, %l0;", ""
    )
    return Case(
        name, text, lambda: [np.zeros((BLOCKS, LANES, 2), np.uint32)], BLOCKS, LANES, BLOCKS
    )


CASES = [
    _case("load", "ld.shared::cluster.u32 %r12, [%r24];"),
    _case("load_pair", """and.b32 %r26, %r24, 0xfffffff8;
        ld.shared::cluster.v2.u32 {%r12, %r27}, [%r26]; add.u32 %r12, %r12, %r27;"""),
    _case("store", f"st.shared::cluster.u32 [%r24], %r11; {MEET}"),
    _case("atomic", f"atom.shared::cluster.add.u32 %r12, [%r24], 1000; {MEET}"),
    _case("store_async", f"st.async.weak.shared::cluster.{TELLS}.b32 [%r24], %r11, [%r25]; {WAIT}"),
    _case("red_async", f"""red.async.relaxed.cluster.shared::cluster.{TELLS}.add.u32 [%r24], %r11,
        [%r25]; {WAIT}"""),
]  # fmt: skip
BOX = kernel(f"""@!%p1 mbarrier.init.shared::cta.b64 [%r3], 1; mov.u32 %r20, %cluster_ctarank;
    {MEET} mov.b16 %h1, 13; @%p1 bra WAITS; setp.eq.u32 %p5, %r20, 1; @%p5 bra WAITS;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 1024; setp.ne.u32 %p6, %r20, 0;
    @%p6 bra WAITS;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.{TELLS}.multicast::cluster [%r2],
        [%l1, {{20, 15}}], [%r3], %h1;
    WAITS: setp.eq.u32 %p5, %r20, 1; @%p5 bra LEAVES; {WAIT}
    mad.wide.u32 %l2, %r20, 1024, %l2; {DUMP.format(1024)} LEAVES: {MEET}""")  # fmt: skip
TENSOR = np.arange(1, 801, dtype=np.float32).reshape(20, 40)


def _of_box() -> list[Any]:
    return [TensorMap(TENSOR.reshape(-1).copy(), [32, 8], [40, 20]), np.full(4096, 7, np.uint8)]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return together(CASES, tmp_path_factory.mktemp("several_blocks"))


def _expected() -> dict[str, np.ndarray]:
    """Each thread's register, and its word of shared memory in the end."""
    block, lane = np.indices((BLOCKS, LANES))
    own, nothing = 100 * block + lane, 0 * block
    there = 100 * ((block + lane) % BLOCKS) + lane
    from_other = 100 * ((block - lane) % BLOCKS) + lane
    found = {
        "load": (there, own), "load_pair": (2 * (there - lane % 2) + 1, own),
        "store": (nothing, from_other), "atomic": (there, own + 1000),
        "store_async": (nothing, from_other), "red_async": (nothing, own + from_other),
    }  # fmt: skip
    return {name: np.stack(parts, axis=2) for name, parts in found.items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_lanes_that_access_several_blocks_are_served_and_the_cost_of_a_pair_is_a_model(
    both: Both, case: Case
) -> None:
    ptx, code, theirs, ours = launched(both, case)
    assert (ptx.faults, code.faults) == ((), ())
    for found in (theirs, ours):
        np.testing.assert_array_equal(found[0], _expected()[case.name])
    of_remote = [each for each in code.counters if "_dshared" in each.name and each.value]
    assert of_remote
    label = "emulator-model" if case.name == "load_pair" else "machine-exact"
    assert {each.provenance for each in of_remote} == {label}


def test_a_multicast_of_a_box_that_is_partly_outside_fills_with_zeros_in_every_block(
    tmp_path: Any,
) -> None:
    case = Case("multicast", BOX, _of_box, BLOCKS, LANES, BLOCKS)
    ptx, code, theirs, ours = launched(together([case], tmp_path), case)
    assert (ptx.faults, code.faults) == ((), ())
    box = np.zeros((8, 32), np.float32)
    box[:5, :20] = TENSOR[15:, 20:]
    for found in (theirs, ours):
        blocks = found[1].view(np.float32).reshape(BLOCKS, 8, 32)
        for block in (0, 2, 3):
            np.testing.assert_array_equal(blocks[block], box)
        assert (found[1][1024:2048] == 7).all()
    name = "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld_dest_multicast.sum"
    assert code.counter(name).provenance == "emulator-model"
