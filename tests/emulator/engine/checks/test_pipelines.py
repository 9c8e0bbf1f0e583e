"""A pipeline as kernels for Hopper are written is right, and each mistake in it is found."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from emulator_tools import ROOT, CompilePtx

from harness.emulator import LaunchReport, TensorMap, launch

FOLDER = ROOT / "tests" / "emulator" / "pipelines"
TILE, DEEP, STAGES = 128, 64, 2
MACROS = ("WAITS_FOR_TILES", "WAITS_FOR_ROOM", "WAITS_FOR_PRODUCTS")


def _launched(compile_ptx: CompilePtx, without: str, k: int) -> tuple[LaunchReport, bool]:
    """The report of a product of one tile, and whether it is right."""
    random = np.random.default_rng(1)
    m, n = 72, 120
    a, b = (random.integers(-4, 5, (rows, k)).astype(ml_dtypes.bfloat16) for rows in (m, n))
    maps = [
        TensorMap(
            x.view(np.uint16).reshape(-1), box=[DEEP, TILE], shape=[k, len(x)], strides=[2 * k],
            element="bf16", swizzle="128B",
        )
        for x in (a, b)
    ]  # fmt: skip
    c = np.zeros(m * n, np.uint16)
    module = compile_ptx(
        FOLDER / "warp_specialised_product.cu", "sm_90a",
        [f"{macro}={int(macro != without)}" for macro in MACROS],
    )  # fmt: skip
    report = launch(
        module, "gemm", 1, 384, [*maps, c, m, n, k],
        shared_bytes=STAGES * (2 * TILE * DEEP * 2 + 16),
    )  # fmt: skip
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    right = np.array_equal(c.view(ml_dtypes.bfloat16), wanted.astype(ml_dtypes.bfloat16).ravel())
    return report, right


def test_a_warp_specialised_product_is_right_and_not_accused(compile_ptx: CompilePtx) -> None:
    report, right = _launched(compile_ptx, "", 3 * DEEP + 8)
    assert not report.faults
    assert right


@pytest.mark.parametrize("without", MACROS)
def test_a_pipeline_that_forgets_to_wait_races(compile_ptx: CompilePtx, without: str) -> None:
    report, _ = _launched(compile_ptx, without, 3 * DEEP)
    assert [fault.kind for fault in report.faults] == ["race"]
