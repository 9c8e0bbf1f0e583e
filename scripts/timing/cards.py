"""Measure how much cards of one kind differ, by timing the same cases on several of them.

    python scripts/timing/cards.py FOLDER … [--out reports/h200/timing]

Each folder is a run of the same problem. cards.csv has a row per variant, size and run, for cold
launches: family, n, variant, card (the first part of its UUID), time_us, ratio (of the time to the
median over all runs), speed_up over the baseline and its ratio likewise, and read_gbps, the card's
highest read rate.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import runs

from harness import tables

BLOCK = runs.BLOCK


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=runs.TABLES)
    given = parser.parse_args()
    found = [tables.load(folder) for folder in given.folders]
    rows = [row for run in found for row in of_run(run)]
    medians = {
        (case, name): median(row[name] for row in rows if row["case"] == case)
        for case in {row["case"] for row in rows} for name in ("time_us", "speed_up")
    }  # fmt: skip
    runs.write(given.out / "cards.csv", [_beside(row, medians) for row in rows], found[-1])
    print(json.dumps(spread(rows), indent=1))


def of_run(run: tables.Run) -> list[dict[str, Any]]:
    """One row per case timed at the block size that all runs have."""
    card = (run.info.get("card") or {}).get("uuid", "")[4:12]
    read = run.ceilings.get("read_bandwidth")
    rows = []
    for planned in run.planned.values():
        baseline = run.timings.baseline_of(planned.case)
        if planned.launch.get("block", BLOCK) != BLOCK or baseline is None or not card:
            continue
        time, first = run.time(planned.case), run.time(baseline)
        if time and first:
            rows.append({
                "case": planned.case, "family": planned.problem, "n": planned.sizes["n"],
                "variant": planned.variant, "card": card, "time_us": time.value / 1e3,
                "speed_up": first.value / time.value,
                "read_gbps": f"{read.value / 1e9:.0f}" if read else "",
            })  # fmt: skip
    return rows


def _beside(row: dict[str, Any], medians: dict[tuple[str, str], float]) -> dict[str, Any]:
    time, speed_up = row["time_us"], row["speed_up"]
    return {
        "family": row["family"], "n": row["n"], "variant": row["variant"], "card": row["card"],
        "time_us": f"{time:.3f}", "ratio": f"{time / medians[row['case'], 'time_us']:.4f}",
        "speed_up": f"{speed_up:.4f}",
        "speed_up_ratio": f"{speed_up / medians[row['case'], 'speed_up']:.4f}",
        "read_gbps": row["read_gbps"],
    }  # fmt: skip


def spread(rows: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Size → the difference between the slowest and the fastest card: the median over all cases,
    and the maximum."""
    by_case: dict[tuple[int, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by_case[row["n"], row["case"]][row["card"]].append(row["time_us"])
    apart: dict[int, list[float]] = defaultdict(list)
    for (n, _), cards in by_case.items():
        if len(cards) > 1:
            times = [median(of_card) for of_card in cards.values()]
            apart[n].append(max(times) / min(times) - 1)
    return {
        str(n): {"median": f"{median(found):.2%}", "largest": f"{max(found):.2%}"}
        for n, found in sorted(apart.items())
    }


if __name__ == "__main__":
    main()
