"""A run's folder → pandas tables. Reads only the journal and run.json, so it works anywhere.

run = harness.tables.load("reports/latest")
run.results       # one row a case and cache state, as results.csv
run.counters      # one row a case, step and metric, as counters.csv
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from harness.errors import JournalError
from harness.measure.statistics import Interval
from harness.measure.timings import Comparison, Group, Timings, ceiling_over_placements
from harness.records import (
    Ceiling,
    Compiled,
    Conditions,
    Counted,
    Outcome,
    Planned,
    Record,
    Remark,
    Round,
    Uncounted,
    Verified,
    read_journal,
)

NCU_DURATION = "gpu__time_duration.sum"
R = TypeVar("R", bound=Record)


class Run:
    """What one run measured. `info` is run.json."""

    def __init__(self, folder: Path, info: Mapping[str, Any], records: Iterable[Record]) -> None:
        self.folder, self.info = folder, info
        self.records = _without_superseded(list(records))
        self.confidence = float(info["timing"]["confidence"])
        self.same_within = float(info["timing"]["same_within"])

    def of(self, kind: type[R]) -> list[R]:
        """The journal's records of one kind, oldest first."""
        return [record for record in self.records if isinstance(record, kind)]

    @cached_property
    def planned(self) -> dict[str, Planned]:
        return {record.case: record for record in self.of(Planned)}

    @cached_property
    def outcomes(self) -> dict[str, Outcome]:
        """The last outcome of every case; a case without one was not reached."""
        ended = {record.case: record for record in self.of(Outcome)}
        missing = "not reached: the run ended first"
        return {case: ended.get(case, Outcome(case, "skipped", missing)) for case in self.planned}

    @cached_property
    def compiled(self) -> dict[str, list[Compiled]]:
        """Case → a record for each of its steps."""
        steps: dict[str, dict[int, Compiled]] = defaultdict(dict)
        for record in self.of(Compiled):
            steps[record.case][record.step] = record
        return {case: [found[i] for i in sorted(found)] for case, found in steps.items()}

    @cached_property
    def ceilings(self) -> dict[str, Ceiling]:
        """Each as all placements saw it, where they measured it again."""
        probes: dict[str, list[Round]] = defaultdict(list)
        for record in self.of(Round):
            if record.case not in self.planned:
                probes[record.case].append(record)
        return {
            record.name: ceiling_over_placements(record, probes[record.case], self.confidence)
            for record in self.of(Ceiling)
        }

    @cached_property
    def is_timed(self) -> bool:
        return any(isinstance(record, Round) for record in self.records)

    @cached_property
    def timings(self) -> Timings:
        """The rounds, ready to be compared."""
        return Timings(self.records, self.planned, self.outcomes, self.info["timing"])

    def time(self, case: str, cache: str = "cold") -> Interval | None:
        """The case's time with its interval, ns; None where it was not timed, or too little."""
        return self.timings.time(case, cache)

    def compare(self, case: str, against: str, cache: str = "cold") -> Comparison:
        """How many times faster `case` is than `against`; the two share problem and sizes."""
        return self.timings.compare(case, against, cache)

    def groups(self) -> dict[Group, list[Planned]]:
        """(problem, dtype, sizes as text) → its cases, the library's last."""
        return self.timings.groups

    @cached_property
    def remarks(self) -> dict[tuple[str, str], list[Remark]]:
        """(problem, variant) → what a reader must know of it."""
        found: dict[tuple[str, str], list[Remark]] = defaultdict(list)
        for record in self.of(Remark):
            if record not in found[record.problem, record.variant]:
                found[record.problem, record.variant].append(record)
        return dict(found)

    @cached_property
    def results(self) -> pd.DataFrame:
        """One row a case and cache state; a value that does not exist is missing, never 0."""
        caches = ("cold", "warm") if self.is_timed else ("",)
        rows = [self._row(p, cache) for p in self.planned.values() for cache in caches]
        return _ordered(pd.DataFrame(rows))

    def _row(self, p: Planned, cache: str) -> dict[str, Any]:
        outcome, steps = self.outcomes[p.case], self.compiled.get(p.case, [])
        row: dict[str, Any] = {
            "case": p.case, "problem": p.problem, "variant": p.variant, "dtype": p.dtype,
            **p.sizes, **p.launch,
            "backend": self.info["backend"], "cache": cache,
            "status": outcome.status, "reason": outcome.reason,
            "bytes": p.bytes, "flops": p.flops,
        }  # fmt: skip
        if steps:
            row |= {
                "registers": max(s.registers for s in steps),
                "shared_bytes": max(s.shared_bytes for s in steps),
                "spill_bytes": max(s.spill_bytes for s in steps),
                "occupancy_theoretical": min(s.occupancy for s in steps[:1]),
            }
        if self.is_timed:
            row |= self._timing(p, cache)
        return row

    def _timing(self, p: Planned, cache: str) -> dict[str, Any]:
        times = self.timings.times(p.case, cache)
        interval = self.time(p.case, cache)
        if interval is None:
            return {"rounds": len(times) or None}
        failed = self.outcomes[p.case].status != "ok"
        baseline = None if failed else self.timings.baseline_of(p.case)
        versus = self.compare(p.case, baseline, cache) if baseline else None
        ratio = versus.ratio if versus else None
        # In cache, the memory's ceiling says nothing.
        ceiling = self.ceilings.get("read_bandwidth") if cache == "cold" else None
        rate = self.ceilings.get("fp32_rate") if p.dtype == "float32" else None
        gbps = p.bytes / interval.value
        above = any(
            work / interval.high > limit.high / 1e9
            for work, limit in ((p.bytes, ceiling), (p.flops, rate))
            if limit
        )
        spread = self.timings.spread(p.case, cache)
        return {
            "rounds": len(times),
            "placements": len({placement for placement, _ in times}),
            "samples": sum(len(r.samples_ns) for r in self.timings.rounds(p.case, cache)),
            "median_ns": interval.value, "ci_low_ns": interval.low, "ci_high_ns": interval.high,
            "spread_between": spread and spread.between,
            "spread_within": spread and spread.within,
            "gbps": gbps,
            "pct_of_ceiling": 100 * gbps * 1e9 / ceiling.value if ceiling else None,
            "speedup": ratio and ratio.value,
            "speedup_low": ratio and ratio.low,
            "speedup_high": ratio and ratio.high,
            "verdict": "invalid" if failed or above or not versus else versus.verdict,
            "above_ceiling": above,
        }  # fmt: skip

    @cached_property
    def counters(self) -> pd.DataFrame:
        """One row a case, step and metric; one without a value has a reason."""
        columns = ["case", "step", "kernel", "metric", "value", "unit", "provenance", "reason"]
        both = [*self.of(Counted), *self.of(Uncounted)]
        rows = [[getattr(record, name, None) for name in columns] for record in both]
        return pd.DataFrame(rows, columns=columns)

    @cached_property
    def durations(self) -> pd.DataFrame:
        """A case's time by events (cold) beside ncu's duration of all its steps, ns.

        disagrees: they differ by over 10 % though the launch takes over 50 µs. ncu launches alone,
        at clocks that one launch does not raise, so short launches differ and mean nothing.
        """
        profiled: dict[str, float] = defaultdict(float)
        for record in self.of(Counted):
            if record.metric == NCU_DURATION:
                profiled[record.case] += record.value
        rows = []
        for case, ncu_ns in profiled.items():
            time = self.time(case)
            if time:
                event_ns = time.value
                apart = abs(ncu_ns - event_ns) > 0.1 * event_ns and event_ns > 50e3
                rows.append([case, event_ns, ncu_ns, ncu_ns / event_ns, apart])
        return pd.DataFrame(rows, columns=["case", "event_ns", "ncu_ns", "ratio", "disagrees"])

    @cached_property
    def verified(self) -> pd.DataFrame:
        """One row a verified launch."""
        return pd.DataFrame(
            [
                {
                    "problem": v.problem, "variant": v.variant, "dtype": v.dtype,
                    "sizes": " ".join(f"{k}={x}" for k, x in v.sizes.items()),
                    "launch": " ".join(f"{k}={x}" for k, x in v.launch.items()),
                    "phase": v.phase, "draw": v.draw, "ok": v.ok, "reason": v.reason,
                    "error": v.error,
                }
                for v in self.of(Verified)
            ]
        )  # fmt: skip

    @cached_property
    def conditions(self) -> pd.DataFrame:
        """The GPU's clocks, temperature, power and throttling, a row a round."""
        return pd.DataFrame([vars(record) for record in self.of(Conditions)]).drop(
            columns="kind", errors="ignore"
        )


