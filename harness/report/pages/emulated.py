"""Notes on a timed run's page about counters that the emulator counted in place of ncu."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.readings import Readings
from harness.journal.records import Planned


def note(readings: Readings, shown: Sequence[Planned]) -> list[str]:
    """Say how a panel's cases were counted; empty if Nsight Compute read them or they were not
    counted at all."""
    told = [(p, e) for p in shown if (e := readings.run.emulated.get(p.case))]
    sizes = dict.fromkeys(readings.counted_at(p.case) for p, e in told if e.counted)
    found = [_at(size, next(e.reason for p, e in told if readings.counted_at(p.case) == size))
             for size in sizes]  # fmt: skip
    lacking = {e.reason: p.variant for p, e in reversed(told) if not e.counted}
    return found + [f"Not emulated: {variant}: {reason}." for reason, variant in lacking.items()]


def _at(size: str, reason: str) -> str:
    if not size:
        return "Emulated: Nsight Compute read nothing, so the emulator counted what was timed."
    return (
        f"Emulated at {size} ({reason}). Ratios are of that size; amounts are multiplied by how "
        "many times the work this size has, but in the table of every counter."
    )
