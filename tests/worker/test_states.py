"""The other state of timed inputs: valid, secret, small, and visible in the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.cases import Case
from harness.dtypes import numpy_dtype
from harness.problem import Array, Buffer, Problem, Work, summation_bound
from harness.worker.inputs import Inputs, Scratch
from harness.worker.states import FEW, MORE, SEEN, other_state, seen_share

CASE = Case("sum", "v0", "float32", {"n": 4096})


class Sum(Problem):
    """The sum of n numbers."""

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> list[Buffer]:
        return [Buffer("x", "input", dtype, sizes["n"]), Buffer("y", "output", "float64", 1)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        return {"x": rng.random(sizes["n"]).astype(dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"y": np.sum(inputs["x"], dtype=np.float64, keepdims=True)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        magnitude = float(np.sum(np.abs(inputs["x"]), dtype=np.float64))
        return {"y": summation_bound(sizes["n"], magnitude, dtype)}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        return Work(4 * sizes["n"], 4, sizes["n"])


class Boxes(Sum):
    """Intervals [a, b), none of which may be empty; and data whose order must not change."""

    changed_together: Mapping[str, int] = {"x": 2, "order": 0}

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> list[Buffer]:
        return [
            *super().buffers(sizes, dtype), Buffer("order", "input", "int32", sizes["n"]),
            Buffer("kind", "input", "uint8", sizes["n"]),
        ]  # fmt: skip

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        start = 100 * rng.random(sizes["n"] // 2)
        x = np.stack([start, start + 1 + rng.random(start.size)], axis=1).astype(dtype)
        kind = rng.integers(3, 9, sizes["n"], np.uint8)
        return {"x": x.reshape(-1), "order": np.arange(sizes["n"], dtype=np.int32), "kind": kind}


def drawn(problem: Problem, case: Case = CASE) -> Inputs:
    return Inputs(problem, case, 1, 0)


def test_a_few_numbers_hold_values_of_the_same_array_and_the_result_tells() -> None:
    own = drawn(Sum())
    found = other_state(Sum(), CASE, own)
    assert found is not None
    changes, other = found
    where, values = changes["x"]
    assert 0 < len(where) <= FEW
    assert set(values) <= set(own.values["x"])
    assert not np.any(own.values["x"][where] == values)
    expected = own.values["x"].copy()
    expected[where] = values
    assert np.array_equal(other.values["x"], expected)
    assert other.reference["y"] == Sum().reference(CASE.sizes, "float32", other.values)["y"]
    apart = abs(other.reference["y"] - own.reference["y"])
    assert apart > SEEN * own.tolerance["y"]


def test_what_belongs_together_moves_together_and_what_must_stay_stays() -> None:
    own = drawn(Boxes())
    found = other_state(Boxes(), CASE, own)
    assert found is not None
    changes, other = found
    assert "order" not in changes
    boxes = other.values["x"].reshape(-1, 2)
    assert set(map(tuple, boxes)) <= set(map(tuple, own.values["x"].reshape(-1, 2)))
    assert np.all(boxes[:, 0] < boxes[:, 1])


def test_whole_numbers_stay_where_a_change_of_floats_is_seen() -> None:
    found = other_state(Boxes(), CASE, drawn(Boxes()))
    assert found is not None
    assert set(found[0]) == {"x"}


def test_no_seed_tells_the_places() -> None:
    own = drawn(Sum())
    places = [other_state(Sum(), CASE, own) for _ in range(2)]
    assert places[0] is not None
    assert places[1] is not None
    assert not np.array_equal(places[0][0]["x"].where, places[1][0]["x"].where)


@pytest.mark.parametrize(
    ("let_pass", "most", "beyond"),
    [(20.0, MORE, False), (10_000.0, FEW, True)],
    ids=["more numbers", "larger numbers"],
)
def test_where_a_few_are_not_seen_more_change_and_then_to_larger_values(
    monkeypatch: pytest.MonkeyPatch, let_pass: float, most: int, beyond: bool
) -> None:
    monkeypatch.setattr(Sum, "tolerance", lambda *asked: {"y": let_pass})
    case = replace(CASE, sizes={"n": 2**20})
    own = drawn(Sum(), case)
    found = other_state(Sum(), case, own)
    assert found is not None
    where, values = found[0]["x"]
    assert len(where) <= most
    assert (len(where) > FEW) == (not beyond)
    assert bool(np.max(values) > np.max(own.values["x"])) == beyond
    assert seen_share(own, found[1]) > 1


def test_where_nothing_is_seen_there_is_no_other_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sum, "tolerance", lambda *asked: {"y": 1e12})
    assert other_state(Sum(), CASE, drawn(Sum())) is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3", "float64", "int8"])
def test_every_type_has_other_values_that_are_finite(
    monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    monkeypatch.setattr(Sum, "inputs", lambda self, sizes, dtype, rng, draw: {
        "x": rng.integers(1, 9, sizes["n"]).astype(numpy_dtype(dtype))
    })  # fmt: skip
    monkeypatch.setattr(Sum, "tolerance", lambda self, sizes, dtype, inputs: {"y": 0.5})
    case = replace(CASE, dtype=dtype)
    own = drawn(Sum(), case)
    found = other_state(Sum(), case, own)
    assert found is not None
    assert np.all(np.isfinite(found[1].values["x"].astype(np.float64)))


def test_a_single_number_can_only_become_larger() -> None:
    case = replace(CASE, sizes={"n": 1})
    found = other_state(Sum(), case, drawn(Sum(), case))
    assert found is not None
    assert float(found[0]["x"].values[0]) > 1


def test_the_workers_that_time_find_the_changes_that_were_verified(tmp_path: Any) -> None:
    scratch, buffers = Scratch(tmp_path), Sum().buffers(CASE.sizes, "float32")
    assert not scratch.has_changes()
    found = other_state(Sum(), CASE, drawn(Sum()))
    assert found is not None
    scratch.keep_changes(found[0])
    assert scratch.has_changes()
    [(name, change)] = scratch.changes(buffers).items()
    assert name == "x"
    assert np.array_equal(change.where, found[0]["x"].where)
    assert np.array_equal(change.values, found[0]["x"].values)
    empty = Scratch(tmp_path / "empty")
    empty.keep_changes({})
    assert empty.has_changes()
    assert empty.changes(buffers) == {}
