"""A project's own tests check kernels with the fixture `cuda_kernel`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import affine
import pytest

from harness.judge import pytest_plugin

ROOT = Path(__file__).parents[2]
TESTS = """\
import numpy as np
import pytest

from harness.judge import Problem

problem = Problem(
    lambda x, n: 3 * x + n, inputs={"x": "n"}, outputs={"y": "n"}, test={"n": [1, 33]},
    name="affine",
)
LAUNCH = dict(entry="affine", grid="ceil_div(n, 256)", block=256, args=["x", "y", "n"])


def test_right(cuda_kernel):
    report = cuda_kernel("right.cu", problem, **LAUNCH)
    assert report.bank_conflicts == 0
    assert report.counters["launches"] == 1


def test_outside(cuda_kernel):
    cuda_kernel("outside.cu", problem, **LAUNCH)


def test_budget(cuda_kernel):
    cuda_kernel("right.cu", problem, **LAUNCH, expect={"registers": "<= 2"})


def test_refused(cuda_kernel):
    assert cuda_kernel.judged("outside.cu", problem, **LAUNCH).cause == "out of bounds"


def test_time(cuda_kernel):
    cuda_kernel.time("right.cu", problem, **LAUNCH)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """pytest's output for a project with the plugin, run from a folder other than the kernels'."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "own").mkdir()
    for name in ("right", "outside"):
        (folder / "own" / f"{name}.cu").write_text(affine.text(affine.BODIES[name]))
    (folder / "own" / "test_kernels.py").write_text(TESTS)
    installed = any(e.value == pytest_plugin.__name__ for e in entry_points(group="pytest11"))
    named = [] if installed else ["-p", pytest_plugin.__name__]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *named, "-p", "no:cacheprovider", "-rs", "own"],
        cwd=folder, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert ended.returncode == 1, ended.stdout + ended.stderr
    return ended.stdout


def test_a_right_kernel_passes_with_its_counters(told: str) -> None:
    skips = 0 if "1 skipped" not in told else 1
    assert f"2 failed, 2 passed{', 1 skipped' * skips}" in told


def test_a_fault_fails_the_test_with_its_lines(told: str) -> None:
    assert "outside: FAULT: out of bounds at outside.cu:3" in told
    assert re.search(r">    3 \|     y\[i\] = 3 \* x\[i\] \+ n;", told)


def test_a_broken_budget_fails_the_test(told: str) -> None:
    assert re.search(r"BUDGET registers is \d+, expected at most 2", told)


def test_a_time_without_a_gpu_is_skipped(told: str) -> None:
    if not Path("/dev/nvidiactl").exists():
        assert "a time needs an NVIDIA GPU" in told


def test_a_table_lists_every_kernel_that_a_test_has_judged(told: str) -> None:
    table = told.partition("CUDA kernels")[2].splitlines()
    assert table[1].split() == [
        "test", "kernel", "verdict", "instructions", "sectors", "bank_conflicts", "registers",
        "spills",
    ]  # fmt: skip
    rows = {line.split()[0]: line.split() for line in table[2:6]}
    assert rows["test_right"][1:3] == ["right", "right"]
    assert rows["test_right"][5] == "0"
    assert rows["test_outside"][1:] == ["outside", "fault"]
    assert rows["test_refused"][1:] == ["outside", "fault"]
    assert rows["test_budget"][1:3] == ["right", "right"]
