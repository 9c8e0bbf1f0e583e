"""The source line that a counter's change comes from."""

from __future__ import annotations

from collections.abc import Sequence

from two_runs import IDEAL, WAVEFRONTS, emulated, line, memory

from harness.comparison import judge
from harness.comparison.lines import LineOfCode
from harness.journal.counter_records import SourceLine


def place(before: Sequence[SourceLine], after: Sequence[SourceLine]) -> LineOfCode | None:
    """The line that is named for an increase in bank conflicts, given the lines of both runs."""
    base = emulated({WAVEFRONTS: 100.0, IDEAL: 100.0}, lines=before)
    new = emulated({WAVEFRONTS: 400.0, IDEAL: 100.0}, lines=after)
    [found] = [c for c in judge(base, new).changes if c.kind == "worse"]
    return found.moved[0].place


def test_the_line_that_got_conflicts_is_named_with_its_own_figures() -> None:
    steady = line(10, wavefronts=50, wavefronts_ideal=50)
    found = place([steady, line(12, wavefronts=50, wavefronts_ideal=50)],
                  [steady, line(12, wavefronts=350, wavefronts_ideal=50)])  # fmt: skip
    assert str(found) == "sum/v1.cu:12"
    assert found is not None
    assert found.figures == (1.0, 7.0)


def test_a_line_that_had_conflicts_all_along_and_only_moved_is_not_blamed() -> None:
    """Three lines were inserted above; the old line has more conflicts than the new one."""
    old = {"wavefronts": 900, "wavefronts_ideal": 100, "warps": 3}
    found = place([line(10, **old), line(12, wavefronts=50, wavefronts_ideal=50)],
                  [line(13, **old), line(15, wavefronts=350, wavefronts_ideal=50)])  # fmt: skip
    assert str(found) == "sum/v1.cu:15"


def test_a_line_of_a_header_is_named_with_its_folder() -> None:
    header = "somewhere/kernels/common/block.cuh"
    found = place([line(7, header, wavefronts=50, wavefronts_ideal=50)],
                  [line(7, header, wavefronts=350, wavefronts_ideal=50)])  # fmt: skip
    assert str(found) == "common/block.cuh:7"


def test_without_counts_by_line_no_line_is_named() -> None:
    assert place([], []) is None


def test_an_uncoalesced_load_is_found_on_its_line() -> None:
    base = emulated(memory(4000, 1000), lines=[line(9, requests=1000, sectors=4000)])
    new = emulated(memory(32000, 1000), lines=[line(9, requests=1000, sectors=32000)])
    [found] = [c for c in judge(base, new).changes if c.kind == "worse"]
    assert found.moved[0].place == LineOfCode("sum/v1.cu", 9, (4.0, 32.0))
