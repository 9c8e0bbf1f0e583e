"""The emulator's counters are recorded in the same form as ncu's readings."""

from __future__ import annotations

from harness.backends.host_memory import normalised
from harness.emulator import Counter


def test_a_percentage_is_kept_as_a_ratio_as_a_reading_of_ncus_is() -> None:
    assert normalised(Counter("uniform.pct", 87.5, "%", "ptx-level")) == (0.875, "ratio")


def test_every_other_counter_is_kept_as_it_is() -> None:
    assert normalised(Counter("sectors.sum", 12, "sector", "emulator-exact")) == (12.0, "sector")
