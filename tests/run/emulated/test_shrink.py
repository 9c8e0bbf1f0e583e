"""A case with a fault is reduced to the smallest numbers that still show the fault."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typing_commands import harness

from harness.run.emulated.shrink import shrunk

Numbers = dict[str, int]


@pytest.mark.parametrize(
    ("start", "shows", "least"),
    [
        ({"n": 2**20}, lambda v: v["n"] >= 1000, {"n": 1000}),
        ({"n": 1021}, lambda v: v["n"] % 4 != 0, {"n": 1}),
        ({"n": 4097}, lambda v: v["n"] % 32 == 1 and v["n"] > 1, {"n": 33}),
        ({"n": 100, "block": 256}, lambda v: v["block"] % 32 == 0 and v["n"] > 32,
         {"n": 33, "block": 32}),
        ({"n": 5000, "block": 256}, lambda v: v["n"] > 2 * v["block"] and v["block"] >= 8,
         {"n": 17, "block": 8}),
        ({"n": 7}, lambda v: v["n"] == 7, {"n": 7}),
        ({"n": 1}, lambda v: True, {"n": 1}),
        ({}, lambda v: True, {}),
    ],
)  # fmt: skip
def test_numbers_are_shrunk_as_far_as_the_fault_shows(
    start: Numbers, shows: Callable[[Numbers], bool], least: Numbers
) -> None:
    assert shows(start)
    found = shrunk(start, shows)
    assert found == least
    assert shows(found)


def test_no_number_below_one_is_tried_and_few_are() -> None:
    tried: list[int] = []

    def shows(numbers: Numbers) -> bool:
        tried.append(numbers["n"])
        return numbers["n"] > 3_000_000

    assert shrunk({"n": 2**28}, shows) == {"n": 3_000_001}
    assert min(tried) == 1
    assert max(tried) < 2**22 + 2
    assert len(tried) < 250


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The problem that `new` writes, with a variant that reads one element too far."""
    here = tmp_path_factory.mktemp("faulty")
    ended = harness("new", "scaled", cwd=here)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    source = here / "kernels" / "scaled" / "v0_plain.cu"
    text = source.read_text()
    assert "2 * x[i]" in text
    source.write_text(text.replace("2 * x[i]", "2 * x[i + 1]"))
    return here


def test_annotate_shows_a_fault_where_it_is_smallest(faulty: Path) -> None:
    ended = harness("annotate", "scaled/v0_plain", "--smallest", cwd=faulty)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    lines = ended.stdout.splitlines()
    assert "has a fault: kernels/scaled/v0_plain.cu:" in lines[0]
    assert lines[1].startswith("scaled/v0_plain/float32/n=1/block="), lines[1]
    (fault,) = (line for line in lines if line.startswith("FAULT"))
    assert "out of bounds" in fault


def test_a_fault_of_a_test_size_alone_is_found(faulty: Path) -> None:
    source = faulty / "kernels" / "scaled" / "v1_grid_stride.cu"
    text = source.read_text()
    assert "2 * x[i]" in text
    source.write_text(text.replace("2 * x[i]", "2 * x[n == 33 ? i + 1 : i]"))
    ended = harness("annotate", "scaled/v1_grid_stride", "--smallest", cwd=faulty)
    source.write_text(text)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert ended.stdout.startswith("scaled/v1_grid_stride/float32/n=33/")


def test_a_run_names_the_command_that_shows_a_fault_smallest(faulty: Path) -> None:
    ended = harness(
        "run",
        "--backend",
        "emulator",
        "--quick",
        "--only",
        "scaled/v0_plain",
        "--out",
        "run",
        cwd=faulty,
    )
    said = [line for line in ended.stdout.splitlines() if "--smallest" in line]
    assert len(said) == 1, ended.stdout + ended.stderr
    assert "annotate scaled/v0_plain/float32/n=" in said[0]
    assert said[0].endswith("shows it with the fewest threads")


def test_a_case_without_a_fault_is_annotated_as_it_is(faulty: Path) -> None:
    ended = harness("annotate", "scaled/v1_grid_stride", "--smallest", cwd=faulty)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "has a fault" not in ended.stdout
