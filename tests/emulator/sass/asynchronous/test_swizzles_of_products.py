"""A `wgmma` whose descriptor specifies a different swizzle from the tensor map that filled its
tile."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator_tools import assemble
from tensor_kernels import INIT, WAIT, kernel

from harness.emulator import Fault, TensorMap, launch, parse
from harness.emulator.sass import launch_machine_code, read

_ROWS, _COLUMNS, _DEPTH = 64, 8, 16
_MODES = {"128B": 1, "64B": 2, "32B": 3}


def _product(descriptor: str) -> str:
    """Multiply a tile's first sixteen columns by the first sixteen columns of its first eight
    rows."""
    body = f"""
    {INIT}
    @%p1 bra WAITS;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {{0}};
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
        [%r2], [%l1, {{{{0, 0}}}}], [%r3];
    WAITS: {WAIT}
    shr.u32 %r7, %r2, 4; cvt.u64.u32 %l5, %r7; or.b64 %l5, %l5, {{1}};
    wgmma.fence.sync.aligned; setp.ne.u32 %p4, %r2, %r2;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{{{%r10, %r11, %r12, %r13}}}}, %l5, %l5,
        %p4, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
    mad.wide.u32 %l6, %r1, 16, %l2; st.global.v4.u32 [%l6], {{{{%r10, %r11, %r12, %r13}}}};"""
    return kernel(body.format(_ROWS * 128, descriptor))


def _descriptor(swizzle: str) -> str:
    return hex(1 << 16 | 64 << 32 | _MODES[swizzle] << 62)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("swizzles")


def _faults(swizzle: str, folder: Path) -> tuple[list[Fault], list[np.ndarray], np.ndarray]:
    text = _product(_descriptor(swizzle))
    source = folder / f"product_{swizzle}.ptx"
    source.write_text(text)
    module, code = parse(text), read(assemble(source, source.with_suffix(".cubin"), "sm_90a"))
    tile = np.random.default_rng(7).integers(-4, 5, (_ROWS, 64)).astype(np.float16)
    wanted = tile[:, :_DEPTH].astype(np.float32) @ tile[:_COLUMNS, :_DEPTH].astype(np.float32).T
    of_map = TensorMap(tile, [64, _ROWS], swizzle="128B")
    sums = [np.zeros(_ROWS * _COLUMNS, np.float32) for _ in range(2)]
    faults = [
        *launch(module, "k", 1, 128, [of_map, sums[0]]).faults,
        *launch_machine_code(code, "k", 1, 128, [of_map, sums[1]], ptx=module).faults,
    ]
    return faults, sums, wanted


def test_the_swizzle_of_the_map_is_not_accused(folder: Path) -> None:
    faults, sums, wanted = _faults("128B", folder)
    assert not faults, faults[0]
    # Each thread holds two adjacent elements of one row, and two of the row eight below it.
    placed = wanted.reshape(4, 2, 8, 4, 2).transpose(0, 2, 3, 1, 4).ravel()
    assert all(np.array_equal(each, placed) for each in sums)


def test_another_swizzle_is_named_with_that_of_the_map(folder: Path) -> None:
    faults, *_ = _faults("64B", folder)
    assert [each.kind for each in faults] == ["wgmma", "wgmma"]
    for each in faults:
        assert "descriptor says a swizzle of 64 bytes" in each.message
        assert "with a swizzle of 128 bytes, so it multiplies other elements" in each.message
