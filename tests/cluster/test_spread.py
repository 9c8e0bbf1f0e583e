"""A matrix spread over workers gives the same results as one process, whatever happens to the
workers."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import distributed
import pytest
from ground import Ground
from workers import Workers

from harness.cluster import versions
from harness.errors import BackendUnavailable, UsageError
from harness.journal.records import Finished, Located, Record


def beside(work: Callable[[], int]) -> tuple[threading.Thread, list[int]]:
    """Run the work in a thread; return the thread, and the list to which it will append the exit
    code."""
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(work()))
    thread.start()
    return thread, codes


def held_by(number: int) -> Callable[[list[Record]], bool]:
    return lambda records: len({r.case.split("/")[1] for r in _located(records)}) >= number


def _located(records: list[Record]) -> list[Located]:
    return [record for record in records if isinstance(record, Located)]


def qualified(records: list[Record]) -> bool:
    return any(isinstance(r, Finished) and r.stage.startswith("qualify") for r in records)


def busy(address: str) -> dict[str, Any]:
    with distributed.Client(address, set_as_default=False) as client:
        return {each: keys for each, keys in client.processing().items() if keys}


def test_three_workers_give_the_same_tables_as_one_process(
    alone: Ground, three: Workers, capsys: pytest.CaptureFixture[str]
) -> None:
    assert alone.run("three", three.address) == 0
    said = capsys.readouterr().out
    assert re.search(r"verify 4/4  double/v\d  ok  on \S+ w\d", said)
    assert alone.csv("three") == alone.csv("alone")
    where = alone.load("three").located
    assert all(records[0].host for records in where.values())
    assert len(where) == len(alone.load("three").planned)


def test_a_worker_with_another_harness_is_refused_by_hash_and_named(
    ground: Ground, three: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = {**versions.harness_files(), "run/runner.py": "0123456789abcdef"}
    monkeypatch.setattr(versions, "harness_files", lambda: ours)
    with pytest.raises(UsageError) as refused:
        ground.run("out", three.address)
    said = str(refused.value)
    assert "3 of 3 workers differ from this client" in said
    assert "the harness differs: run/runner.py (" in said
    assert "there, 0123456789 here)" in said
    assert f"({next(iter(three.addresses))})" in said


def test_a_gpu_that_no_worker_has_is_refused_with_each_ones_reason(
    ground: Ground, three: Workers
) -> None:
    with pytest.raises(BackendUnavailable) as refused:
        ground.run("out", three.address, backend="nothing:at_all")
    assert "no worker has a GPU that works:" in str(refused.value)
    assert str(refused.value).count("there is no backend nothing:at_all") == 3


@pytest.mark.fault(
    "a worker that is killed in the middle of a piece",
    outcome="The piece goes on elsewhere from what had arrived; the tables are the same.",
)
def test_a_worker_killed_in_the_middle_costs_nothing(alone: Ground, three: Workers) -> None:
    with alone.held(after=0):
        thread, codes = beside(lambda: alone.run("killed", three.address))
        alone.until("killed", held_by(3))
        three.kill_worker(next(iter(busy(three.address))))
    thread.join(120)
    assert codes == [0]
    assert alone.csv("killed") == alone.csv("alone")
    tries = [len(records) for records in alone.load("killed").located.values()]
    assert sorted(set(tries)) == [1, 2]  # the lost worker's task was repeated


@pytest.mark.fault(
    "a scheduler that is killed with all of its workers",
    outcome="Exit code 1 and how to go on; the same command finishes with another cluster.",
)
def test_a_scheduler_killed_in_the_middle_leaves_what_the_same_command_finishes(
    alone: Ground, three: Workers, capsys: pytest.CaptureFixture[str]
) -> None:
    """This must be the last test with these workers, because it ends them all."""
    with alone.held(after=1):
        thread, codes = beside(lambda: alone.run("stopped", three.address))
        alone.until("stopped", qualified)
        three.kill_scheduler()
        thread.join(120)
    assert codes == [1]
    # For a call that was in progress, Dask says why it failed.
    told = r"does not answer any more(: [^\n]+)?\n  no kernel is blamed"
    assert re.search(told, out := capsys.readouterr().out), out
    kept = {r.stage for r in alone.load("stopped").of(Finished)}
    assert len(kept) == 2  # the plan, and the one variant that was not held
    assert alone.run("stopped", "local:2") == 0
    assert alone.csv("stopped") == alone.csv("alone")
    again = [r.stage for r in alone.load("stopped").of(Finished) if r.stage in kept]
    assert sorted(again) == sorted(kept)  # existing results were not computed again
