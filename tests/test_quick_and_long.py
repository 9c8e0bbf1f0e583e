"""The choice of quick tests, which start no process, and the order in which tests run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import order
import pytest
import quick
from typing_commands import harness

TESTS = Path(__file__).parent


def starts() -> None:
    subprocess.run(["true"], check=True)


def starts_by_a_helper() -> None:
    starts()


def starts_by_a_helper_of_another_file() -> None:
    harness("--version")


def starts_in_a_function_of_its_own() -> None:
    def inner() -> None:
        starts()

    inner()


def starts_nothing() -> int:
    return len(os.sep)


@pytest.mark.parametrize(
    "test",
    [starts, starts_by_a_helper, starts_by_a_helper_of_another_file,
     starts_in_a_function_of_its_own],
)  # fmt: skip
def test_what_names_a_start_is_not_quick_however_far_away_that_is(
    test: Callable[[], object],
) -> None:
    assert quick._names_a_start(test)
    assert not quick._names_a_start(starts_nothing)


@pytest.fixture
def held(request: pytest.FixtureRequest) -> Iterator[None]:
    """Treat this test as quick while it runs."""
    quick._running.append(request.node.nodeid)
    yield
    quick.end()


@pytest.mark.parametrize(
    "start", [lambda: subprocess.run([sys.executable, "-c", ""]), lambda: os.system(":"), os.fork]
)
def test_a_quick_test_that_starts_a_process_fails_and_names_it(
    held: None, start: Callable[[], object]
) -> None:
    with pytest.raises(pytest.fail.Exception, match="a quick test starts a process"):
        start()


def test_every_folder_and_file_that_is_listed_exists() -> None:
    for each in (*quick.LONG, *order.LONGEST):
        assert (TESTS / each).exists(), each


def test_every_worker_begins_with_something_long_and_no_test_is_lost() -> None:
    long = [TESTS / each for each in order.LONGEST if each.endswith(".py")][:4]
    files = [TESTS / f"test_{number}.py" for number in range(20)]
    items = [(path, number) for path in (*files, *long) for number in range(3)]
    found = order.in_shares(items, lambda item: item[0], 3)
    assert sorted(found) == sorted(items)
    share = len(items) // 3
    assert [path for path, _ in found[:3]] == [long[0]] * 3
    assert [path for path, _ in found[3:6]] == [long[3]] * 3
    assert found[share][0] == long[1]
    assert found[2 * share][0] == long[2]
