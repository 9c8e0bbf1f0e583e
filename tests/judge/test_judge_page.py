"""The examples of docs/judge.md and of the README run exactly as on the page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGE = (ROOT / "docs" / "judge.md").read_text()
TWICE = """\
__global__ void twice(const float* x, float* y) { y[blockIdx.x] = 2 * x[blockIdx.x]; }
"""
TILE = """\
__global__ void transpose(const float* x, float* y, int n) {
    __shared__ float tile[32][%d];
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    if (row < n && column < n) tile[threadIdx.y][threadIdx.x] = x[row * n + column];
    __syncthreads();
    const int to = blockIdx.y * 32 + threadIdx.x, from = blockIdx.x * 32 + threadIdx.y;
    if (from < n && to < n) y[from * n + to] = tile[threadIdx.x][threadIdx.y];
}
"""


def example(name: str) -> str:
    [block] = re.findall(rf"<!-- {name}:begin -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    return str(block)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "transpose.cu").write_text(TILE % 32)
    (tmp_path / "padded.cu").write_text(TILE % 33)
    (tmp_path / "reference.py").write_text("def transpose(x):\n    return x.T\n")
    return tmp_path


def run(place: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=place, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT),
             "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )  # fmt: skip


def test_the_example_in_python(place: Path) -> None:
    (place / "example.py").write_text(example("python"))
    ended = run(place, sys.executable, "example.py")
    assert ended.returncode == 0, ended.stderr
    verdict, conflicts, _ = ended.stdout.split()
    assert verdict == "right"
    assert f"prints `right {conflicts}" in PAGE
    (place / "transpose.cu").write_text(TILE % 33)
    assert run(place, sys.executable, "example.py").stdout.startswith("right 0.0")


def plugin() -> list[str]:
    """pytest's options for the plugin, which are unnecessary if the package is installed."""
    name = "harness.judge.pytest_plugin"
    known = any(each.value == name for each in entry_points(group="pytest11"))
    return [] if known else ["-p", name]


def test_the_example_in_pytest(place: Path) -> None:
    (place / "test_example.py").write_text(example("pytest"))
    ended = run(place, sys.executable, "-m", "pytest", "-q", *plugin())
    assert ended.returncode == 0, ended.stdout


def test_the_example_of_serve(place: Path) -> None:
    ended = run(place, "bash", "-euc", example("serve"))
    assert ended.returncode == 0, ended.stderr
    ready, answer = map(json.loads, ended.stdout.splitlines())
    [verdict] = answer["verdicts"]
    assert ready["ready"]
    assert (verdict["verdict"], verdict["cause"]) == ("fault", "out of bounds")
    assert (verdict["file"], verdict["line"]) == ("twice.cu", 1)


def test_the_readmes_five_lines_for_python_and_for_pytest(place: Path) -> None:
    in_python, in_pytest = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    for lines in (in_python, in_pytest):
        assert len([each for each in lines.splitlines() if each]) <= 5
    (place / "example.py").write_text(in_python)
    (place / "test_example.py").write_text(in_pytest)
    (place / "twice.cu").write_text(TWICE)
    (place / "reference.py").write_text("def twice(x):\n    return 2 * x\n")
    # In one process, because both share the process's judge.
    both = "import runpy, sys, pytest; runpy.run_path('example.py'); sys.exit(pytest.main(%r))"
    ended = run(place, sys.executable, "-c", both % ["-q", *plugin()])
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.startswith("twice: right: ")
    assert "1 passed" in ended.stdout


def test_the_readmes_five_lines_for_serve(place: Path) -> None:
    [lines] = re.findall(r"```sh\n(echo .*?)```", README, re.DOTALL)
    assert len(lines.splitlines()) == 5
    ended = run(place, "bash", "-euc", lines)
    assert ended.returncode == 0, ended.stderr
    _, answer = map(json.loads, ended.stdout.splitlines())
    assert [each["verdict"] for each in answer["verdicts"]] == ["right"]


def test_the_page_names_every_verdict() -> None:
    from typing import get_args

    from harness.judge.verdicts import Kind

    table = PAGE.split("| verdict | meaning |")[1].split("\n\n")[0]
    assert set(re.findall(r"`([a-z-]+)`(?:,| \|)", table)) >= set(get_args(Kind))


def test_the_page_names_every_field_of_a_problem() -> None:
    from dataclasses import fields

    from harness.judge import Problem

    table = PAGE.split("| field of a problem | meaning |")[1].split("\n\n")[0]
    told = set(re.findall(r"`(\w+)`", table))
    assert {field.name for field in fields(Problem)} <= told | {"reference", "name"}  # type: ignore[arg-type]
