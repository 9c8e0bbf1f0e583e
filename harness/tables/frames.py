"""A run's records as pandas tables, except results.csv; `Run` has each under its name."""

from __future__ import annotations

from collections import defaultdict

import pandas as pd

from harness.journal.counter_records import Counted, Uncounted
from harness.journal.records import Conditions, Verified
from harness.tables.run_records import NCU_DURATION, RunRecords


def counters(run: RunRecords) -> pd.DataFrame:
    columns = ["case", "step", "kernel", "metric", "value", "unit", "provenance", "reason"]
    order = {case: i for i, case in enumerate(run.planned)}
    every: list[Counted | Uncounted] = [*run.of(Counted), *run.of(Uncounted)]
    both = sorted(
        every,
        key=lambda r: (order.get(r.case, len(order)), r.case, r.step, r.metric),
    )
    rows = [
        [*(getattr(record, name, None) for name in columns), _origin(record)] for record in both
    ]
    return pd.DataFrame(rows, columns=[*columns, "origin"])


def _origin(record: Counted | Uncounted) -> str | None:
    """The origin of a count: ncu or the emulator; None if there is a reason instead of a count."""
    if isinstance(record, Uncounted):
        return None
    return record.provenance if record.provenance in ("ncu", "measured") else "emulated"


def durations(run: RunRecords) -> pd.DataFrame:
    profiled: dict[str, float] = defaultdict(float)
    for record in run.of(Counted):
        if record.metric == NCU_DURATION:
            profiled[record.case] += record.value
    rows = []
    for case, ncu_ns in profiled.items():
        time = run.time(case)
        if time:
            event_ns = time.value
            apart = abs(ncu_ns - event_ns) > 0.1 * event_ns and event_ns > 50e3
            rows.append([case, event_ns, ncu_ns, ncu_ns / event_ns, apart])
    return pd.DataFrame(rows, columns=["case", "event_ns", "ncu_ns", "ratio", "disagrees"])


def verified(run: RunRecords) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "problem": v.problem, "variant": v.variant, "dtype": v.dtype,
                "sizes": " ".join(f"{k}={x}" for k, x in v.sizes.items()),
                "launch": " ".join(f"{k}={x}" for k, x in v.launch.items()),
                "phase": v.phase, "draw": v.draw, "ok": v.ok, "reason": v.reason,
                "error": v.error,
            }
            for v in run.of(Verified)
        ]
    )  # fmt: skip


def conditions(run: RunRecords) -> pd.DataFrame:
    return pd.DataFrame([vars(record) for record in run.of(Conditions)]).drop(
        columns="kind", errors="ignore"
    )
