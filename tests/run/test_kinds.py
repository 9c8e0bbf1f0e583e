"""Whole emulated runs of other element types, templates and functions, and rejected matrices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import tables
from harness.backends.emulated_device import emulated_device
from harness.journal.records import Planned, Verified
from harness.matrix import model
from harness.run.runner import Runner

pytestmark = pytest.mark.usefixtures("importable")

PROBLEM = """\
import numpy as np
from harness.problem import Buffer, Problem, Work, machine_epsilon, numpy_dtype


class Halve(Problem):
    title = "y[i] = scale x[i]"

    def buffers(self, sizes, dtype):
        return [Buffer("x", "input", dtype, sizes["n"]), Buffer("y", "output", dtype, sizes["n"])]

    def inputs(self, sizes, dtype, rng, draw):
        if dtype == "bool":
            return {"x": rng.integers(0, 2, sizes["n"]).astype(numpy_dtype(dtype))}
        return {"x": (8 * rng.integers(-8, 8, sizes["n"])).astype(numpy_dtype(dtype))}

    def reference(self, sizes, dtype, inputs):
        scale = 1 if dtype == "bool" else 0.5
        return {"y": scale * inputs["x"].astype(np.float64)}

    def tolerance(self, sizes, dtype, inputs):
        return {"y": 0}

    def work(self, sizes, dtype):
        size = numpy_dtype(dtype).itemsize
        return Work(size * sizes["n"], size * sizes["n"], sizes["n"])
"""

KERNELS = """\
#include <cstdint>

#include <cuda_bf16.h>
#include "scaled.cuh"

template <typename T, int Block>
__global__ void scaled(const T* x, T* y, float scale, int n) {
    const int i = blockIdx.x * Block + threadIdx.x;
    if (i < n) y[i] = T(scale * float(x[i]));
}
extern "C" __global__ void one_type(const DTYPE* x, DTYPE* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = DTYPE(SCALE * float(x[i]));
}
"""

MATRIX = """\
dtypes: [bfloat16]
sizes: {test: {n: [1, 33]}, bench: {n: [1000]}}
launch: {block: [64]}
baseline: v0
defaults:
  include: [headers]
  steps:
    one_type: {grid: "ceil_div(n, block)", block: block, args: [x, y, n]}
variants:
  v0:
    defines: {SCALE: 0.5}
"""


@pytest.fixture
def halve(same_place: Path) -> Path:
    """A problem whose kernels need a header of their own, and its folder."""
    here = same_place / "kernels" / "halve"
    (here / "headers").mkdir(parents=True)
    (here / "headers" / "scaled.cuh").write_text("#ifndef SCALE\n#define SCALE 0.5f\n#endif\n")
    (here / "problem.py").write_text(PROBLEM)
    (here / "v0.cu").write_text(KERNELS)
    return here


def run(here: Path, more: str = "", matrix: str = MATRIX, *only: str) -> tables.Run:
    folder = here.parents[1] / "run"
    folder.mkdir(exist_ok=True)
    (here / "bench.yaml").write_text(matrix + more)
    bench = model.load(None, here.parent)
    runner = Runner(bench, emulated_device("sm_90"), "emulator", only, folder)
    info = {"backend": "emulator", "timing": bench.timing.model_dump()}
    (folder / "run.json").write_text(json.dumps(info))
    runner.run()
    return tables.load(folder)


def outcomes(found: tables.Run) -> dict[str, str]:
    return {case: f"{o.status} {o.reason}".strip() for case, o in found.outcomes.items()}


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "uint8", "uint32", "int64", "bool"])
def test_a_kernel_of_another_element_type_is_run_and_verified_exactly(
    halve: Path, dtype: str
) -> None:
    matrix = MATRIX.replace("[bfloat16]", f"[{dtype}]")
    if dtype in ("uint8", "uint32"):
        (halve / "problem.py").write_text(PROBLEM.replace("integers(-8, 8", "integers(0, 8"))
    if dtype == "bool":
        matrix = matrix.replace("SCALE: 0.5", "SCALE: 1.0")
    found = run(halve, matrix=matrix)
    assert outcomes(found) == {f"halve/v0/{dtype}/n=1000/block=64": "ok"}
    assert [v.error for v in found.of(Verified)] == [0.0] * 5  # two sizes, two draws; one bench


def test_a_wrong_bfloat16_is_found(halve: Path) -> None:
    found = run(halve, matrix=MATRIX.replace("SCALE: 0.5", "SCALE: 0.51"))
    [said] = outcomes(found).values()
    assert said.startswith("failed at n = ")
    assert "is wrong" in said


def test_a_template_with_float_arguments_runs_by_the_name_that_cxx_gives_it(halve: Path) -> None:
    more = """\
  v1:
    builds_on: v0
    source: v0.cu
    dtypes: [float32, bfloat16]
    steps:
      - kernel: scaled<DTYPE, {block}>
        grid: ceil_div(n, block)
        block: block
        args: [x, y, 1 / 2.0, n]
