"""The launch shapes that a matrix requests: lists are combined with each other, and keys named
together advance together."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import Edited, refusal

from harness.matrix import model


def launch(path: Path) -> tuple[dict[str, int], ...]:
    return model.load(path).problems["double"].variants["v0"].launch


def test_several_launch_keys_multiply(edited: Edited) -> None:
    path = edited("      block: [64, 128]", "      block: [64, 128]\n      items: [1, 4]")
    assert launch(path) == (
        {"block": 64, "items": 1}, {"block": 64, "items": 4},
        {"block": 128, "items": 1}, {"block": 128, "items": 4},
    )  # fmt: skip


def test_zipped_launch_keys_go_in_step_and_multiply_with_the_others(edited: Edited) -> None:
    path = edited("      block: [64, 128]", '      "block, items": [[64, 8], [128, 4]]\n      z: 2')
    assert launch(path) == (
        {"block": 64, "items": 8, "z": 2}, {"block": 128, "items": 4, "z": 2},
    )  # fmt: skip


def test_one_launch_shape_written_twice_is_one(edited: Edited) -> None:
    assert launch(edited("[64, 128]", "[64, 2**6, 64]")) == ({"block": 64},)


@pytest.mark.parametrize(
    ("new", "passage", "key", "words"),
    [
        ('"block, items": [[64, 4], [128]]', '"block', "block, items", "rows of 2 numbers"),
        ('"block, items": [64, 128]', '"block', "block, items", "rows of 2 numbers"),
        ('"block, block": [[64, 4]]', '"block', "block, block", "given twice"),
        ('"block, items": [[64, 4]]\n      items: [1]', "      items", "items", "given twice"),
        ("block: []", "block: []", "block", "an empty list"),
        ("block: [0]", "block: [0]", "block", "0 is not a positive number"),
        ("block: [-64]", "block: [-64]", "block", "not a positive number"),
        ("block: [64.5]", "block: [64.5]", "block", "integer expression"),
        ("block: [[64]]\n      a: [[1, 2]]", "      a:", "a", "rows of 1 numbers"),
        ("block: [n]", "block: [n]", "block", "`n` is unknown"),
        ("block: [1 // 0]", "block: [1", "block", "divides by zero"),
        (f"block: {list(range(1, 4200))}", "block: [1", "block", "at most 4096"),
    ],
)
def test_a_bad_launch_axis_is_refused_with_its_line(
    edited: Edited, new: str, passage: str, key: str, words: str
) -> None:
    path = edited("block: [64, 128]", new)
    text = path.read_text()
    line = text[: text.rindex(passage)].count("\n") + 1
    message = refusal(path)
    assert message.startswith(f"{path}:{line}: problems.double.launch.{key}: ")
    assert words in message


def test_an_axis_name_that_is_no_name_is_refused(edited: Edited) -> None:
    message = refusal(edited("block: [64, 128]", '"a b": [1]'))
    assert "problems.double.launch.a b: a name is a letter" in message


@pytest.mark.fault(
    "a matrix of millions of cases",
    outcome="It is refused at once, with the line and the number, before anything is worked out.",
)
def test_too_many_combinations_are_refused_before_they_are_made(edited: Edited) -> None:
    axes = "\n      ".join(f"a{i}: {list(range(1, 40))}" for i in range(8))
    assert "combinations; at most 4096" in refusal(edited("block: [64, 128]", axes))
