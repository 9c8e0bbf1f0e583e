"""results.csv as a table: one row per case and cache state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from harness.journal.records import Planned
from harness.tables import roofs

if TYPE_CHECKING:
    from harness.tables.run_records import RunRecords


def table(run: RunRecords) -> pd.DataFrame:
    """Build the table. A value that does not exist is missing, never 0."""
    caches = ("cold", "warm") if run.is_timed else ("",)
    rows = [_row(run, p, cache) for p in run.planned.values() for cache in caches]
    return _ordered(pd.DataFrame(rows))


def _row(run: RunRecords, p: Planned, cache: str) -> dict[str, Any]:
    outcome = run.outcomes[p.case]
    row: dict[str, Any] = {
        "case": p.case, "problem": p.problem, "variant": p.variant, "dtype": p.dtype,
        **p.sizes, **p.launch,
        "backend": run.info["backend"], "cache": cache,
        "status": outcome.status, "reason": outcome.reason,
        "bytes": p.bytes, "flops": p.flops,
        "shown": p.case in run.shown, "library": p.is_library, "builds_on": p.builds_on,
    }  # fmt: skip
    if run.located:
        row |= _where(run, p)
    main = run.main_step(p.case)
    for step in run.compiled.get(p.case, []):
        if step.step == main:
            row |= {
                "registers": step.registers,
                "shared_bytes": step.shared_bytes,
                "spill_bytes": step.spill_bytes,
                "occupancy_theoretical": step.occupancy,
            }
    if run.is_timed:
        row |= _timing(run, p, cache)
    return row


def _where(run: RunRecords, p: Planned) -> dict[str, Any]:
    """The hosts and GPUs that worked on the case, in a run on several of them."""
    found = run.located.get(p.case, [])
    hosts, gpus = dict.fromkeys(r.host for r in found), dict.fromkeys(r.gpu for r in found)
    return {"host": " ".join(hosts) or None, "gpu": " ".join(filter(None, gpus)) or None}


def _timing(run: RunRecords, p: Planned, cache: str) -> dict[str, Any]:
    times = run.timings.times(p.case, cache)
    interval = run.time(p.case, cache)
    if interval is None:
        return {"rounds": len(times) or None}
    failed = run.outcomes[p.case].status != "ok"
    baseline = None if failed else run.timings.baseline_of(p.case)
    versus = run.compare(p.case, baseline, cache) if baseline else None
    ratio = versus.ratio if versus else None
    # For data in cache, the memory's ceiling does not apply.
    read = run.ceilings.get("read_bandwidth") if cache == "cold" else None
    rate = roofs.arithmetic_limit(run, p)
    # No kernel moves more bytes per second than reading alone; other roofs are only the best rates
    # found. The last bytes written may still be in the L2 cache when a kernel ends.
    moved = p.bytes - min(p.written_bytes or 0, roofs.l2_bytes(run.info))
    above = any(
        work / interval.high > limit.high / 1e9
        for work, limit in ((moved, read), (p.flops, rate))
        if limit
    )
    roof = roofs.roof_of(run, p) if cache == "cold" else None
    spread = run.timings.spread(p.case, cache)
    raw = run.timings.interval_between_events(p.case, cache)
    return {
        "rounds": len(times),
        "placements": len({placement for placement, _ in times}),
        "samples": sum(len(r.samples_ns) for r in run.timings.rounds(p.case, cache)),
        "median_ns": interval.value, "ci_low_ns": interval.low, "ci_high_ns": interval.high,
        "between_events_ns": raw and raw.value,
        "spread_between": spread and spread.between,
        "spread_within": spread and spread.within,
        "gbps": p.bytes / interval.value,
        "pct_of_ceiling": 100 * roof.least.value / interval.value if roof else None,
        "roof": roof.named if roof else None,
        "speedup": ratio and ratio.value,
        "speedup_low": ratio and ratio.low,
        "speedup_high": ratio and ratio.high,
        "verdict": "invalid" if failed or above or not versus else versus.verdict,
        "above_ceiling": above,
    }  # fmt: skip


_FIRST = ["problem", "variant", "dtype"]
_LAST = [
    "backend", "cache", "status", "reason", "rounds", "samples", "median_ns", "ci_low_ns",
    "ci_high_ns", "bytes", "flops", "gbps", "pct_of_ceiling", "speedup", "speedup_low",
    "speedup_high", "verdict", "registers", "shared_bytes", "spill_bytes",
    "occupancy_theoretical", "case", "placements", "spread_between", "spread_within", "shown",
    "library", "builds_on", "above_ceiling", "between_events_ns",
    "roof",
]  # fmt: skip
_WHERE = ["host", "gpu"]
"""Columns that only a run distributed over several machines has."""


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Put the columns in the order that results.csv promises, with sizes and launch keys in the
    middle."""
    for name in _FIRST + _LAST:
        if name not in table:
            table[name] = None
    where = [name for name in _WHERE if name in table]
    middle = [name for name in table if name not in _FIRST + _LAST + where]
    for name in map(str, middle):
        table[name] = table[name].astype("Int64")
    return table[_FIRST + middle + _LAST + where]
