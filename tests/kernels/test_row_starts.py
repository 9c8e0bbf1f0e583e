"""Rows of a matrix with more than 2^32 elements start at the right addresses."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from harness.compiler import toolchain
from harness.emulator import launch, parse

KERNELS = Path(__file__).parents[2] / "kernels"
OF_ROWS = [
    path
    for family in ("layer_norm", "rms_norm", "softmax_rows")
    for path in sorted((KERNELS / family).glob("*.cu"))
]
SNIPPET = """
#include "common/row.cuh"
extern "C" __global__ void starts(const unsigned* rows, const unsigned* cols,
                                  unsigned long long* starts) {
    starts[threadIdx.x] = row_start(rows[threadIdx.x], cols[threadIdx.x]);
}
"""


def test_a_row_may_start_beyond_32_bits(tmp_path: Path) -> None:
    path, ptx = tmp_path / "starts.cu", tmp_path / "starts.ptx"
    path.write_text(SNIPPET)
    nvcc = [toolchain.find().nvcc, "-std=c++17", "-arch=sm_90", f"-I{KERNELS}"]
    subprocess.run([*nvcc, "-ptx", str(path), "-o", str(ptx)], check=True, capture_output=True)
    rows = np.array([0, 3, 65535, 65535, 2**31 - 2, 2**32 - 1], np.uint32)
    cols = np.array([7, 5, 65537, 131072, 262144, 2**31 - 1], np.uint32)
    starts = np.zeros(len(rows), np.uint64)
    launch(parse(ptx.read_text()), "starts", 1, len(rows), [rows, cols, starts])
    assert starts.tolist() == [int(r) * int(c) for r, c in zip(rows, cols, strict=True)]


@pytest.mark.parametrize("path", OF_ROWS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_kernel_of_rows_starts_them_so(path: Path) -> None:
    text = path.read_text()
    if '#include "common/constant_row.cuh"' in text:  # it computes the row starts
        text += (KERNELS / "common" / "constant_row.cuh").read_text()
    assert "row_start(" in text
    assert not re.search(r"\* ?cols\b|\bcols ?\*", text)
