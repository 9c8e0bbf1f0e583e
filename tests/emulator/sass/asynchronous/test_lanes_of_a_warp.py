"""Joint operations of a warp's lanes: equal stores of all lanes, addresses of a cluster's shared
memory, and products while one lane still waits. PTX and machine code agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sass.asynchronous.both import Both, Case, launched, together
from tensor_kernels import DONE, FETCH, kernel

from harness.emulator import TensorMap, launch

SIZE = 512
MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
# All lanes store one box, and then one row; separate copies by each lane would be 32 races.
STORE = f"""{FETCH.format(SIZE)} cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group \
[%l1, {{0, 0}}], [%r2]; {DONE}"""
STORE_ROW = f"""{FETCH.format(SIZE)} add.u64 %l2, %l2, {SIZE};
    cp.async.bulk.global.shared::cta.bulk_group [%l2], [%r2], {SIZE}; {DONE}"""
# Addresses in the block's own shared memory, in the other block's, and in global memory.
SPACES = f"""{MEET} mov.u32 %r20, %cluster_ctarank; xor.b32 %r21, %r20, 1;
    mapa.shared::cluster.u32 %r24, %r2, %r21; cvt.u64.u32 %l3, %r24;
    cvta.shared::cluster.u64 %l3, %l3; cvt.u64.u32 %l4, %r2; cvta.shared.u64 %l4, %l4;
    setp.eq.u32 %p3, %r1, 0; setp.eq.u32 %p4, %r1, 1; selp.b64 %l5, %l3, %l2, %p3;
    selp.b64 %l5, %l4, %l5, %p4; isspacep.shared::cta %p5, %l5; isspacep.shared::cluster %p6, %l5;
    selp.u32 %r12, 1, 0, %p5; selp.u32 %r13, 2, 0, %p6; add.u32 %r12, %r12, %r13;
    mul.wide.u32 %l6, %r20, 128; add.u64 %l2, %l2, %l6; mul.wide.u32 %l6, %r1, 4;
    add.u64 %l2, %l2, %l6; st.global.u32 [%l2], %r12; {MEET}"""
# One lane waits for the other warp, while its warp's other lanes are already at a product.
PRODUCT = """@!%p1 mbarrier.init.shared::cta.b64 [%r3], 1; bar.sync 0;
    setp.ge.u32 %p3, %r1, 32; @%p3 bra LATER; @%p1 bra MULTIPLY;
    AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra AGAIN;
    MULTIPLY: mov.b32 %r4, 0x3f803f80; mov.b32 %r5, 0x3f800000;
    mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%r6, %r7, %r8, %r9}, {%r4, %r4}, {%r4},
        {%r5, %r5, %r5, %r5};
    mul.wide.u32 %l3, %r1, 4; add.u64 %l3, %l2, %l3; st.global.b32 [%l3], %r6; ret;
    LATER: setp.eq.u32 %p4, %r1, 32; @%p4 mbarrier.arrive.shared::cta.b64 _, [%r3];"""


def _tensor() -> list[Any]:
    return [TensorMap(np.zeros((8, 16), np.float32), [16, 8]), np.arange(SIZE, dtype=np.uint8)]


def _bytes() -> list[Any]:
    return [0, np.arange(2 * SIZE, dtype=np.uint32).astype(np.uint8)]


def _plain(body: str) -> str:
    text = kernel(body).replace(".param .align 64 .b8 map[128]", ".param .u64 map")
    return text.replace("mov.b64 %l0, map; cvta.param.u64 %l1, %l0;", "")


CASES = (
    Case("store", kernel(STORE), _tensor),
    Case("store_row", _plain(STORE_ROW), _bytes),
    Case("spaces", _plain(SPACES), lambda: [0, np.zeros(64, np.uint32)], grid=2, cluster=2),
    Case("product", _plain(PRODUCT), lambda: [0, np.zeros(32, np.float32)], block=64),
)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return together(CASES, tmp_path_factory.mktemp("lanes"))


@pytest.mark.parametrize("number", [0, 1])
def test_equal_stores_of_all_lanes_are_one_store(both: Both, number: int) -> None:
    ptx, code, theirs, ours = launched(both, CASES[number])
    assert not ptx.faults
    assert not code.faults
    for arguments in (theirs, ours):
        wanted = np.arange(SIZE, dtype=np.uint32).astype(np.uint8)
        found = arguments[1][SIZE:] if number else arguments[0].array.view(np.uint8).ravel()
        np.testing.assert_array_equal(found, wanted)


def test_shared_memory_of_another_block_is_that_of_the_cluster_only(both: Both) -> None:
    ptx, code, theirs, ours = launched(both, CASES[2])
    assert not ptx.faults
    assert not code.faults
    for _, found in (theirs, ours):
        for block in found.reshape(2, 32):
            assert block[:3].tolist() == [2, 3, 0]


@pytest.mark.parametrize("schedule", range(5))
def test_a_product_waits_for_the_lane_that_still_waits(both: Both, schedule: int) -> None:
    arguments = CASES[3].arguments()
    report = launch(both.ptx, "product", 1, 64, arguments, schedule=schedule)
    assert not report.faults, report.faults[0]
    np.testing.assert_array_equal(arguments[1], np.full(32, 9, np.float32))
