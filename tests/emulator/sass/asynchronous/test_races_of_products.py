"""Races in a warp-specialised matrix product are found in machine code just as in PTX, with their
lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator_tools import PtxFile, assemble
from engine.checks.test_pipelines import DEEP, MACROS, SHARED, SOURCE, defines, product
from sass.asynchronous.both import Case, launched, together
from tensor_kernels import kernel

from harness.emulator import parse
from harness.emulator.sass import MachineReport, launch_machine_code, read


def _launched(
    ptx_file: PtxFile, folder: Path, without: str, k: int
) -> tuple[MachineReport, list[Any], np.ndarray]:
    ptx = ptx_file(SOURCE, "sm_90a", defines(without))
    code = read(assemble(ptx, folder / "product.cubin", "sm_90a"))
    arguments, wanted = product(k)
    report = launch_machine_code(
        code, "gemm", 1, 384, arguments, SHARED, ptx=parse(ptx.read_text())
    )  # fmt: skip
    return report, arguments, wanted


def test_a_right_product_is_not_accused(ptx_file: PtxFile, tmp_path: Path) -> None:
    report, arguments, wanted = _launched(ptx_file, tmp_path, "", 3 * DEEP + 8)
    assert not report.faults, report.faults[0]
    assert np.array_equal(arguments[2], wanted)


@pytest.mark.parametrize("without", MACROS)
def test_a_wait_that_is_missing_is_found(ptx_file: PtxFile, tmp_path: Path, without: str) -> None:
    report, *_ = _launched(ptx_file, tmp_path, without, 3 * DEEP)
    (fault,) = report.faults
    assert fault.kind == "race"
    assert Path(fault.file).name == "tensor_memory_access.cuh"
    assert "of warp_specialised_product.cu" in fault.message
    if without == "WAITS_FOR_PRODUCTS":
        assert "wgmma.wait_group by its warp" in fault.message


TILE_CHANGED_BEHIND_THE_WAIT = """
    shl.b32 %r4, %r1, 4; add.u32 %r5, %r2, %r4; mov.b32 %r6, 0x3c003c00;
    st.shared.v4.u32 [%r5], {%r6, %r6, %r6, %r6}; st.shared.v4.u32 [%r5+2048], {%r6, %r6, %r6, %r6};
    fence.proxy.async.shared::cta; bar.sync 0;
    shr.u32 %r7, %r2, 4; cvt.u64.u32 %l5, %r7; or.b64 %l5, %l5, 0x0000001000080000;
    wgmma.fence.sync.aligned; setp.ne.u32 %p4, %r2, %r2;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r10, %r11, %r12, %r13}, %l5, %l5,
        %p4, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
    st.shared.v4.u32 [%r5], {%r1, %r1, %r1, %r1};
    mad.wide.u32 %l6, %r1, 16, %l2; st.global.v4.u32 [%l6], {%r10, %r11, %r12, %r13};"""


def test_a_wait_is_for_the_product_of_all_four_warps(tmp_path: Path) -> None:
    """Warps are executed one after another: without the wait for all four, the first warp would
    change data that the others still read."""
    text = kernel(TILE_CHANGED_BEHIND_THE_WAIT)
    case = Case("k", text, lambda: [bytes(128), np.zeros(512, np.float32)], block=128)
    ptx, code, theirs, ours = launched(together([case], tmp_path), case)
    assert not ptx.faults, ptx.faults[0]
    assert not code.faults, code.faults[0]
    assert (theirs[1] == 16).all()
    assert (ours[1] == 16).all()
