"""Measure whether speed-ups from one host hold on another: compare two runs of a matrix by case.

    python scripts/timing/hosts.py FOLDER FOLDER [--out reports/h200/timing]

The two runs are from cards of one kind in different hosts, which differ in the cost of two events
around a launch. hosts.csv, one row per size and cache: cases (speed-ups over the baseline that both
have), median_pct and p95_pct (of the differences between the two runs, in either direction), the
same for raw intervals between events, and floor_us: the cost of two events in each run.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import runs

from harness import tables

Key = tuple[int, str]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folders", nargs=2, type=Path)
    parser.add_argument("--out", type=Path, default=runs.TABLES)
    given = parser.parse_args()
    one, other = map(tables.load, given.folders)
    runs.write(given.out / "hosts.csv", list(differences(one, other)), other)


def differences(one: tables.Run, other: tables.Run) -> Iterator[dict[str, Any]]:
    net, raw = speed_ups(one, "median_ns"), speed_ups(one, "between_events_ns")
    net_there = speed_ups(other, "median_ns")
    raw_there = speed_ups(other, "between_events_ns")
    for key in sorted(net.keys() & net_there.keys()):
        both = net[key].keys() & net_there[key].keys()
        of_net = [_apart(net[key][case], net_there[key][case]) for case in both]
        of_raw = [_apart(raw[key][case], raw_there[key][case]) for case in both]
        n, cache = key
        yield {
            "n": n, "cache": cache, "cases": len(both),
            "median_pct": _percent(of_net, 50), "p95_pct": _percent(of_net, 95),
            "raw_median_pct": _percent(of_raw, 50), "raw_p95_pct": _percent(of_raw, 95),
            "floor_us": f"{floor_us(one, cache):.2f}",
            "other_floor_us": f"{floor_us(other, cache):.2f}",
        }  # fmt: skip


def speed_ups(run: tables.Run, column: str) -> dict[Key, dict[str, float]]:
    """(n, cache) → case → its speed-up over the baseline, computed from the times in a column."""
    table = run.results
    ns = {(case, cache): value for case, cache, value
          in zip(table["case"], table["cache"], table[column], strict=True)}  # fmt: skip
    found: dict[Key, dict[str, float]] = defaultdict(dict)
    for planned in run.planned.values():
        baseline = run.timings.baseline_of(planned.case)
        if baseline is None or baseline == planned.case:
            continue
        for cache in ("cold", "warm"):
            ratio = ns.get((baseline, cache), math.nan) / ns.get((planned.case, cache), math.nan)
            if math.isfinite(ratio):
                found[planned.sizes["n"], cache][planned.case] = ratio
    return found


def floor_us(run: tables.Run, cache: str) -> float:
    """The cost of two events in the run."""
    return run.timings.event_costs.usual(cache).ns / 1e3


def _apart(one: float, other: float) -> float:
    return abs(math.log(one / other))


def _percent(differences: list[float], quantile: float) -> str:
    return f"{100 * math.expm1(float(np.percentile(differences, quantile))):.2f}"


if __name__ == "__main__":
    main()
