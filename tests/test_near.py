"""The nearest of the known names, for a message."""

from __future__ import annotations

import pytest

from harness.near import did_you_mean, nearest


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shred", ["shared"]),
        ("SHARED", ["shared"]),
        ("sh", ["shared"]),  # the beginning of it
        ("gird", ["grid"]),
        ("kernel", ["kernel"]),
        ("zzz", []),
        ("", []),
    ],
)
def test_the_nearest_name_is_one_that_begins_so_or_is_spelt_alike(
    name: str, expected: list[str]
) -> None:
    assert nearest(name, ["grid", "block", "shared", "kernel"]) == expected


def test_nothing_is_meant_where_nothing_is_near() -> None:
    assert did_you_mean("zzz", ["grid"]) == ""
    assert did_you_mean("gridd", ["grid"]) == "; did you mean grid?"
    assert did_you_mean("v1", ["v1_a", "v1_b"], 2) == "; did you mean v1_a or v1_b?"
