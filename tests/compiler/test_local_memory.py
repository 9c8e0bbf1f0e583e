"""Accesses to local memory are found in machine code and attributed to their source lines."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.compiler import toolchain
from harness.compiler.local_memory import places

SOURCE = """\
extern "C" __global__ void plain(const float* x, float* y) {
    y[threadIdx.x] = 2.0f * x[threadIdx.x];
}
extern "C" __global__ void array(const float* x, float* y, int n, int k) {
    float a[64];
    for (int i = 0; i < 64; ++i)
        a[i] = x[i * n + threadIdx.x];
    float s = 0;
    for (int i = 0; i < n; ++i)
        s += a[(i * k) & 63];
    y[threadIdx.x] = s;
}
"""
SPILLING = """\
#include "sum.cuh"
extern "C" __global__ void spills(const float* x, float* y) {
    float a[40];
#pragma unroll
    for (int i = 0; i < 40; ++i) a[i] = x[i * 64 + threadIdx.x];
    y[threadIdx.x] = sum(a);
}
"""
HEADER = """\
__device__ inline float sum(const float (&a)[40]) {
    float s = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int i = 0; i < 40; ++i) s = s * a[i] + a[(7 * i + j) % 40];
    return s;
}
"""


def cubin(folder: Path, source: str, *flags: str) -> Path:
    (folder / "k.cu").write_text(source)
    (folder / "sum.cuh").write_text(HEADER)
    nvcc = toolchain.find().nvcc
    command = [str(nvcc), "-O3", "-lineinfo", "-cubin", *flags, "-o", "k.cubin", "k.cu"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "k.cubin"


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_an_array_that_is_indexed_as_the_program_runs_is_found_where_it_is_read(
    tmp_path: Path, arch: str
) -> None:
    assert places(cubin(tmp_path, SOURCE, f"-arch={arch}")) == {"array": f"{tmp_path}/k.cu:10"}


def test_spilled_registers_of_an_inlined_function_are_found_where_it_is_called(
    tmp_path: Path,
) -> None:
    found = places(cubin(tmp_path, SPILLING, "-arch=sm_90", "-maxrregcount=24"))
    assert found == {"spills": f"{tmp_path}/k.cu:6"}


def test_without_lines_nothing_is_named(tmp_path: Path) -> None:
    path = cubin(tmp_path, SOURCE, "-arch=sm_90")
    without = path.read_bytes().replace(b".debug_line", b".debug_nine")
    path.write_bytes(without)
    assert places(path) == {}


@pytest.mark.fault(
    "a cubin that is cut, or none at all", outcome="no line of it is named, and nothing else stops"
)
@pytest.mark.parametrize("kept", [0, 3, 64, 500, 2000, -400])
def test_a_broken_cubin_names_no_line(tmp_path: Path, kept: int) -> None:
    path = cubin(tmp_path, SOURCE, "-arch=sm_90")
    path.write_bytes(path.read_bytes()[:kept])
    assert places(path) == {}
