"""Write the tables of docs/comparing.md: the gauges, and the simulated comparisons.

    python scripts/comparing_tables.py            rewrite what stands between the markers
    python scripts/comparing_tables.py --check    exit 1 if it is out of date

From harness/comparison/gauges.py and reports/h200/timing/comparisons.csv, which
`make benchmark-compare` writes.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import sections

from harness.comparison.gauges import GAUGES

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "comparing.md"
SIMULATED = ROOT / "reports" / "h200" / "timing" / "comparisons.csv"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    options = parser.parse_args(arguments)
    contents = {"gauges": "\n".join(gauges()), "benchmark": "\n".join(simulated())}
    return sections.keep(PAGE, contents, options.check, "python scripts/comparing_tables.py")


def gauges() -> Iterator[str]:
    yield "| counter | worse | decides, where exact | because |"
    yield "|---|---|---|---|"
    for g in GAUGES:
        way, decides = "more" if g.worse > 0 else "less", "yes" if g.decides else "no"
        yield f"| {g.quantity.words} | {way} | {decides} | {g.why} |"


def simulated() -> Iterator[str]:
    """One row per model of noise: what passes, and what slowdown of one variant is found."""
    rows: dict[str, dict[float, dict[str, str]]] = {}
    with SIMULATED.open(newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["noise"], {})[float(row["slowdown"])] = row
    pairs = max(int(row["pairs"]) for each in rows.values() for row in each.values())
    yield (f"| noise, {pairs} pairs each | equal runs exit with 0 | 0.5 % slower is found "
           "| 1 % slower is found | intervals, on average |")  # fmt: skip
    yield "|---|--:|--:|--:|--:|"
    for noise, by in rows.items():
        equal = by[0.0]
        found = [f"{100 * float(by[x]['found']):.0f} %" for x in (0.005, 0.01)]
        passed = f"{100 * float(equal['passed']):.1f} %"
        yield f"| {noise} | {passed} | {' | '.join(found)} | ± {100 * float(equal['half']):.2f} % |"


if __name__ == "__main__":
    sys.exit(main())
