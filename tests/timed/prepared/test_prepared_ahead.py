"""Small groups are verified at their timed sizes in parallel, before the first one is timed."""

from __future__ import annotations

from collections import defaultdict

import pytest
from started_processes import gone
from station import Station

from harness.journal.records import Finished, Round, Verified
from harness.run import planning
from harness.tables import Run

TIMED = ("1024", "512")
CORES = 4


def run(station: Station, *variants: str, jobs: int = CORES, timing: str = "") -> Run:
    station.flag("processes").touch()
    return station.run(*variants, sizes="[1024, 512]", jobs=jobs, timing=timing)


def sizes_by_process(station: Station) -> dict[str, list[str]]:
    found = defaultdict(list)
    for line in station.flag("processes").read_text().splitlines():
        process, size = line.split()
        if size in TIMED:
            found[process].append(size)
    return found


def is_verified_before_any_is_timed(run: Run) -> bool:
    kinds = [
        type(record) for record in run.records
        if (isinstance(record, Verified) and str(record.sizes["n"]) in TIMED)
        or (isinstance(record, Round) and record.case.startswith("double"))
    ]  # fmt: skip
    first = kinds.index(Round)
    return Verified not in kinds[first:]


def test_all_small_groups_are_verified_before_the_first_is_timed(station: Station) -> None:
    found = run(station, "honest1", "honest2")
    assert is_verified_before_any_is_timed(found)
    assert {o.status for o in found.outcomes.values()} == {"ok"}
    placed = {(r.case, r.placement) for r in found.of(Round) if r.case.startswith("double")}
    assert len(placed) == 4 * 3


def test_on_few_cores_each_group_is_verified_in_its_turn(station: Station) -> None:
    found = run(station, "honest1", "honest2", jobs=planning.SEVERAL - 1)
    assert not is_verified_before_any_is_timed(found)


def test_so_is_a_group_whose_inputs_are_large(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "SMALL", 1)
    assert not is_verified_before_any_is_timed(run(station, "honest1", "honest2"))


def test_no_process_that_prepares_is_left_when_timing_begins(station: Station) -> None:
    """Such a process would hold memory and its context during timing."""
    run(station, "honest1", timing=", shared_processes: true")
    worked = sizes_by_process(station)
    assert all(gone(int(process)) for process in worked)
    assert len(worked) in (4, 5)  # three run every group's placements; one or two prepare
    assert sum(sorted(sizes) == sorted(TIMED) for sizes in worked.values()) >= 3


def test_a_case_that_kills_its_process_costs_the_others_nothing(station: Station) -> None:
    found = run(station, "honest1", "crash")
    failed = [case for case, o in found.outcomes.items() if o.status == "failed"]
    assert failed == ["double/crash/float32/n=1024/block=64"]  # the size at which it crashes
    assert sum(o.status == "ok" for o in found.outcomes.values()) == 3


def test_a_resumed_run_prepares_only_what_was_not_measured(station: Station) -> None:
    run(station, "honest1", "honest2")
    before = sum(map(len, sizes_by_process(station).values()))
    found = run(station, "honest1", "honest2")
    assert sum(map(len, sizes_by_process(station).values())) == before
    assert any(isinstance(record, Finished) for record in found.records)
