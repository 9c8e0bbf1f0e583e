"""Published problems are read in their own formats. The samples were written for these tests."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from harness.judge import Kernel, Submission
from harness.judge.folders import to_folder
from harness.judge.judge import Judge
from harness.judge.public import read

has_torch = importlib.util.find_spec("torch") is not None
with_torch = pytest.mark.gpu
"""Run by `make test-gpu`, because torch is installed only where there is a GPU."""

DEFINITION: dict[str, Any] = {
    "name": "scale_rows_h48",
    "axes": {
        "tokens": {"type": "var"},
        "width": {"type": "const", "value": 48},
        "both": {"type": "expr", "expression": "2 * width"},
    },
    "inputs": {
        "x": {"shape": ["tokens", "both"], "dtype": "bfloat16"},
        "weight": {"shape": ["both"], "dtype": "float32"},
        "factor": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["tokens", "both"], "dtype": "bfloat16"}},
    "reference": "def run(x, weight, factor):\n    return x * weight * factor\n",
}
MODULE = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 3)

    def forward(self, x):
        return torch.relu(self.linear(x))


rows = 1024 * 1024
width = 4096


def get_inputs():
    return [torch.rand(rows, width)]


def get_init_inputs():
    return [width]
"""
LINEAR = """__global__ void linear(const float* x, const float* w, const float* b, float* y,
                       int rows, int width) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * 3) return;
    float sum = b[i % 3];
    for (int k = 0; k < width; k++) sum += x[i / 3 * width + k] * w[i % 3 * width + k];
    y[i] = sum > 0 ? sum : 0;
}
"""


def written(folder: Path, text: str | dict[str, Any], name: str = "7_Sample.json") -> Path:
    path = folder / name
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def test_a_definition_is_a_problem_whose_sizes_are_its_variable_axes(tmp_path: Path) -> None:
    found = read(written(tmp_path, DEFINITION), factor=2.0)
    assert found.name == "scale_rows_h48"
    assert dict(found.inputs) == {"x": ("tokens", "(2 * 48)"), "weight": ("(2 * 48)",)}
    assert found.test == {"tokens": [1, 7, 34]}
    assert (found.dtypes, found.types) == (("bfloat16",), {"weight": "float32"})
    assert found.takes == ("x", "weight", "factor")
    assert found.tensors


def test_the_sizes_of_a_definition_may_be_given(tmp_path: Path) -> None:
    found = read(written(tmp_path, DEFINITION), {"tokens": 5, "width": 16}, factor=2.0)
    assert found.test == {"tokens": [5]}
    assert found.inputs["weight"] == ("(2 * 16)",)


def test_a_definition_makes_a_matrix(tmp_path: Path) -> None:
    problem = read(written(tmp_path, DEFINITION), factor=2.0)
    kernel = Kernel("__global__ void none() {}", entry="none", grid=1, block=32, args=())
    made = to_folder(Submission((kernel,), problem), tmp_path / "matrix")
    text = (made / "kernels" / "scale_rows_h48" / "problem.py").read_text()
    assert "reference = run" in text
    assert "scalars = {'factor': 2.0}" in text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"inputs": {"i": {"shape": ["tokens"], "dtype": "int32"}}}, "`i` is of int32"),
        ({"inputs": {"x": {"shape": ["tokens"], "dtype": "float4_e2m1"}}}, "float4_e2m1"),
        ({"custom_inputs_entrypoint": "made"}, "made by its `made`"),
        ({"axes": {"width": {"type": "const"}}}, "`value` is missing"),
        ({"reference": "def other(x):\n    return x\n"}, "defines no `run`"),
    ],
)
def test_a_definition_that_cannot_be_judged_is_refused_with_its_reason(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        read(written(tmp_path, {**DEFINITION, **change}), factor=2.0)


def test_a_number_that_a_definition_takes_has_to_be_given(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give it: factor="):
        read(written(tmp_path, DEFINITION))


def test_a_file_of_another_kind_is_no_problem(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no problem"):
        read(written(tmp_path, "", "a.txt"))
    with pytest.raises(UsageError, match="is no definition"):
        read(written(tmp_path, "[]"))
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path / "not_there.json")


@pytest.mark.skipif(has_torch, reason="torch is installed")
def test_a_module_without_torch_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="torch, which is not installed"):
        read(written(tmp_path, MODULE, "7_Sample.py"))


@with_torch
@pytest.mark.usefixtures("processes")  # importing torch starts one
def test_the_parameters_of_a_module_are_inputs_of_kernels(tmp_path: Path) -> None:
    found = read(written(tmp_path, MODULE, "7_Sample.py"), {"rows": 5, "width": 33})
    assert dict(found.inputs) == {
        "x": ("5", "33"), "linear_weight": ("3", "33"), "linear_bias": ("3",)
    }  # fmt: skip
    assert found.outputs == {"out": ("5", "3")}


@with_torch
@pytest.mark.usefixtures("processes")  # importing torch starts one
def test_a_module_that_is_too_large_says_what_may_be_smaller(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rows = 1048576, width = 4096"):
        read(written(tmp_path, MODULE, "7_Sample.py"))
    with pytest.raises(UsageError, match="no size `columns`"):
        read(written(tmp_path, MODULE, "7_Sample.py"), {"columns": 5})


@with_torch
@pytest.mark.usefixtures("processes")  # importing torch starts one
def test_a_number_that_is_not_positive_is_no_size(tmp_path: Path) -> None:
    padded = MODULE.replace("rows = ", "padding = 0\nrows = ")
    found = read(written(tmp_path, padded, "7_Sample.py"), {"rows": 5, "width": 33})
    assert found.test == {"rows, width": [[5, 33]]}


@with_torch
@pytest.mark.usefixtures("processes")  # importing torch starts one
def test_a_module_that_draws_numbers_is_refused(tmp_path: Path) -> None:
    random = MODULE.replace("torch.relu", "torch.rand_like")
    with pytest.raises(UsageError, match="differ from call to call"):
        read(written(tmp_path, random, "7_Sample.py"), {"rows": 5, "width": 33})


@with_torch
@pytest.mark.usefixtures("processes")  # importing torch starts one
@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (("", ""), "right"),
        (("b[i % 3]", "0"), "wrong"),
        (("k < width", "k < width - 1"), "wrong"),
        (("y[i] = sum", "((float*)x)[i] = 0; y[i] = 0; if (0) y[i] = sum"), "wrong"),
    ],
)
def test_kernels_for_a_module_are_judged(
    change: tuple[str, str], verdict: str, judge: Judge, tmp_path: Path
) -> None:
    problem = read(written(tmp_path, MODULE, "7_Sample.py"), {"rows": 5, "width": 33})
    kernel = Kernel(
        LINEAR.replace(*change) if change[0] else LINEAR, entry="linear", grid=1, block=32,
        args=("x", "linear_weight", "linear_bias", "out", "rows", "width"),
    )  # fmt: skip
    found = judge.check(Submission((kernel,), problem))
    assert found.verdict in (verdict, "fault" if verdict == "wrong" else verdict), found.text