def _without_superseded(records: Sequence[Record]) -> list[Record]:
    """Of each counter the last figure: a resumed profile, or a second report, tells it again."""
    last: dict[tuple[str, int, str], Record] = {}
    for record in records:
        if isinstance(record, Counted | Uncounted):
            key = record.case, record.step, record.metric
            if isinstance(record, Counted) or not isinstance(last.get(key), Counted):
                last[key] = record
    kept = {id(record) for record in last.values()}
    return [r for r in records if not isinstance(r, Counted | Uncounted) or id(r) in kept]


_FIRST = ["problem", "variant", "dtype"]
_LAST = [
    "backend", "cache", "status", "reason", "rounds", "samples", "median_ns", "ci_low_ns",
    "ci_high_ns", "bytes", "flops", "gbps", "pct_of_ceiling", "speedup", "speedup_low",
    "speedup_high", "verdict", "registers", "shared_bytes", "spill_bytes",
    "occupancy_theoretical", "case", "placements", "spread_between", "spread_within",
    "above_ceiling",
]  # fmt: skip


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Columns in the order that results.csv promises, sizes and launch keys in the middle."""
    for name in _LAST:
        if name not in table:
            table[name] = None
    middle = [name for name in table if name not in _FIRST + _LAST]
    for name in map(str, middle):
        table[name] = table[name].astype("Int64")
    return table[_FIRST + middle + _LAST]


def load(folder: str | Path) -> Run:
    """The run in a folder. Raises JournalError with the place and the remedy."""
    folder = Path(folder)
    try:
        info = json.loads((folder / "run.json").read_text())
    except (OSError, ValueError) as error:
        raise JournalError(
            f"{folder / 'run.json'} cannot be read ({error})\n"
            "  name a run's folder, such as reports/latest, or make one: make bench"
        ) from None
    return Run(folder, info, read_journal(folder / "journal.jsonl"))


def write(run: Run) -> None:
    """results.csv and counters.csv beside the journal; numbers to 10 digits."""
    promised = run.results.drop(columns="above_ceiling")
    for table, name in ((promised, "results.csv"), (run.counters, "counters.csv")):
        table.to_csv(run.folder / name, index=False, float_format=_number)


def _number(value: Any) -> str:
    return str(int(value)) if value == int(value) else f"{value:.10g}"


def main(folder: str = "reports/latest") -> None:
    """Print a run's results and counters."""
    run = load(folder)
    for title, table in (("results", run.results), ("counters", run.counters)):
        print(f"{title}: {len(table)} rows")
        print(table.dropna(axis="columns", how="all").to_string(index=False))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
    except JournalError as error:
        sys.exit(f"error: {error}")
