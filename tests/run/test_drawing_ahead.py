"""Data that is generated in advance stays within the permitted memory, and no process waits for it
in vain."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from harness.cases import Case
from harness.job import Job
from harness.problem.loading import load
from harness.processes.workers import Ended
from harness.run import drawing
from harness.run.drawing import Drawing, Group
from harness.run.measurement import Drawn

SECONDS = 20.0


class Workers:
    """A stand-in for processes: each writes a file as soon as its group may proceed."""

    held: ClassVar[set[str]] = set()
    failing: ClassVar[set[str]] = set()

    def __init__(self) -> None:
        self._goes_on = threading.Event()

    def do(self, job: Job, deadline_s: float) -> Ended:
        name = job.cases[0].group
        if name in self.held:
            self._goes_on.wait(SECONDS)
            return Ended("the run was stopped", killed=True)
        if name in self.failing:
            return Ended("inputs(): ZeroDivisionError")
        job.scratch.mkdir()
        (job.scratch / "file").touch()
        return Ended(drawn={0: {"file": name}})

    def stop(self) -> None:
        self._goes_on.set()


Begin = Callable[..., Drawing]


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch, double: Callable[..., Case]) -> Begin:
    """Generate data for groups of these sizes, in the given amount of memory; group 7 has n = 7."""

    def drawing_of(
        sizes: dict[int, int], most: int, held: tuple[int, ...] = (), failing: tuple[int, ...] = ()
    ) -> Drawing:
        monkeypatch.setattr(drawing, "Workers", Workers)
        monkeypatch.setattr(Workers, "held", {double(n=n).group for n in held})
        monkeypatch.setattr(Workers, "failing", {double(n=n).group for n in failing})
        groups = [Group(double(n=n), nbytes) for n, nbytes in sizes.items()]

        def job(case: Case, folder: Path) -> Job:
            return Job("draw", "none", None, Path(), 1, cases=(case,), scratch=folder)

        return Drawing(groups, job, 2, most * drawing.SHARE)

    return drawing_of


def begun(drawn: Drawing, case: Case) -> None:
    """Wait until the case's data has been generated, because a measurement does not wait for work
    that has not begun."""
    drawn._found[case.group].result(SECONDS)


def test_a_group_is_there_when_its_turn_comes_and_gone_after_it(
    begin: Begin, double: Callable[..., Case]
) -> None:
    with begin({1: 10, 2: 10}, 20) as drawn:
        for n in (1, 2):
            begun(drawn, double(n=n))
            with drawn.of(double(n=n).group) as found:
                assert isinstance(found, Drawn)
                assert found.files == {0: {"file": double(n=n).group}}
                assert (found.folder / "file").exists()
            assert not found.folder.exists()


def test_what_has_no_room_yet_is_drawn_when_another_was_measured(
    begin: Begin, double: Callable[..., Case]
) -> None:
    with begin({1: 20, 2: 20}, 20) as drawn:
        begun(drawn, double(n=1))
        with drawn.of(double(n=1).group) as first:
            assert first
            assert not drawn._found[double(n=2).group].done()
        begun(drawn, double(n=2))
        with drawn.of(double(n=2).group) as second:
            assert second


def test_a_group_that_is_too_large_for_all_the_room_is_not_drawn(
    begin: Begin, double: Callable[..., Case]
) -> None:
    with begin({1: 21}, 20) as drawn, drawn.of(double(n=1).group) as found:
        assert found is None


def test_who_waits_for_a_group_whose_room_later_ones_have_goes_without(
    begin: Begin, double: Callable[..., Case]
) -> None:
    with begin({1: 5, 2: 18, 3: 5}, 20) as drawn:
        begun(drawn, double(n=1))
        begun(drawn, double(n=3))  # so that 2 does not fit even after 1 was measured
        with drawn.of(double(n=1).group) as first:
            assert first
        with drawn.of(double(n=2).group) as second:
            assert second is None
        with drawn.of(double(n=3).group) as third:
            assert third


def test_a_fault_of_the_problem_is_left_to_whoever_prepares_the_group(
    begin: Begin, double: Callable[..., Case]
) -> None:
    with begin({1: 5}, 20, failing=(1,)) as drawn:
        begun(drawn, double(n=1))
        with drawn.of(double(n=1).group) as found:
            assert found is None


def test_leaving_ends_what_is_still_drawn(begin: Begin, double: Callable[..., Case]) -> None:
    with begin({1: 5, 2: 5, 3: 5}, 20, held=(1, 2)) as drawn:
        running = [drawn._found[double(n=n).group] for n in (1, 2)]
        while not all(future.running() for future in running):
            pass
    assert [future.result(0) for future in running] == [None, None]


def test_room_is_kept_for_both_draws_and_for_what_is_right_in_either_state(
    double: Callable[..., Case], folder: Path
) -> None:
    [group] = drawing.groups([double(n=1000)], {"double": load(folder / "kernels" / "double")})
    assert group.nbytes == 2 * 4000 + 3 * 2 * 8000  # inputs; references and bounds, in doubles
