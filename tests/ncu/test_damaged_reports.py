"""Incomplete or damaged reports of Nsight Compute: the message names the defect."""

from __future__ import annotations

from pathlib import Path

from report_files import Launch, content, write

from harness.ncu.container import Container, inspect
from harness.ncu.failures import Failure
from harness.ncu.reader import Report, read

CASE = "reduce_sum/v0/float32/n=16/block=256"


def test_a_file_cut_off_anywhere_is_called_cut_off_and_shows_no_figure(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    metrics = {"dram__bytes_read.sum": 64.0, "lts__t_bytes.sum": 32.0}
    whole = content([Launch("k", (f"{CASE}#{i}",), metrics) for i in range(3)])
    ends = {4 + 4 + 2}  # a file that ends after its header has no blocks
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        failure = read(path)
        if size in ends:
            assert isinstance(failure, Report)
            assert not failure.steps
        else:
            assert isinstance(failure, Failure), size
            assert failure.kind == "truncated", size


def test_a_file_of_something_else_is_not_a_report(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    path.write_text("hello")
    failure = read(path)
    assert isinstance(failure, Failure)
    assert failure.kind == "foreign"


def test_a_file_that_does_not_exist_says_so(tmp_path: Path) -> None:
    failure = read(tmp_path / "none.ncu-rep")
    assert isinstance(failure, Failure)
    assert failure.kind == "no report"


def test_a_report_of_another_format_is_not_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    launch = Launch("k", (f"{CASE}#0",), {"dram__bytes_read.sum": 64.0})
    write(path, [launch], version="2019.1.0.0", file_format=1)
    failure = read(path)
    assert isinstance(failure, Failure)
    assert failure.kind == "other version"
    assert "Nsight Compute 2019.1.0.0" in failure.text
    assert "it shows none of the launches" in failure.text


def test_the_framing_tells_the_launches_and_the_version(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    write(path, [Launch("k"), Launch("l")], version="2026.1.2.0")
    assert inspect(path) == Container(2, "2026.1.2.0")
