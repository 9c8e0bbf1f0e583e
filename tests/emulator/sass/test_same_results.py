"""PTX and machine code give the same results, and the same global accesses unless ptxas changes
them.

The test checks ptxas's translation as well as the emulator's. tests/test_fidelity.py makes the same
comparison for every kernel with GPU readings.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator_tools import CompilePtx
from kernel_files import asked, check, run_code, run_file
from sass.conftest import ListTogether, ReadSource

CORRECT = sorted((Path(__file__).parents[1] / "correct").glob("*.cu"))
PADDED = {"struct_copied_with_padding", "bytes_of_a_word_cut_out", "bit_fields_set_in_part"}
"""Kernels that copy unwritten bytes, such as those between a struct's members."""

LAST_COMES = {"relaxed_stores_meet"}
"""Kernels that store the value of the last thread: any order of the blocks is right, as their own
CHECK states."""

TOGETHER = 12
"""The number of kernels whose machine code is listed in one call."""


@pytest.fixture
def listed(path: Path, list_together: ListTogether) -> None:
    first = CORRECT.index(path) // TOGETHER * TOGETHER
    list_together(CORRECT[first : first + TOGETHER])


@pytest.mark.parametrize("path", CORRECT, ids=lambda path: path.stem)
@pytest.mark.usefixtures("listed")
def test_machine_code_leaves_the_same_bits_as_ptx(
    compile_ptx: CompilePtx, read_source: ReadSource, path: Path
) -> None:
    a, report = run_code(read_source(path), path, compile_ptx(path))
    assert not report.faults, report.faults[0]
    assert check(path, asked(path).arguments, a)
    if path.stem in PADDED | LAST_COMES:
        return
    ptx = run_file(compile_ptx, path)
    for ours, theirs in zip(a, ptx.a, strict=True):
        if isinstance(ours, np.ndarray):
            np.testing.assert_array_equal(ours.view(np.uint8), theirs.view(np.uint8))
