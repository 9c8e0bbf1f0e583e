"""What the machine does at most in a nanosecond: the least time that an amount of work takes.

A counter that fell explains a saving only if what fell takes a fair part of the time that was
saved. Bytes are held against the bandwidths measured in the same run. The other rates are those of
every NVIDIA GPU since Volta, for each multiprocessor and cycle: four warp instructions, one for
each scheduler ("SM Architecture" in the CUDA C++ Programming Guide); one warp's request to the
load/store units, 32 lanes; four sectors through the L1 cache and one wavefront of shared memory,
128 bytes each ("Memory Tables" in the Nsight Compute Kernel Profiling Guide); 16 lanes of special
functions ("Arithmetic Instructions" in the CUDA C++ Programming Guide).

Atomics on one address are served one after the other, by the slice of the L2 cache that holds it: a
lane a cycle at the worst. What meets where is seldom counted, so that this is the most that they
cost, where all other rates give the least.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from harness.journal.records import Conditions, Round
from harness.tables import Run

PER_CYCLE = {
    "instructions": 4.0, "requests": 1.0, "shared-requests": 1.0, "sectors": 4.0, "wavefronts": 1.0,
    "special-functions": 0.5,
}  # fmt: skip
"""Quantity → how many of it a multiprocessor manages in a cycle."""
_CEILINGS = {"dram-bytes": "read_bandwidth", "l2-bytes": "l2_bandwidth"}


def peaks_of(run: Run) -> Mapping[str, float]:
    """Quantity → how many of it the machine manages in a nanosecond; without those not known."""
    found: dict[str, float] = {}
    clock, sms = _clock(run), (run.info.get("device") or {}).get("sm_count")
    if clock:
        found["atomic-passes"] = clock / 1e9
        if sms:
            found |= {key: each * sms * clock / 1e9 for key, each in PER_CYCLE.items()}
    for key, name in _CEILINGS.items():
        if measured := run.ceilings.get(name):
            found[key] = measured.value / 1e9
    return found


def _clock(run: Run) -> float | None:
    """The multiprocessors' clock during the rounds, Hz."""
    clocks = [c.sm_clock_hz for c in run.of(Conditions) if c.sm_clock_hz]
    clocks = clocks or [r.sm_clock_hz for r in run.of(Round) if r.sm_clock_hz]
    return float(np.median(clocks)) if clocks else None
