"""The profiling stage within a run: from the command line's options to the journal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import stub_ncu

from harness.cases import Case, Step
from harness.errors import UsageError
from harness.job import JOB, Job
from harness.journal.counter_records import Counted, Profiled, Uncounted
from harness.journal.file import Journal, read_journal
from harness.journal.records import Record
from harness.ncu import ranges
from harness.ncu.command_line import Settings
from harness.ncu.stage import ProfileOptions, profile

STEP = Step("kernel", (4, 1, 1), (256, 1, 1), 0, ())
CASES = [
    Case("reduce_sum", variant, "float32", {"n": n}, {"block": 256}, "v.cu", steps=(STEP,))
    for variant in ("v0", "v1")
    for n in (2**20, 2**24)
]


def job(cases: tuple[Case, ...]) -> Job:
    return Job("profile", "cuda", None, Path("kernels"), 1, cases=cases)


@pytest.fixture
def wanted(tmp_path: Path) -> ProfileOptions:
    return ProfileOptions(("dram",), stub_ncu.install(tmp_path), Settings())


def run(wanted: ProfileOptions, folder: Path, seen: list[Record]) -> list[str]:
    failures = profile(wanted, CASES, job, folder, 20.0, list(seen), seen.append)
    return [failure.kind for failure in failures]


def test_every_case_is_counted_and_how_is_told(tmp_path: Path, wanted: ProfileOptions) -> None:
    seen: list[Record] = []
    assert run(wanted, tmp_path, seen) == []
    counted = {r.case for r in seen if isinstance(r, Counted)}
    assert counted == {case.id for case in CASES}
    told = seen[-1]
    assert isinstance(told, Profiled)
    assert (told.ncu, told.cache_control, told.clock_control) == ("2025.3.1.0", "all", "none")
    assert told.asked["dram__bytes_read.sum"] == "dram__bytes_read.sum"
    assert sorted(told.reports) == sorted(p.name for p in (tmp_path / "profile").glob("*.ncu-rep"))


def test_a_gpu_with_other_names_is_asked_by_them_and_recorded_under_ours(
    tmp_path: Path, wanted: ProfileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUB_NCU", "good op")
    seen: list[Record] = []
    assert run(wanted, tmp_path, seen) == []
    assert isinstance(seen[-1], Profiled)
    assert seen[-1].asked["dram__bytes_read.sum"] == "dram__bytes_op_read.sum"
    assert any(isinstance(r, Counted) and r.metric == "dram__bytes_read.sum" for r in seen)
    assert not any(isinstance(r, Uncounted) for r in seen)


def test_a_run_that_was_profiled_is_not_profiled_again(
    tmp_path: Path, wanted: ProfileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Record] = []
    run(wanted, tmp_path, seen)
    before = len(seen)
    monkeypatch.setenv("STUB_NCU", "forbidden")
    assert run(wanted, tmp_path, seen) == []
    assert len(seen) == before


def test_another_set_is_collected_in_addition(tmp_path: Path, wanted: ProfileOptions) -> None:
    seen: list[Record] = []
    run(wanted, tmp_path, seen)
    assert run(ProfileOptions(("cache",), wanted.ncu), tmp_path, seen) == []
    assert any(isinstance(r, Counted) and r.metric == "lts__t_sector_hit_rate.pct" for r in seen)


def test_forbidden_counters_are_one_failure_for_all_cases(
    tmp_path: Path, wanted: ProfileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUB_NCU", "forbidden")
    seen: list[Record] = []
    assert run(wanted, tmp_path, seen) == ["forbidden"]
    reasons = [r for r in seen if isinstance(r, Uncounted)]
    assert {r.case for r in reasons} == {case.id for case in CASES}
    assert all(r.reason.startswith("not permitted: ") for r in reasons)


def test_an_unknown_set_is_refused_before_ncu_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such set"):
        profile(ProfileOptions(("nothing",), "/nowhere"), CASES, job, tmp_path, 1.0, [], print)


def test_what_is_missing_survives_the_journal(tmp_path: Path) -> None:
    told = [
        Uncounted("a", 0, "dram__bytes_read.sum", "not permitted: ask"),
        Profiled("2025.3.1.0", "all", "none", "gh100", {"a.sum": "b.sum"}, ("x.ncu-rep",)),
    ]
    with Journal(tmp_path / "journal.jsonl") as journal:
        for record in told:
            journal.append(record)
    assert list(read_journal(tmp_path / "journal.jsonl")) == told


def test_a_range_names_its_case_and_step_and_nothing_else_does() -> None:
    case = CASES[0].id
    assert ranges.parse(ranges.name(case, 1)) == (case, 1)
    for other in ("", case, f"{case}#", f"{case}#x", "#1", f"{case}#-1"):
        assert ranges.parse(other) is None


def test_a_worker_writes_its_lines_to_a_file_as_well_as_to_a_descriptor(tmp_path: Path) -> None:
    job_file, lines = tmp_path / "job.json", tmp_path / "lines"
    job_file.write_bytes(JOB.dump_json(Job("describe", "emulator", "sm_90", Path(), 0)))
    command = [sys.executable, "-m", "harness.worker", str(job_file), str(lines)]
    subprocess.run(command, check=True, timeout=120)
    words = [line.partition(" ")[0] for line in lines.read_text().splitlines()]
    assert words == ["pid", "device"]
