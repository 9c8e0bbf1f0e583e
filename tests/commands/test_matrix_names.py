"""Shell completion offers the names in the matrix, even if the matrix is invalid."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.commands import matrix_names as names
from harness.matrix import model

ROOT = Path(__file__).parents[2]


def test_every_name_of_the_collection_is_offered_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    bench = model.load()
    assert names.problems() == list(bench.problems)
    for name, problem in bench.problems.items():
        assert names.variants(name) == [variant.name for variant in problem.everything()]
    assert names.variants("no_such_problem") == []


def test_names_are_read_from_a_matrix_at_the_top_and_from_one_that_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert names.problems() == []
    (tmp_path / "bench.yaml").write_text("problems: {one: {variants: {v0: 3}, library: torch}}\n")
    assert names.problems() == ["one"]
    assert names.variants("one") == ["v0", "torch"]
    (tmp_path / "bench.yaml").write_text("problems: 7\n")
    assert names.variants("one") == []
