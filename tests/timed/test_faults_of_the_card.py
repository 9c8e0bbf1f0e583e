"""Failures of a worker that are no fault of a kernel: the card, its memory, or another process."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from station import Station

from harness.analysis.ladder import ladders
from harness.errors import DeviceLost
from harness.journal.records import Outcome, Round
from harness.measure.ceilings import PROBED
from harness.tables import Run

Ended = Callable[..., tuple[str, str]]


def rounds(run: Run, variant: str) -> list[Round]:
    return [r for r in run.of(Round) if r.case.startswith(f"double/{variant}/")]


def whole_rounds(run: Run, variants: tuple[str, ...]) -> bool:
    """Return whether every round has a batch of each variant."""
    found = [{(r.placement, r.round, r.cache) for r in rounds(run, v)} for v in variants]
    return all(each == found[0] for each in found)


@pytest.mark.fault(
    "the GPU falls off its bus in the middle of a round",
    outcome="The run stops at once, and no case is blamed; whole rounds stay, the open one is "
    "void; the report can be written, and the same command goes on.",
)
def test_a_lost_card_stops_the_run_blames_nobody_and_is_gone_on_with(
    station: Station, outcome: Ended
) -> None:
    variants = ("honest1", "honest2", "lose_card")
    run = station.run(*variants)
    assert isinstance(station.stopped, DeviceLost)
    assert "no CUDA-capable device is found" in str(station.stopped)
    assert "unspecified launch failure" in str(station.stopped)
    assert not run.of(Outcome)
    assert whole_rounds(run, variants)
    assert outcome(run, "honest2") == ("skipped", "not reached: the run ended first")
    station.flag("lost").unlink()
    station.flag("mended").touch()
    again = station.run(*variants)
    assert station.stopped is None
    assert [outcome(again, v) for v in variants] == [("ok", "")] * 3


@pytest.mark.fault(
    "an uncorrectable ECC error",
    outcome="The run stops at once, and no case is blamed; what was measured before stays.",
)
def test_an_ecc_error_stops_the_run_and_blames_nobody(station: Station) -> None:
    run = station.run("honest1", "ecc_error")
    assert isinstance(station.stopped, DeviceLost)
    assert "uncorrectable ECC error encountered (at double/ecc_error/" in str(station.stopped)
    assert not run.of(Outcome)
    assert whole_rounds(run, ("honest1", "ecc_error"))


@pytest.mark.fault(
    "a worker killed in the middle of a round",
    outcome="Its torn round is void, a placement is timed in its stead; nothing else is redone.",
)
def test_a_worker_killed_in_mid_round_costs_a_placement_and_nothing_else(
    station: Station, outcome: Ended
) -> None:
    variants = ("honest1", "honest2", "die_once")
    run = station.run(*variants)
    assert [outcome(run, v) for v in variants] == [("ok", "")] * 3
    assert whole_rounds(run, variants)
    per_placement = {p: {r.round for r in rounds(run, "honest2") if r.placement == p}
                     for p in range(4)}  # fmt: skip
    assert sum(len(found) == 2 for found in per_placement.values()) == 3  # as many as requested


@pytest.mark.fault(
    "a worker that is killed from outside, again and again",
    outcome="After three tries its cases fail with the signal's name; a resumed run tries again.",
)
def test_what_was_killed_from_outside_is_tried_again_by_the_next_run(
    station: Station, outcome: Ended
) -> None:
    run = station.run("honest1", "honest2", "die")
    status, reason = outcome(run, "die")
    assert (status, reason) == ("failed", "the process was ended by SIGKILL")
    assert outcome(run, "honest1")[0] == "failed"  # either of them could be the cause
    station.flag("mended").touch()
    again = station.run("honest1", "honest2", "die")
    assert outcome(again, "die") == outcome(again, "honest1") == ("ok", "")


@pytest.mark.fault(
    "a size that the device has no memory for",
    outcome="That size is skipped for all variants, with the reason; the others are timed, and the "
    "largest of them is the headline.",
)
def test_a_size_without_memory_is_skipped_for_all_variants(
    station: Station, outcome: Ended
) -> None:
    station.flag("full-4096").touch()
    run = station.run("honest1", "honest2", sizes="[1024, 4096]")
    for variant in ("honest1", "honest2"):
        assert outcome(run, variant) == ("ok", "")
        status, reason = outcome(run, variant, 4096)
        assert status == "skipped"
        assert reason.startswith("skipped for all variants, as there is no memory for this size")
        assert "`input` needs 16,384 bytes; 17 are free" in reason
    assert [ladder.sizes["n"] for ladder in ladders(run)] == [1024, 4096]
    station.flag("full-4096").unlink()
    again = station.run("honest1", "honest2", sizes="[1024, 4096]")
    assert outcome(again, "honest2", 4096) == ("ok", "")
    assert [ladder.sizes["n"] for ladder in ladders(again)] == [4096, 1024]
    assert rounds(again, "honest2")[: len(rounds(run, "honest2"))] == rounds(run, "honest2")


@pytest.mark.fault(
    "a card with room for one process of ours at a time, and others for none",
    outcome="A worker that gets no context waits for another to end; nothing fails.",
)
def test_workers_that_find_no_room_on_the_card_wait_their_turn(
    station: Station, outcome: Ended
) -> None:
    station.flag("seats").write_text("1")
    variants = tuple(f"honest{number}" for number in range(1, 5))
    run = station.run(*variants, jobs=4)
    assert station.stopped is None
    assert [outcome(run, v) for v in variants] == [("ok", "")] * 4
    assert station.flag("turned-away").exists()  # or else this test shows nothing


@pytest.mark.fault(
    "a card with no room for a single process of ours",
    outcome="Each variant says so, and a resumed run tries again; the GPU is not called lost.",
)
def test_a_card_without_room_is_not_called_lost(station: Station, outcome: Ended) -> None:
    station.flag("seats").write_text("0")
    run = station.run("honest1", "honest2")
    assert station.stopped is None
    status, reason = outcome(run, "honest1")
    assert (status, reason) == (
        "failed",
        "the device has no memory left for another process of ours",
    )
    station.flag("seats").unlink()
    assert outcome(station.run("honest1", "honest2"), "honest1") == ("ok", "")


def test_a_run_measures_every_ceiling_and_each_placement_those_of_memory(station: Station) -> None:
    run = station.run("honest1")
    assert set(PROBED) < set(run.ceilings)
    assert run.ceilings["exponential_rate"].unit == "exp/s"
    probed = {r.case for r in run.of(Round) if r.case not in run.planned}
    assert probed == {run.ceilings[name].case for name in PROBED}
