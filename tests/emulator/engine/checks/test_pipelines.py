"""A typical Hopper pipeline is accepted as correct, and each planted mistake in it is found."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from emulator_tools import ROOT, CompilePtx
from tensor_kernels import kernel

from harness.emulator import LaunchReport, TensorMap, launch, parse

SOURCE = ROOT / "tests" / "emulator" / "pipelines" / "warp_specialised_product.cu"
TILE, DEEP, STAGES = 128, 64, 2
MACROS = ("WAITS_FOR_TILES", "WAITS_FOR_ROOM", "WAITS_FOR_PRODUCTS")


SHARED = STAGES * (2 * TILE * DEEP * 2 + 16)


def defines(without: str) -> list[str]:
    return [f"{macro}={int(macro != without)}" for macro in MACROS]


def product(k: int) -> tuple[list[Any], np.ndarray]:
    """The arguments of a one-tile matrix product, and the expected value of the third, as bits."""
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
    wanted = (a.astype(np.float64) @ b.astype(np.float64).T).astype(ml_dtypes.bfloat16)
    return [*maps, np.zeros(m * n, np.uint16), m, n, k], wanted.ravel().view(np.uint16)


def _launched(compile_ptx: CompilePtx, without: str, k: int) -> tuple[LaunchReport, bool]:
    """The report of a matrix product, and whether the result is correct."""
    arguments, wanted = product(k)
    module = compile_ptx(SOURCE, "sm_90a", defines(without))
    report = launch(module, "gemm", 1, 384, arguments, shared_bytes=SHARED)
    return report, np.array_equal(arguments[2], wanted)


def test_a_warp_specialised_product_is_right_and_not_accused(compile_ptx: CompilePtx) -> None:
    report, right = _launched(compile_ptx, "", 3 * DEEP + 8)
    assert not report.faults
    assert right


@pytest.mark.parametrize("without", MACROS)
def test_a_pipeline_that_forgets_to_wait_races(compile_ptx: CompilePtx, without: str) -> None:
    report, _ = _launched(compile_ptx, without, 3 * DEEP)
    assert [fault.kind for fault in report.faults] == ["race"]
    if without == "WAITS_FOR_PRODUCTS":
        assert "wgmma.wait_group by its warp" in report.faults[0].message


def test_barriers_of_many_numbers_that_never_complete_are_not_all_listed() -> None:
    text = kernel("and.b32 %r1, %r1, 15;\nbar.sync %r1;")
    (fault,) = launch(parse(text), "k", 1, 64, [bytes(128), np.zeros(4, np.float32)]).faults
    assert fault.kind == "deadlock"
    assert "and others at " in fault.message
    assert len(fault.message) < 1000
