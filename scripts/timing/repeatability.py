"""Measure whether an interval holds in the next run: compare fresh runs of the same matrix.

    python scripts/timing/repeatability.py [--runs 6] [--out reports/h200/timing] [FOLDER …]

All variants of reduce_sum in blocks of 256 threads, with the libraries, are run several times; the
packed runs are kept in the folder runs/ of the output. Earlier runs can be named by their folders
instead. repeatability.csv has one row per size and cache. `inside`: the share of a run's speed-up
intervals that contain the median of the other runs' speed-ups. `exact`: the share that exact
intervals would have: less than 95 %, because the median of a few runs is not the truth either.
`dealt_low`, `dealt_high`: the range that contains 90 % of the shares inside if the same placements
are assigned to the runs at random, all speed-ups of a placement together. If `inside` lies in this
range too, nothing distinguishes a run from the placements that it happened to get. `variance`: a
speed-up's variance between runs over the variance that its intervals imply, averaged over the
speed-ups. 1 means that the intervals are exact; below 1 they are wider than necessary. `overlap`:
the share of pairs of intervals from two runs that overlap. The differences are those between a
speed-up's values in two runs. positions.csv: how long the launches at each position of a batch
took, over the mean of their batches, averaged over all batches of a size and cache; `trend`: the
slope of that ratio from the first position to the last.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import runs
from scipy.special import stdtrit

from harness import tables
from harness.journal.records import Round
from harness.statistics.intervals import Interval, over_placements
from harness.tables import packed

ONLY = ["reduce_sum/*/*/*/block=256", "reduce_sum/torch", "reduce_sum/cub"]
PLACEMENTS = 8
TIMING = {"rounds": 3 * PLACEMENTS}
"""The timing settings: every size gets the placements that a run has at its first look."""
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
        runs.write(given.out / "repeatability.csv", list(agreement(found)), found[-1])
    for _ in range(0 if found else given.runs):
        with tempfile.TemporaryDirectory() as folder:
            made = runs.fresh(Path(folder), ONLY, TIMING)
            kept = given.out / "runs" / str(len(found) + 1)
            packed.pack(made.folder, kept)
        found.append(tables.load(kept))
        print(f"run {len(found)} is done", flush=True)
        if len(found) > 1:  # after each, so that results survive an early end
            runs.write(given.out / "repeatability.csv", list(agreement(found)), found[-1])
    runs.write(given.out / "positions.csv", list(positions(found)), found[-1])


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
        inside, overlap, differences, variances = [], [], [], []
        for case in set.intersection(*map(set, of_runs)):
            ratios = [of_run[case] for of_run in of_runs]
            claimed = float(np.mean([standard_error(ratio) ** 2 for ratio in ratios]))
            variances.append(np.var([math.log(r.value) for r in ratios], ddof=1) / claimed)
            for i, one in enumerate(ratios):
                others = median(r.value for j, r in enumerate(ratios) if j != i)
                inside.append(one.low <= others <= one.high)
            for one, other in combinations(ratios, 2):
                overlap.append(one.low <= other.high and other.low <= one.high)
                differences.append(abs(one.value / other.value - 1))
        low, high = dealt(found, (n, cache))
        yield {
            "n": n, "cache": cache, "runs": len(found), "inside": f"{np.mean(inside):.4f}",
            "exact": f"{exactly(len(found)):.4f}", "dealt_low": f"{low:.4f}",
            "dealt_high": f"{high:.4f}", "variance": f"{np.mean(variances):.3f}",
            "overlap": f"{np.mean(overlap):.4f}",
            "median_difference": f"{np.median(differences):.5f}",
            "largest_difference": f"{max(differences):.5f}",
        }  # fmt: skip


def dealt(found: Sequence[tables.Run], key: Key, deals: int = 1_000) -> tuple[float, float]:
    """The range that contains 90 % of the values of `inside`, if placements are reassigned to the
    runs at random.

    All speed-ups share one baseline and its error, so the share scatters much more than it would
    for independent intervals.
    """
    logs = [placements(run, key) for run in found]
    most = min(map(len, logs))
    values = np.array([run[:most] for run in logs])  # run × placement × case
    rng, shares = np.random.default_rng(1), []
    for _ in range(deals):
        hands = rng.permutation(values.reshape(-1, values.shape[2])).reshape(values.shape)
        means, errors = hands.mean(axis=1), hands.std(axis=1, ddof=1) / math.sqrt(most)
        shares.append(share_inside(means, float(stdtrit(most - 1, 0.975)) * errors))
    low, high = np.quantile(shares, [0.05, 0.95])
    return float(low), float(high)


def placements(run: tables.Run, key: Key) -> Any:
    """The logarithms of all speed-ups over the baseline: an array of placement × case."""
    n, cache = key
    columns = []
    for p in run.planned.values():
        baseline = run.timings.baseline_of(p.case)
        if p.sizes["n"] != n or baseline in (None, p.case) or run.outcomes[p.case].status != "ok":
            continue
        times, first = run.timings.times(p.case, cache), run.timings.times(baseline, cache)
        logs = {at: math.log(first[at] / times[at]) for at in times.keys() & first.keys()}
        columns.append(over_placements(logs))
    return np.array([column for column in columns if len(column) == len(columns[0])]).T


def standard_error(ratio: Interval) -> float:
    """The standard error of a speed-up's logarithm that its interval implies."""
    return math.log(ratio.high / ratio.low) / 2 / float(stdtrit(PLACEMENTS - 1, 0.975))


def exactly(number: int, draws: int = 20_000) -> float:
    """Simulate how often an exact 95 % interval contains the median of the other runs."""
    rng = np.random.default_rng(1)
    values = rng.standard_normal((draws, number)).T
    errors = np.sqrt(rng.chisquare(PLACEMENTS - 1, (draws, number)).T / (PLACEMENTS - 1))
    return share_inside(values, float(stdtrit(PLACEMENTS - 1, 0.975)) * errors)


def share_inside(means: Any, reach: Any) -> float:
    """The share of the runs' means, one per row, that lie within a given distance of the other
    runs' median."""
    others = [np.median(np.delete(means, i, axis=0), axis=0) for i in range(len(means))]
    return float(np.mean(np.abs(means - others) <= reach))


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
