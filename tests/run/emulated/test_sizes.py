"""The stand-in for a size that is too large to be emulated, and the estimated time of a size."""

from __future__ import annotations

import pytest

from harness.journal.records import times_the_work
from harness.matrix.written import Limits
from harness.problem import Work
from harness.run.emulated import sizes

LIMITS = Limits(emulate_bytes=1000, emulate_flops=1000)


def by_bytes(*every: dict[str, int]) -> list[tuple[dict[str, int], Work]]:
    """Sizes n whose work is n bytes and n flops."""
    return [(size, Work(size["n"], 0, size["n"])) for size in every]


def test_the_largest_within_the_limits_stands_for_a_larger_one() -> None:
    works = by_bytes({"n": 10}, {"n": 900}, {"n": 1100}, {"n": 9000})
    assert sizes.stand_in({"n": 9000}, works, LIMITS) == {"n": 900}


def test_skewed_data_stand_for_skewed_data() -> None:
    works = by_bytes({"n": 900, "skew": 1}, {"n": 100, "skew": 90}, {"n": 9000, "skew": 90})
    assert sizes.stand_in({"n": 9000, "skew": 90}, works, LIMITS) == {"n": 100, "skew": 90}


def test_where_none_is_within_the_limits_the_smallest_may_stand_if_it_is_not_far_above() -> None:
    near = by_bytes({"n": 16_000}, {"n": 32_000})
    assert sizes.stand_in({"n": 32_000}, near, LIMITS) == {"n": 16_000}
    assert sizes.stand_in({"n": 32_000}, by_bytes({"n": 16_001}, {"n": 32_000}), LIMITS) is None


@pytest.mark.parametrize(
    ("work", "of", "times"),
    [
        (Work(400, 0, 0), Work(100, 0, 0), 4.0),
        (Work(400, 0, 800), Work(100, 0, 100), 8.0),  # a matrix product
        (Work(0, 0, 0), Work(0, 0, 0), 1.0),
    ],
)
def test_the_work_grows_as_bytes_or_flops_do_whichever_grows_more(
    work: Work, of: Work, times: float
) -> None:
    assert times_the_work(work, of) == times
