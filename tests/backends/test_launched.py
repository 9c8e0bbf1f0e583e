"""Launches are compared with the verified results for the state that their inputs were in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.backends.base import Batch, Right
from harness.backends.launch_outcomes import IDLE_NS, Launched

RIGHT = Right((1, 2), other=(7, 2))
OWN, OTHER = (1, 2), (7, 2)


def launched(*made: tuple[bool, tuple[int, ...]], **more: object) -> Launched:
    return Launched(
        [[1000.0] for _ in made],
        [is_other for is_other, _ in made],
        [3000.0 for _ in made],
        [hashes for _, hashes in made],
        **more,  # type: ignore[arg-type]
    )


def test_what_is_right_for_its_own_state_is_right() -> None:
    found = launched((False, OWN), (True, OTHER), (True, OTHER)).judged(RIGHT, "")
    assert found.seen == ((False, OWN), (True, OTHER), (True, OTHER))
    assert replace(found, seen=()) == Batch(((1000.0,),) * 3)


def test_an_answer_for_the_other_state_is_a_kept_one_and_wrong() -> None:
    found = launched((False, OWN), (True, OWN), (False, OTHER), (True, (0, 0))).judged(RIGHT, "")
    assert (found.wrong, found.kept) == (3, 2)
    assert found.first == "first in launch 2 of 4, whose inputs were changed"


def test_without_another_state_nothing_is_said_to_be_kept() -> None:
    found = launched((False, OWN), (False, ())).judged(Right(OWN), "")
    assert (found.wrong, found.kept) == (1, 0)


def test_what_varies_is_held_to_the_bounds_of_its_state_and_kept_if_outside() -> None:
    right = Right(OWN, varies=True, other=OTHER)
    made = [(False, (5, 5)), (True, OWN), (True, (6, 6))]
    found = launched(*made, outside={1}).judged(right, "an input changed")
    expected = Batch(((1000.0,),) * 3, wrong=1, changed="an input changed", other=2, kept=1)
    assert replace(found, seen=(), first="") == expected


def test_results_that_changed_after_their_end_are_counted() -> None:
    assert launched((False, OWN), (False, OWN), late={1}).judged(RIGHT, "").late == 1


def test_nothing_is_judged_of_launches_whose_results_are_not_known() -> None:
    assert launched((False, ()), late={0}).judged(None, "") == Batch(((1000.0,),))


@pytest.mark.parametrize(
    ("idle", "busy"),
    [
        ([3e3, 90e3, 95e3], 0.0),  # the host is sometimes busy
        ([80e3, 90e3, 95e3], 80e3),
        ([IDLE_NS, 90e3, 95e3], 0.0),
    ],
)
def test_a_device_that_works_on_after_every_launch_is_seen(idle: list[float], busy: float) -> None:
    found = launched(*[(False, OWN)] * 3)
    found.idle_ns = idle
    assert found.judged(RIGHT, "").busy_ns == busy


def test_of_a_long_launch_a_longer_wait_is_noise() -> None:
    found = launched(*[(False, OWN)] * 3)
    found.times, found.idle_ns = [[10e6]] * 3, [150e3] * 3
    assert found.judged(RIGHT, "").busy_ns == 0
    found.times = [[1e6]] * 3
    assert found.judged(RIGHT, "").busy_ns == 150e3


def test_two_launches_are_too_few_to_tell() -> None:
    found = launched(*[(False, OWN)] * 2)
    found.idle_ns = [900e3] * 2
    assert found.judged(RIGHT, "").busy_ns == 0
