"""The tables name the machine of each case; a record that two workers reported is used once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.journal.counter_records import Counted, SourceLine
from harness.journal.records import Located, Outcome, Planned, Record, Renewed
from harness.tables import Run

INFO = {"backend": "emulator", "timing": {"confidence": 0.95, "same_within": 0.01}}
CASE = "a/v0/float32/n=1"
PLANNED = Planned(CASE, "a", "v0", "float32", {"n": 1}, {}, 8, 1, True, False)


def run_of(folder: Path, *records: Record) -> Run:
    return Run(folder, INFO, [PLANNED, *records, Outcome(CASE, "ok")])


def at(stage: str, host: str, gpu: str = "") -> Located:
    return Located(CASE, stage, host, gpu)  # type: ignore[arg-type]


def test_a_run_on_one_machine_has_no_columns_of_hosts(tmp_path: Path) -> None:
    assert not {"host", "gpu"} & set(run_of(tmp_path).results.columns)


def test_the_host_is_where_it_was_measured_not_where_it_was_verified(tmp_path: Path) -> None:
    run = run_of(tmp_path, at("qualify", "n1", "GPU-1"), at("measure", "n2", "GPU-2"))
    assert run.results[["host", "gpu"]].values.tolist() == [["n2", "GPU-2"]]


def test_a_comparison_that_moved_names_both_cards(tmp_path: Path) -> None:
    run = run_of(tmp_path, at("measure", "n1", "GPU-1"), at("measure", "n1", "GPU-2"))
    assert run.results[["host", "gpu"]].values.tolist() == [["n1", "GPU-1 GPU-2"]]


def test_where_it_was_measured_before_it_was_renewed_is_forgotten(tmp_path: Path) -> None:
    anew = Renewed(CASE, "a", "v0", "float32", {"n": 1}, {}, "times", "the control failed")
    run = run_of(tmp_path, at("measure", "n1", "GPU-1"), anew, at("measure", "n2", "GPU-2"))
    assert run.results["gpu"].tolist() == ["GPU-2"]


def test_without_a_gpu_there_is_a_host_alone(tmp_path: Path) -> None:
    run = run_of(tmp_path, at("qualify", "n1"))
    assert run.results["host"].tolist() == ["n1"]
    assert run.results["gpu"].isna().all()


def test_what_two_workers_counted_counts_once(tmp_path: Path) -> None:
    line = SourceLine(CASE, 0, "v0.cu", 3, 1, 32, 1, 4, 0, 0)
    count = Counted(CASE, 0, "k", "m.sum", 4.0, "sector", "emulator-exact")
    run = run_of(tmp_path, count, line, replace(count), replace(line))
    assert run.lines == {CASE: [line]}
    assert len(run.counters) == 1
