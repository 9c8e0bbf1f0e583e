"""A record is the same after writing and reading, regardless of its writer and version."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from harness.journal.counter_records import SourceLine
from harness.journal.numbers import SMALLEST
from harness.journal.records import Round, from_json, to_json

CASE = "double/v0/float32/n=1024/block=64"


def test_a_record_from_before_branches_were_counted_is_still_read() -> None:
    old = {
        "kind": "line", "case": CASE, "step": 0, "file": "a.cu", "line": 7, "warps": 10,
        "threads": 320, "requests": 10, "sectors": 40, "wavefronts": 0, "wavefronts_ideal": 0,
    }  # fmt: skip
    found = from_json(json.dumps(old))
    assert isinstance(found, SourceLine)
    assert (found.branches, found.diverged, found.atomic_lanes) == (0, 0, 0)


@given(st.just(0.0) | st.floats(min_value=SMALLEST, max_value=2**61))
def test_a_time_comes_back_to_the_last_bit(value: float) -> None:
    record = Round(CASE, "warm", 3, True, (value,))
    assert from_json(to_json(record)) == record
