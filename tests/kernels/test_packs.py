"""Kernels that access 16 bytes at a time, on arrays that do not start at a multiple of 16.

The harness's buffers always start at a multiple of 16, so a run never takes the other path.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.compiler import toolchain
from harness.dtypes import BY_NAME, numpy_dtype
from harness.emulator import LaunchReport, launch, parse

KERNELS = Path(__file__).parents[2] / "kernels"
N = 1021
SOURCES = {
    "elementwise_add/v2b_eight_halves": "add",
    "elementwise_add/v3_packs_in_flight": "add",
    "elementwise_add/v4_streaming": "add",
    "elementwise_mul_half/v2_eight_halves": "multiply",
    "elementwise_mul_half/v3_packs_in_flight": "multiply",
    "elementwise_mul_half/v4_streaming": "multiply",
    "relu/v2b_eight_halves": "relu",
    "relu/v3_packs_in_flight": "relu",
    "sigmoid/v2b_eight_halves": "sigmoid",
    "sigmoid/v3_packs_in_flight": "sigmoid",
    "sigmoid/v4_fast_exponential": "sigmoid",
}
EXPECTED: dict[str, tuple[int, Callable[..., Any]]] = {
    "add": (2, np.add),
    "multiply": (2, np.multiply),
    "relu": (1, lambda x: np.maximum(x, 0)),
    "sigmoid": (1, lambda x: 1 / (1 + np.exp(-x))),
}
"""The number of inputs, and the function of them."""

SHIFTED = """
#include "common/pack.cuh"
// A kernel cannot call another one, so the variant's becomes a function of the device.
#pragma push_macro("__global__")
#undef __global__
#define __global__ __device__
#include "{source}.cu"
#pragma pop_macro("__global__")
extern "C" __global__ void shifted({parameters}, {type}* output, size_t n) {{
    {kernel}({arguments}, output + 1, n);
}}
"""


def one_element_late(
    source: str, kernel: str, dtype: str, folder: Path
) -> tuple[list[np.ndarray], np.ndarray, LaunchReport]:
    """The inputs and the output of a launch whose arrays all start one element after a boundary."""
    count, _ = EXPECTED[kernel]
    ctype, numpy = BY_NAME[dtype].cpp, numpy_dtype(dtype)
    text = SHIFTED.format(
        source=source, kernel=kernel, type=ctype,
        parameters=", ".join(f"const {ctype}* x{i}" for i in range(count)),
        arguments=", ".join(f"x{i} + 1" for i in range(count)),
    )  # fmt: skip
    path, ptx = folder / "shifted.cu", folder / "shifted.ptx"
    path.write_text(text)
    command = [toolchain.find().nvcc, "-O3", "-std=c++17", "-lineinfo", "-arch=sm_90",
               f"-I{KERNELS}", f"-DDTYPE={ctype}", "-ptx", str(path), "-o", str(ptx)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    rng = np.random.default_rng(1)
    inputs = [rng.uniform(-4, 4, N + 1).astype(numpy) for _ in range(count)]
    output = np.full(N + 1, np.nan, numpy)
    report = launch(parse(ptx.read_text()), "shifted", 4, 64, [*inputs, output, N])
    return inputs, output, report


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("source", SOURCES)
def test_an_array_may_start_between_two_packs(source: str, dtype: str, tmp_path: Path) -> None:
    kernel = SOURCES[source]
    inputs, output, report = one_element_late(source, kernel, dtype, tmp_path)
    assert not report.faults, str(report.faults[0])
    exact = EXPECTED[kernel][1](*(x[1:].astype(np.float64) for x in inputs))
    assert np.all(
        np.abs(output[1:] - exact) <= np.spacing(numpy_dtype(dtype).type(np.abs(exact).max()))
    )
    assert np.isnan(output[0]), "the element before the array was written"


def test_a_kernel_that_assumes_packs_is_caught_there(tmp_path: Path) -> None:
    _, _, report = one_element_late("elementwise_add/v1a_float4", "add", "float32", tmp_path)
    assert any("misaligned" in str(fault) for fault in report.faults), report.faults


def test_every_source_that_takes_packs_is_here() -> None:
    taking = [path for path in KERNELS.glob("*/*.cu") if "start_on_16_bytes" in path.read_text()]
    found = {str(path.relative_to(KERNELS).with_suffix("")) for path in taking}
    assert found == {*SOURCES, "dot/v4b_eight_halves"}  # test_dot.py tests the last
