"""Whether an interval holds tomorrow: fresh runs of the same matrix, compared with each other.

    python scripts/timing/repeatability.py [--runs 6] [--out reports/h200/timing] [FOLDER …]

The whole of reduce_sum in blocks of 256 threads, with its libraries, run several times; or runs
that were made before, by their folders. repeatability.csv, one row per size and cache. inside: the
share of a run's intervals of speed-ups that hold the median of the other runs' speed-ups. overlap:
the share of pairs of intervals, of two runs each, that overlap. Differences are those of one
speed-up between two runs. positions.csv: how long the launches at each position of a batch took,
over the mean of their batches, averaged over all batches of a size and cache; trend is the slope
of that from the first position to the last.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import runs

from harness import tables
from harness.measure.statistics import Interval
from harness.records import Round

ONLY = ["reduce_sum/*/*/*/block=256", "reduce_sum/torch", "reduce_sum/cub"]
TIMING = {"rounds": 24}
"""Eight placements at every size: what a run has at its first look."""
Key = tuple[int, str]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--out", type=Path, default=runs.TABLES)
    parser.add_argument("folders", nargs="*", type=Path)
    given = parser.parse_args()
    found = [tables.load(folder) for folder in given.folders]
    if len(found) > 1:
        runs.write(given.out / "repeatability.csv", list(agreement(found)))
    for _ in range(0 if found else given.runs):
        with tempfile.TemporaryDirectory() as folder:
            found.append(runs.fresh(Path(folder), ONLY, TIMING))
            speed_ups(found[-1])  # read before the folder is gone
        print(f"run {len(found)} is done", flush=True)
        if len(found) > 1:  # after each, so that what there is survives an early end
            runs.write(given.out / "repeatability.csv", list(agreement(found)))
    runs.write(given.out / "positions.csv", list(positions(found)))


def speed_ups(run: tables.Run) -> dict[Key, dict[str, Interval]]:
    """(n, cache) → case → the interval of its speed-up over the baseline."""
    found: dict[Key, dict[str, Interval]] = defaultdict(dict)
    for p in run.planned.values():
        baseline = run.timings.baseline_of(p.case)
        if baseline is None or baseline == p.case or run.outcomes[p.case].status != "ok":
            continue
        for cache in ("cold", "warm"):
            ratio = run.compare(p.case, baseline, cache).ratio
            if ratio:
                found[p.sizes["n"], cache][p.case] = ratio
    return found


def agreement(found: Sequence[tables.Run]) -> Iterator[dict[str, Any]]:
    each = [speed_ups(run) for run in found]
    for n, cache in sorted(each[0]):
        of_runs = [ratios[n, cache] for ratios in each]
        inside, overlap, differences = [], [], []
        for case in set.intersection(*map(set, of_runs)):
            ratios = [of_run[case] for of_run in of_runs]
            for i, one in enumerate(ratios):
                others = median(r.value for j, r in enumerate(ratios) if j != i)
                inside.append(one.low <= others <= one.high)
            for one, other in combinations(ratios, 2):
                overlap.append(one.low <= other.high and other.low <= one.high)
                differences.append(abs(one.value / other.value - 1))
        yield {
            "n": n, "cache": cache, "runs": len(found), "inside": f"{np.mean(inside):.4f}",
            "overlap": f"{np.mean(overlap):.4f}",
            "median_difference": f"{np.median(differences):.5f}",
            "largest_difference": f"{max(differences):.5f}",
        }  # fmt: skip


def positions(found: Sequence[tables.Run]) -> Iterator[dict[str, Any]]:
    each: dict[tuple[int, str, int], list[float]] = defaultdict(list)
    for run in found:
        for r in run.of(Round):
            planned = run.planned.get(r.case)
            if planned and len(r.samples_ns) >= 3:
                mean = float(np.mean(r.samples_ns))
                for position, ns in enumerate(r.samples_ns):
                    each[planned.sizes["n"], r.cache, position].append(ns / mean)
    means = {at: float(np.mean(ratios)) for at, ratios in each.items()}
    for n, cache, position in sorted(means):
        line = [means[at] for at in sorted(means) if at[:2] == (n, cache)]
        trend = np.polyfit(np.arange(len(line)), line, 1)[0] * (len(line) - 1)
        yield {
            "n": n, "cache": cache, "position": position,
            "batches": len(each[n, cache, position]),
            "relative": f"{means[n, cache, position]:.5f}", "trend": f"{trend:.5f}",
        }  # fmt: skip


if __name__ == "__main__":
    main()
