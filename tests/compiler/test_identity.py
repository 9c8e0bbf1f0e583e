"""Two kernels are identical to a GPU if everything that is loaded for them is identical."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.compiler import compile as compiler
from harness.compiler.compile import Resources, Unit
from harness.compiler.identity import loaded, machine_code

SOURCE = """\
__constant__ int rounds = 1;
__device__ float table[4] = {1, 2, 3, 4};
__device__ float other_table[4] = {1, 2, 3, 4};
extern "C" __global__ void scale(const float* in, float* out) {
    __shared__ float tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int r = 0; r < rounds; r++) sum += tile[63 - threadIdx.x] * table[r & 3];
    out[threadIdx.x] = sum;
}
extern "C" __global__ void fill(float* out) { out[threadIdx.x] = other_table[threadIdx.x & 3]; }
"""


def made(folder: Path, source: str) -> dict[str, Resources]:
    folder.mkdir(exist_ok=True)
    path = folder / "v0.cu"
    path.write_text(source)
    return dict(compiler.build(Unit(path, (folder,), (), "sm_90")).kernels)


@pytest.fixture
def known(tmp_path: Path, cache: Path) -> dict[str, Resources]:
    return made(tmp_path / "base", SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rounds = 1", "rounds = 64"),
        ("float table[4] = {1, 2", "float table[4] = {64, 2"),
    ],
    ids=["a constant", "a variable's initial value"],
)
def test_the_same_instructions_on_other_data_are_another_kernel(
    known: dict[str, Resources], tmp_path: Path, old: str, new: str
) -> None:
    assert SOURCE.count(old) == 1
    found = made(tmp_path / "new", SOURCE.replace(old, new))["scale"]
    assert found.sass_sha256 == known["scale"].sass_sha256
    assert found.loaded_sha256 != known["scale"].loaded_sha256


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("__constant__", "// A comment,\n// and another.\n__constant__"),
        ("rounds", "trips"),
        ("tile", "patch"),
        ("= other_table[threadIdx.x & 3]", "= 2 * other_table[threadIdx.x & 3]"),
    ],
    ids=["comments", "a constant's name", "an array's name", "another kernel of the file"],
)
def test_names_lines_and_other_kernels_make_no_difference(
    known: dict[str, Resources], tmp_path: Path, old: str, new: str
) -> None:
    found = made(tmp_path / "new", SOURCE.replace(old, new))["scale"]
    assert found.loaded_sha256 == known["scale"].loaded_sha256 != ""
    assert found.sass_sha256 == known["scale"].sass_sha256 != ""


def test_what_is_no_cubin_tells_nothing(tmp_path: Path) -> None:
    file = tmp_path / "kernel.cubin"
    file.write_bytes(b"no cubin")
    assert machine_code(file) == loaded(file, ["scale"]) == {}
