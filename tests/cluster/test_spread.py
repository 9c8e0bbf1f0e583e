"""A matrix spread over workers gives what one process gives, whatever happens to them meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import distributed
import pytest
from conftest import Ground
from workers import Workers

from harness.records import Finished, Located, Record


def beside(work: Callable[[], int]) -> tuple[threading.Thread, list[int]]:
    """The work in a thread; its exit code comes into the list."""
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


def test_three_workers_give_the_same_tables_as_one_process(alone: Ground, three: Workers) -> None:
    assert alone.run("three", three.address) == 0
    assert alone.csv("three") == alone.csv("alone")
    where = alone.load("three").located
    assert all(records[0].host for records in where.values())
    assert len(where) == len(alone.load("three").planned)


def test_a_worker_killed_in_the_middle_costs_nothing(alone: Ground, three: Workers) -> None:
    with alone.held(after=0):
        thread, codes = beside(lambda: alone.run("killed", three.address))
        alone.until("killed", held_by(3))
        three.kill_worker(next(iter(busy(three.address))))
    thread.join(120)
    assert codes == [0]
    assert alone.csv("killed") == alone.csv("alone")
    tries = [len(records) for records in alone.load("killed").located.values()]
    assert sorted(set(tries)) == [1, 2]  # what the lost worker was at was done once more


def test_a_scheduler_killed_in_the_middle_leaves_what_the_same_command_finishes(
    alone: Ground, three: Workers, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last test of these workers: it ends them all."""
    with alone.held(after=1):
        thread, codes = beside(lambda: alone.run("stopped", three.address))
        alone.until("stopped", qualified)
        three.kill_scheduler()
        thread.join(120)
    assert codes == [1]
    assert "does not answer any more\n  no kernel is blamed" in capsys.readouterr().out
    kept = {r.stage for r in alone.load("stopped").of(Finished)}
    assert len(kept) == 2  # the plan, and the one variant that was not held
    assert alone.run("stopped", "local:2") == 0
    assert alone.csv("stopped") == alone.csv("alone")
    again = [r.stage for r in alone.load("stopped").of(Finished) if r.stage in kept]
    assert sorted(again) == sorted(kept)  # what was there was not done once more
