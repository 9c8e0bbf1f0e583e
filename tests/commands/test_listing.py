"""Notes on what a run will not verify: `list` prints all of them; a run starts with a few."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from harness.commands import listing


def _plan(count: int) -> Any:
    names = [f"problem/v{n} is not verified at n = 1: a reason" for n in range(count)]
    return SimpleNamespace(left_out=lambda: iter(names), refused_tests=dict, cases=[])


def test_list_names_every_variant() -> None:
    assert list(listing.notes(_plan(5))) == [
        f"note: problem/v{n} is not verified at n = 1: a reason" for n in range(5)
    ]


def test_a_run_names_a_few_and_counts_the_others() -> None:
    *named, counted = listing.notes(_plan(5), 3)
    assert len(named) == 3
    assert counted == (
        "note: 2 more variants not verified at every test size: `python -m harness list` names them"
    )


def test_a_run_counts_none_where_all_are_named() -> None:
    assert len(list(listing.notes(_plan(3), 3))) == 3
