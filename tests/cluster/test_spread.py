"""A matrix spread over workers gives what one process gives, whatever happens to them meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import distributed
import workers
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
    alone.hold.touch()
    thread, codes = beside(lambda: alone.run("killed", three.address))
    try:
        alone.until("killed", held_by(3))
        three.kill_worker(next(iter(busy(three.address))))
    finally:
        alone.hold.unlink()
    thread.join(120)
    assert codes == [0]
    assert alone.csv("killed") == alone.csv("alone")
    tries = [len(records) for records in alone.load("killed").located.values()]
    assert sorted(set(tries)) == [1, 2]  # what the lost worker was at was done once more


def test_a_scheduler_killed_in_the_middle_leaves_what_the_same_command_finishes(
    alone: Ground,
) -> None:
    first = workers.started(3)
    try:
        thread, codes = beside(lambda: alone.run("stopped", first.address))
        alone.until("stopped", qualified)
        alone.hold.touch()
        first.kill_scheduler()
    finally:
        thread.join(120)
        alone.hold.unlink()
    assert codes == [1]
    kept = {r.stage for r in alone.load("stopped").of(Finished)}
    assert qualified(list(alone.load("stopped").records))
    assert len(kept) < 1 + 5  # the plan, and not all of the variants
    second = workers.started(2)
    try:
        assert alone.run("stopped", second.address) == 0
    finally:
        second.close()
    assert alone.csv("stopped") == alone.csv("alone")
