"""The emulator beside another checkout's: here beside itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.usefixtures("processes")
def test_a_small_launch_is_timed_in_both_in_every_round(
    script_of: Callable[[str], ModuleType],
) -> None:
    script = script_of("benchmark_side_by_side")
    small = next(w for w in (make() for make in script.WORKLOADS[4:6]) if w.block == 64)
    row = script.row(small, ROOT, 2, ["auto", "judge"])
    number = r"[\d,]+"
    assert re.fullmatch(
        rf"\| reduction in shared memory, n = 2\^8, 4 blocks of 64, µs \| {number}, {number} \| "
        rf"{number}, {number} \| \d+\.\d× \|",
        row,
    )
