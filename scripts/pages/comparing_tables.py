"""Write the tables of docs/comparing.md and docs/ci.md: the gate's counters, and how often it is
right.

    python scripts/pages/comparing_tables.py            rewrite the text between the markers
    python scripts/pages/comparing_tables.py --check    exit 1 if it is out of date

The script reads harness/comparison/regression_metrics.py and the files that four targets write:
reports/simulated/gate.csv (`make benchmark-compare`), reports/h200/reliability/gate.csv
(`make benchmark-gate`), gate_ladder.csv in the same folder and in reports/h100
(`make benchmark-gate-ladder`), and reports/emulated/gate_edits.csv (`make benchmark-gate-edits`).
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median

import sections

from harness.comparison.regression_metrics import GAUGES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "comparing.md"
SIMULATED = ROOT / "reports" / "simulated" / "gate.csv"
CI_PAGE = ROOT / "docs" / "ci.md"
EDITED = ROOT / "reports" / "emulated" / "gate_edits.csv"
TIMED = ROOT / "reports" / "h200" / "reliability" / "gate.csv"
LADDERS = [ROOT / "reports" / card / "reliability" / "gate_ladder.csv" for card in ("h200", "h100")]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    options = parser.parse_args(arguments)
    tables = {"gauges": gauges(), "benchmark": simulated(), "gate": timed(), "ladders": ladders()}
    pages = {PAGE: tables, CI_PAGE: {"edits": edits()}}
    command = "python scripts/pages/comparing_tables.py"
    codes = [
        sections.keep(page, {name: "\n".join(lines) for name, lines in each.items()},
                      options.check, command)
        for page, each in pages.items()
    ]  # fmt: skip
    return max(codes)


def gauges() -> Iterator[str]:
    yield "| counter | worse | decides, where exact | because |"
    yield "|---|---|---|---|"
    for g in GAUGES:
        way = "more" if g.worse > 0 else "less"
        yield f"| {g.quantity.words} | {way} | {g.deciding} | {g.why} |"


def edits() -> Iterator[str]:
    """One row per kind and family of edit: the number of edits, and the gate's results."""
    rows = _rows(EDITED)
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        found.setdefault((row["kind"], row["family"]), []).append(row["exit"])
    yield "| edit | kind | edits | exit 0 | exit 1 | exit 3 |"
    yield "|---|---|--:|--:|--:|--:|"
    for (kind, family), codes in found.items():
        counts = " | ".join(str(codes.count(code)) for code in "013")
        yield f"| {family} | {kind} | {len(codes)} | {counts} |"


def simulated() -> Iterator[str]:
    """One row per mode and noise model: rates of false alarms, detections, and undecided
    comparisons."""
    rows = _rows(SIMULATED)
    pairs = sorted({int(row["pairs"]) for row in rows})
    each = f"{pairs[0]} pairs each" if len(pairs) == 1 else f"{pairs[0]} to {pairs[-1]} pairs each"
    yield (f"| sides | noise, {each} | equal kernels: any is blamed "
           "| the gate opens | 2 % slower: is found | nobody can tell "
           "| intervals, on average |")  # fmt: skip
    yield "|---|---|--:|--:|--:|--:|--:|"
    for row in rows:
        shares = [f"{100 * float(row[key]):.1f} %"
                  for key in ("false", "passed", "found_2pct", "cannot_tell")]  # fmt: skip
        half = f"± {100 * float(row['half']):.2f} %"
        yield f"| {row['mode']} | {row['noise']} | {' | '.join(shares)} | {half} |"
    yield _origin(SIMULATED, rows)


def timed() -> Iterator[str]:
    """One row for equal kernels and one for slower kernels: exit codes, and the observed change."""
    rows = _rows(TIMED)
    yield ("| kernel of the working tree | comparisons | exit 0 | exit 1 | change, median (range) "
           "| intervals that contain 0 |")  # fmt: skip
    yield "|---|--:|--:|--:|--:|--:|"
    said = {"equal": "the commit's own", "slower": "with a few more instructions"}
    for kernels, words in said.items():
        found = [row for row in rows if row["kernels"] == kernels]
        codes = [row["code"] for row in found]
        changes = [100 * float(row["change"]) for row in found]
        holding = sum(float(row["low"]) <= 0 <= float(row["high"]) for row in found)
        yield (f"| {words} | {len(found)} | {codes.count('0')} | {codes.count('1')} "
               f"| {median(changes):+.2f} % ({min(changes):+.2f} to {max(changes):+.2f} %) "
               f"| {holding} |")  # fmt: skip
    yield _origin(TIMED, rows)


def ladders() -> Iterator[str]:
    """One row per card and mode of comparing a ladder with itself: false alarms and detections."""
    found = {table: _rows(table) for table in LADDERS}
    yield (
        "| a ladder and itself | card | comparisons | cases in all | called slower or faster "
        "| exit 0 | exit 1 | exit 3 | of one that takes 2 % longer: found | exit 3 |"
    )
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for table, rows in found.items():
        machine = table.parents[1].name.upper()
        for mode, card in dict.fromkeys((row["mode"], row["card"]) for row in rows):
            alike = [row for row in rows if (row["mode"], row["card"]) == (mode, card)]
            codes = [row["code"] for row in alike]
            untold = sum(row["code_2pct"] == "3" and row["found_2pct"] == "0" for row in alike)
            yield (f"| {mode} | {machine} {card} | {len(alike)} "
                   f"| {sum(int(row['cases']) for row in alike)} "
                   f"| {sum(int(row['blamed']) for row in alike)} | {codes.count('0')} "
                   f"| {codes.count('1')} | {codes.count('3')} "
                   f"| {sum(row['found_2pct'] == '1' for row in alike)} | {untold} |")  # fmt: skip
    for table, rows in found.items():
        yield _origin(table, rows)


def _rows(table: Path) -> list[dict[str, str]]:
    with table.open(newline="") as file:
        return list(csv.DictReader(file))


def _origin(table: Path, rows: Iterable[Mapping[str, str]]) -> str:
    """The line below a table: the file that contains its rows, and the commits that produced
    them."""
    commits = ", ".join(dict.fromkeys(row["commit"] for row in rows))
    return "\n" + sections.origin(table, ROOT, commits)


if __name__ == "__main__":
    sys.exit(main())
