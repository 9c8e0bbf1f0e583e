"""The choice of a variant for each size is stated briefly, without claims for sizes in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from synthetic_runs import Bench

from harness.analysis.ladder import Ladder, ladders
from harness.report.choice import choices, which_of_each_type, which_when

Make = Callable[..., Ladder]


@pytest.fixture
def at(bench: Callable[..., Bench], few: dict[str, float], tmp_path: Path) -> Make:
    """A ladder at some sizes, where the named variants are fastest and cannot be told apart."""
    gbps = {**few, "v12_last": 4400.0}
    [made] = ladders(bench(gbps=gbps, sizes=[{"n": 2**20}], rounds=8).timed(tmp_path))
    return partial(_at, made)


def _at(made: Ladder, sizes: dict[str, int], *fastest: str, nbytes: int = 1) -> Ladder:
    rungs = [replace(r, planned=replace(r.planned, bytes=nbytes)) for r in made.rungs]
    first, *tied = (next(r for r in rungs if r.short == name) for name in fastest)
    return replace(made, sizes=sizes, rungs=rungs, libraries=[], winner=first, tied=tied)


def sizes_of(found: Sequence[Ladder]) -> list[int]:
    return [x.sizes["n"] for x in found]


def test_one_that_is_fastest_everywhere_needs_no_word(at: Make) -> None:
    found = [at({"n": 2**20}, "v12"), at({"n": 2**28}, "v12")]
    assert which_when(found) == ""
    assert [(c.rung.short, sizes_of(c.ladders)) for c in choices(found)] == [
        ("v12", [2**20, 2**28])
    ]


def test_between_two_sizes_nothing_is_claimed(at: Make) -> None:
    found = [at({"n": 2**28}, "v12"), at({"n": 2**20}, "v9")]
    assert which_when(found) == "n ≤ 2²⁰: v9; n ≥ 2²⁸: v12"


def test_sizes_in_the_middle_have_both_ends(at: Make) -> None:
    found = [at({"n": 2**k}, name) for k, name in ((14, "v0"), (16, "v9"), (18, "v9"), (20, "v0"))]
    assert which_when(found) == "n ≤ 2¹⁴: v0; 2¹⁶ ≤ n ≤ 2¹⁸: v9; n ≥ 2²⁰: v0"
    del found[2]
    assert which_when(found) == "n ≤ 2¹⁴: v0; n = 2¹⁶: v9; n ≥ 2²⁰: v0"


def test_one_that_cannot_be_told_from_the_fastest_does_as_well(at: Make) -> None:
    small, large = at({"n": 2**20}, "v12", "v9"), at({"n": 2**28}, "v9")
    assert which_when([small, large]) == ""
    assert choices([small, large])[0].rung.short == "v9"
    third = at({"n": 2**14}, "v0", "v12")
    assert which_when([third, small, large]) == "n ≤ 2²⁰: v12; n ≥ 2²⁸: v9"


def test_a_key_that_is_always_the_same_is_not_named(at: Make) -> None:
    found = [at({"rounds": 7, "n": 2**20}, "v9"), at({"rounds": 7, "n": 2**28}, "v12", nbytes=2)]
    assert which_when(found) == "n ≤ 2²⁰: v9; n ≥ 2²⁸: v12"


def test_sizes_that_no_key_orders_stand_for_themselves(at: Make) -> None:
    found = [
        at({"m": 16, "k": 2**21}, "v9"),
        at({"m": 2**22, "k": 16}, "v12", nbytes=2),
        at({"m": 2**14, "k": 2**14}, "v0", nbytes=3),
    ]
    assert which_when(found) == "m = 16, k = 2²¹: v9; m = 2²², k = 16: v12; m = 2¹⁴, k = 2¹⁴: v0"
    found.append(at({"m": 1536, "k": 2048}, "v0", nbytes=0))
    assert which_when(found) == "m = 16, k = 2²¹: v9; m = 2²², k = 16: v12; otherwise v0"


def test_equal_keys_are_said_once_and_many_by_the_one_that_tells_them_apart(at: Make) -> None:
    square = [
        at(dict.fromkeys("mnk", n), name, nbytes=n) for n, name in ((1024, "v9"), (4096, "v12"))
    ]
    assert which_when(square) == "m = n = k = 1,024: v9; m = n = k = 4,096: v12"
    many = [
        at({"n": n, "c": c, "h": h, "w": h}, name, nbytes=c)
        for n, c, h, name in ((1, 6, 768, "v9"), (32, 64, 56, "v12"), (32, 256, 14, "v12"))
    ]
    assert which_when(many) == "c = 6: v9; otherwise v12"


def test_each_type_has_its_own_sentence_and_what_is_not_ranked_none(at: Make) -> None:
    both = [at({"n": 2**20}, "v9"), at({"n": 2**28}, "v12")]
    half = [replace(x, key=("reduce_sum", "float16", x.key[2])) for x in both]
    assert which_of_each_type([both]) == ["Fastest: n ≤ 2²⁰: v9; n ≥ 2²⁸: v12."]
    assert [told.split(":")[0] for told in which_of_each_type([both, half])] == [
        "Fastest, float32", "Fastest, float16",
    ]  # fmt: skip
    assert which_when([replace(x, winner=None, tied=[]) for x in both]) == ""
