"""Races in a warp-specialised product are found in machine code as in PTX, with their lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator_tools import PtxFile, assemble
from engine.checks.test_pipelines import DEEP, MACROS, SHARED, SOURCE, defines, product

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
    assert fault.line
