"""Numbers are shown with three significant digits, in the unit that fits them."""

from __future__ import annotations

from itertools import pairwise
from sys import float_info

import pytest

from harness.analysis.ladder import short_names
from harness.report import format as fmt
from harness.report.anchors import distinct_slugs, slug
from harness.report.figures.style import spread
from harness.statistics.intervals import Interval


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"), (1, "1.00"), (4396, "4,400"), (96.18, "96.2"), (0.01234, "0.0123"),
        (999.6, "1,000"), (9.996, "10.0"), (-2.5, "-2.50"), (268_435_456, "2.68 × 10⁸"),
        (0.00001, "1 × 10⁻⁵"), (5e-324, "4.94 × 10⁻³²⁴"), (-float_info.max, "-1.8 × 10³⁰⁸"),
    ],
)  # fmt: skip
def test_three_significant_digits(value: float, shown: str) -> None:
    assert fmt.three(value) == shown


@pytest.mark.parametrize(
    ("ns", "shown"), [(812, "812 ns"), (2110, "2.11 µs"), (2.93e6, "2.93 ms"), (1.5e9, "1.50 s")]
)
def test_times_take_the_unit_that_fits(ns: float, shown: str) -> None:
    assert fmt.time(ns).replace(fmt.THIN, " ") == shown


def test_powers_of_two_are_written_as_such_and_other_sizes_in_full() -> None:
    assert fmt.assignments({"n": 2**28}) == "n = 2²⁸"
    assert fmt.assignments({"n": 1_000_003, "block": 256}) == "n = 1,000,003, block = 256"


@pytest.mark.parametrize(
    ("interval", "shown"),
    [
        ((11.7, 11.6, 11.8), "11.7× ± 0.86 %"),
        ((11.7, 11.699, 11.701), "11.7× ± < 0.01 %"),
        ((11.7, 11.7, 11.7), "11.7× ± 0 %"),
        ((1.5, 1.4, 1.7), "1.50× ± 10 %"),
    ],
)
def test_every_interval_has_one_form(interval: tuple[float, float, float], shown: str) -> None:
    assert fmt.ratio(Interval(*interval)).replace(fmt.THIN, " ") == shown


def test_a_time_has_its_interval_in_the_same_form() -> None:
    shown = fmt.time_interval(Interval(236e3, 235.9e3, 236.1e3)).replace(fmt.THIN, " ")
    assert shown == "236 µs ± 0.042 %"


@pytest.mark.parametrize(
    ("ratio", "shown"), [(0.998, "0.2 % slower"), (0.8, "25.0 % slower"), (0.5, "2.00× slower")]
)
def test_how_much_slower_is_in_per_cent_as_long_as_that_reads_well(
    ratio: float, shown: str
) -> None:
    found = fmt.slower(Interval(ratio, ratio, ratio)).replace(fmt.THIN, " ")
    assert found == shown


def test_narrow_columns_have_compact_numbers() -> None:
    shown = [fmt.compact(x) for x in (0, 1, 815, 9_009, 18_000, 1.36e7, 2.1e9, 0.242)]
    assert shown == ["0", "1", "815", "9,009", "18.0k", "13.6M", "2.10G", "0.242"]


def test_large_counts_are_in_words() -> None:
    assert [fmt.amount(x) for x in (7, 9_999_999, 13_640_000, 2.1e9)] == [
        "7", "9,999,999", "13.6 million", "2.10 billion",
    ]  # fmt: skip


def test_bytes_are_in_binary_units() -> None:
    assert fmt.data(60 * 2**20).replace(fmt.THIN, " ") == "60.0 MiB"


def test_short_names_are_used_only_where_they_are_unique() -> None:
    names = ["v1_a", "v12_b", "tiled_x", "tiled_y"]
    assert list(short_names(names).values()) == ["v1", "v12", "tiled_x", "tiled_y"]


def test_a_slug_is_stable_and_fit_for_a_file_name() -> None:
    assert slug("reduce_sum/v0/float32/n=1024") == "reduce_sum-v0-float32-n-1024"


def test_names_that_come_out_alike_or_empty_still_have_files_of_their_own() -> None:
    assert distinct_slugs(["a b", "a-b", "A b", "日本", "a b"]) == {
        "a b": "a-b", "a-b": "a-b-2", "A b": "A-b-3", "日本": "problem",
    }  # fmt: skip


def test_labels_without_room_share_what_there_is() -> None:
    assert spread([5.0] * 5, 10, 0, 20) == [0, 5, 10, 15, 20]
    assert spread([9.0, 9.5, 10.0], 1, 0, 10) == [8, 9, 10]


def test_labels_that_would_overlap_are_moved_apart_in_order() -> None:
    placed = spread([1.0, 1.0, 1.1, 5.0], 0.5, 0, 10)
    assert all(b - a >= 0.499 for a, b in pairwise(placed))
    assert placed[3] == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ((1.0034, 1.0022, 1.0046), "1.003×"),
        ((1.00331, 1.0030, 1.0034), "1.0033×"),
        ((0.99987, 0.9987, 1.0008), "0.9999×"),
        ((0.9904, 0.9892, 0.9916), "0.990×"),
        ((1.0, 0.99, 1.01), "1.00×"),
        ((10.9, 10.7, 11.1), "10.9×"),
    ],
)
def test_a_ratio_near_one_has_the_digits_to_tell_it_from_one(
    interval: tuple[float, float, float], text: str
) -> None:
    assert fmt.times(Interval(*interval)) == text
