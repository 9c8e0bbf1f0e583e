"""A quick run's processes each run one placement of every group, and never two of the same
group."""

from __future__ import annotations

from collections import Counter

import pytest
from started_processes import gone
from station import Station

from harness.journal.records import Round
from harness.tables import Run

TIMED, VERIFIED = ("1024", "512"), ("1", "33")
SHARED = ", shared_processes: true"


def processes(station: Station) -> Counter[tuple[str, str]]:
    """(process, size) → the number of workspaces that the process made at this timed size."""
    lines = station.flag("processes").read_text().splitlines()
    pairs = (line.split() for line in lines)
    return Counter((pid, size) for pid, size in pairs if size in TIMED)


def run(station: Station, *variants: str, **more: str) -> Run:
    station.flag("processes").touch()
    return station.run(*variants, sizes="[1024, 512]", **more)  # type: ignore[arg-type]


def test_each_process_prepares_or_places_every_group_once_and_none_stays(station: Station) -> None:
    found = run(station, "honest1", "honest2", timing=SHARED)
    worked = processes(station)
    assert set(worked.values()) == {1}
    pids = {pid for pid, _ in worked}
    assert len(pids) == 4  # one prepares, three run placements
    assert worked.keys() == {(pid, size) for pid in pids for size in TIMED}
    assert all(gone(int(pid)) for pid in pids)
    assert {o.status for o in found.outcomes.values()} == {"ok"}
    placed = {(r.case, r.placement) for r in found.of(Round) if r.case.startswith("double")}
    assert len(placed) == 4 * 3  # cases, placements


def test_by_default_every_placement_has_a_process_of_its_own(station: Station) -> None:
    run(station, "honest1", "honest2")
    worked = processes(station)
    assert len({pid for pid, _ in worked}) == len(worked) == 8


def test_one_that_dies_costs_its_group_a_placement_and_others_nothing(station: Station) -> None:
    found = run(station, "honest1", "fault_when_timed", timing=SHARED)
    status = {case.split("/")[1] + case[-13:]: o.status for case, o in found.outcomes.items()}
    assert [o.status for case, o in found.outcomes.items() if "honest1" in case] == ["ok", "ok"]
    failed = [case for case, o in found.outcomes.items() if o.status == "failed"]
    assert failed == ["double/fault_when_timed/float32/n=1024/block=64"], status
    assert len({(r.case, r.placement) for r in found.of(Round) if "honest1" in r.case}) >= 6


@pytest.mark.fault(
    "a card that others have filled while a quick run's processes wait for their next group",
    outcome="Those that wait are ended, and the placement is made in the room that they leave.",
)
def test_processes_that_wait_make_room_for_one_that_finds_none(station: Station) -> None:
    station.flag("seats").write_text("2")  # contexts on the card; four processes would wait
    found = run(station, "honest1", timing=SHARED)
    assert station.flag("turned-away").exists()
    assert {o.status for o in found.outcomes.values()} == {"ok"}
    placed = {(r.case, r.placement) for r in found.of(Round) if r.case.startswith("double")}
    assert len(placed) == 2 * 3


def verifying(station: Station) -> list[str]:
    """The processes that verified, each once."""
    lines = station.flag("processes").read_text().splitlines()
    return list(dict.fromkeys(pid for pid, size in map(str.split, lines) if size in VERIFIED))


def test_kernels_are_verified_in_a_process_that_waits_for_the_next_variant(
    station: Station,
) -> None:
    run(station, "honest1", "honest2", "honest3")
    [only] = verifying(station)
    assert gone(int(only))


def test_a_variant_with_a_function_of_its_own_is_verified_in_a_process_of_its_own(
    station: Station,
) -> None:
    (station.folder / "kernels" / "double" / "own.py").write_text(
        "def twice(input, output, n): output[:] = 2 * input\n"
    )
    station.flag("processes").touch()
    station.run(
        rows="      honest1: {source: v0.cu}\n      honest2: {python: 'own.py:twice'}\n"
        "      honest3: {source: v0.cu}\n"
    )
    assert len(verifying(station)) == 3