"""
    found = run(halve, more)
    assert outcomes(found) == {
        "halve/v0/bfloat16/n=1000/block=64": "ok",
        "halve/v1/float32/n=1000/block=64": "ok",
        "halve/v1/bfloat16/n=1000/block=64": "ok",
    }
    planned = {p.case: p for p in found.of(Planned)}
    assert planned["halve/v1/float32/n=1000/block=64"].builds_on == "v0"
    assert planned["halve/v1/float32/n=1000/block=64"].kernels == ("scaled<DTYPE, 64>",)
    counted = found.counters.query("case == 'halve/v1/float32/n=1000/block=64'")
    assert set(counted.kernel) == {"scaled<DTYPE, 64>"}


def test_without_a_gpu_functions_are_cases_that_are_skipped_with_the_reason(halve: Path) -> None:
    (halve / "fast.py").write_text("raise RuntimeError('this is never run')\ndef halve(): ...\n")
    found = run(
        halve, "  py: {python: fast.py:halve}\nlibraries:\n  lib: {python: fast.py:halve}\n"
    )
    said = outcomes(found)
    assert said["halve/py/bfloat16/n=1000"] == (
        "skipped the emulator executes kernels; a Python function needs a GPU"
    )
    assert said["halve/lib/bfloat16/n=1000"] == (
        "skipped the emulator executes kernels; a library needs a GPU"
    )
    assert {p.variant: p.is_library for p in found.of(Planned)} == {
        "v0": False, "py": False, "lib": True,
    }  # fmt: skip


def test_a_test_size_whose_launch_is_refused_fails_the_variant_and_is_named(halve: Path) -> None:
    more = '  v1: {source: v0.cu, steps: {one_type: {grid: "n // block"}}}\n'
    matrix = MATRIX.replace("n: [1000]", "n: [1024]")
    said = outcomes(run(halve, more, matrix))
    assert said["halve/v0/bfloat16/n=1024/block=64"] == "ok"
    assert said["halve/v1/bfloat16/n=1024/block=64"] == (
        "failed at the test size n = 1: one_type: grid (0, 1, 1) has an extent below 1"
    )


def test_a_test_size_that_when_leaves_out_fails_nothing(halve: Path) -> None:
    more = '  v1: {source: v0.cu, when: n >= block, steps: {one_type: {grid: "n // block"}}}\n'
    matrix = MATRIX.replace("n: [1000]", "n: [1024]").replace("[1, 33]", "[1, 33, 128]")
    found = run(halve, more, matrix)
    assert outcomes(found)["halve/v1/bfloat16/n=1024/block=64"] == "ok"
    tested = [v.sizes["n"] for v in found.of(Verified) if v.variant == "v1" and v.phase == "test"]
    assert tested == [128, 128]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('return {"y": 0}', 'return {"y": 0 // (sizes["n"] - 33)}',
         "problem.py:21: tolerance(): ZeroDivisionError: integer division or modulo by zero\n"
         "  for n = 33, bfloat16"),
        ('"x": (8 *', '"x": 1 // draw if draw == 0 else (8 *',
         "problem.py:14: inputs(): ZeroDivisionError: integer division or modulo by zero\n"
         "  for n = 1, bfloat16, draw 0"),
        ("size * sizes", "1 // 0 * sizes", "problem.py:25: work(): ZeroDivisionError"),
    ],
)  # fmt: skip
def test_a_fault_of_a_problem_is_the_same_sentence_for_all_of_its_cases_and_no_other(
    halve: Path, old: str, new: str, words: str
) -> None:
    other = halve.parent / "sound"
    other.mkdir()
    for name in ("problem.py", "v0.cu"):
        (other / name).write_text((halve / name).read_text())
    (other / "headers").symlink_to(halve / "headers")
    (other / "bench.yaml").write_text(MATRIX)
    assert PROBLEM.count(old) in (1, 2)
    (halve / "problem.py").write_text(PROBLEM.replace(old, new, 1))
    said = outcomes(run(halve, "  v1: {source: v0.cu}\n", MATRIX.replace("[64]", "[64, 128]")))
    assert said["sound/v0/bfloat16/n=1000/block=64"] == "ok"
    faults = {reason for case, reason in said.items() if case.startswith("halve")}
    assert len(said) == 5
    [fault] = faults
    assert words in fault
    assert "while running" not in fault
