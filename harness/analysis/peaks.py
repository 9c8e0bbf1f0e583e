"""What the machine does at most in a nanosecond: the least time that an amount of work takes.

A counter that fell explains a saving only if what fell takes a fair part of the time that was
saved. The rates are those of every NVIDIA GPU since Volta, for each multiprocessor and cycle: four
warp instructions, four sectors through the L1 cache, one wavefront of shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from harness.records import Conditions, Round
from harness.tables import Run

PER_CYCLE = {"instructions": 4.0, "sectors": 4.0, "wavefronts": 1.0}
"""Quantity → how many of it a multiprocessor manages in a cycle."""


def peaks_of(run: Run) -> Mapping[str, float]:
    """Quantity → how many of it the machine manages in a nanosecond; without those not known."""
    found: dict[str, float] = {}
    clock, sms = _clock(run), (run.info.get("device") or {}).get("sm_count")
    if clock:
        # Atomics on one address are served one after the other, by one slice of the L2 cache.
        found["global-atomics"] = clock / 1e9
        if sms:
            found |= {key: each * sms * clock / 1e9 for key, each in PER_CYCLE.items()}
    read = run.ceilings.get("read_bandwidth")
    if read:
        found["dram-bytes"] = read.value / 1e9
    return found


def _clock(run: Run) -> float | None:
    """The multiprocessors' clock during the rounds, Hz."""
    clocks = [c.sm_clock_hz for c in run.of(Conditions) if c.sm_clock_hz]
    clocks = clocks or [r.sm_clock_hz for r in run.of(Round) if r.sm_clock_hz]
    return float(np.median(clocks)) if clocks else None
