"""The machine's peak rates, which give the minimum time for an amount of work.

The decrease of a counter explains a saving only if the work saved accounts for a fair share of the
time saved. Bytes are compared with the bandwidths measured in the same run. The other rates hold
for every NVIDIA GPU since Volta, per multiprocessor and cycle: four warp instructions, one per
scheduler ("SM Architecture" in the CUDA C++ Programming Guide); one warp's request to the
load/store units, 32 lanes; four sectors through the L1 cache and one wavefront of shared memory,
128 bytes each ("Memory Tables" in the Nsight Compute Kernel Profiling Guide); 16 lanes of special
functions ("Arithmetic Instructions" in the CUDA C++ Programming Guide).

Atomics on one address are serialised by the slice of the L2 cache that holds it: one lane per cycle
at worst. The number of colliding lanes is seldom counted, so this rate gives an upper bound on the
cost, while all the others give a lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from harness.journal.records import Conditions, Round
from harness.quantities import QUANTITIES
from harness.tables import Run

PER_CYCLE = {q.key: q.roof.per_cycle for q in QUANTITIES.values() if q.roof.per_cycle}
"""Quantity → the amount that a multiprocessor can process per cycle."""


def peaks_of(run: Run) -> Mapping[str, float]:
    """Map each quantity with a known peak to its rate per nanosecond."""
    found: dict[str, float] = {}
    clock, sms = _clock(run), (run.info.get("device") or {}).get("sm_count")
    if clock:
        found["atomic-passes"] = clock / 1e9
        if sms:
            found |= {key: each * sms * clock / 1e9 for key, each in PER_CYCLE.items()}
    for quantity in QUANTITIES.values():
        if measured := run.ceilings.get(quantity.roof.ceiling):
            found[quantity.key] = measured.value / 1e9
    return found


def _clock(run: Run) -> float | None:
    """The multiprocessors' clock during the rounds, in Hz."""
    clocks = [c.sm_clock_hz for c in run.of(Conditions) if c.sm_clock_hz]
    clocks = clocks or [r.sm_clock_hz for r in run.of(Round) if r.sm_clock_hz]
    return float(np.median(clocks)) if clocks else None
