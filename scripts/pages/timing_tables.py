"""Write the tables of docs/measurement.md about the quality of timing, from committed figures.

    python scripts/pages/timing_tables.py            rewrite the text between the markers
    python scripts/pages/timing_tables.py --check    exit 1 if it is out of date

Reads reports/h200/timing/*.csv, and made.json in the same folder, which has the commit and the
machine of each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import sections

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "measurement.md"
FIGURES = ROOT / "reports" / "h200" / "timing"
Rows = Iterator[Sequence[str]]
MODELS = {
    "white": "0.3 % per batch, independent",
    "steps": "the same, and everything 3 % slower or faster after some batch",
    "outliers": "the same, and one batch in twenty longer by 10 % on average",
    "student t2": "0.3 % times Student's t with two degrees of freedom",
    "autocorrelated": "1 %, with a memory of 50 batches",
    "clock levels": "0.3 %, and clocks that jump between two levels 4 % apart",
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    options = parser.parse_args(arguments)
    contents = {name: section(name) for name in TABLES}
    return sections.keep(PAGE, contents, options.check, "python scripts/pages/timing_tables.py")


def section(name: str) -> str:
    """A Markdown table, with its origin below it."""
    path = FIGURES / f"{name}.csv"
    head, alignment, rows = TABLES[name]
    figures = pd.read_csv(path)
    lines = [head, alignment, *rows(figures)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    commits = ", ".join(figures.commit.unique()) if "commit" in figures else ""
    return f"{table}\n\n{sections.origin(path, ROOT, commits)}"


def size(n: int) -> str:
    return f"2^{n.bit_length() - 1}"


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def more(ratio: float) -> str:
    """Print a ratio as a difference from 1, which is easier to read than a row of nines."""
    return f"{100 * (ratio - 1):+.2f} %".replace("-", "−")


def cupti(table: pd.DataFrame) -> Rows:
    for (n, cache, steps), rows in table.groupby(["n", "cache", "steps"]):
        sound = rows[~rows.disturbed]
        agree = f"{(sound.differ_us.abs() <= sound.allowed_us).sum()} of {len(sound)}"
        yield (
            size(int(n)), str(cache), str(steps), str(len(rows)),
            f"{rows.traced_differ_us.min():+.2f} to {rows.traced_differ_us.max():+.2f}".replace(
                "-", "−"
            ),
            agree,
        )  # fmt: skip


def hosts(table: pd.DataFrame) -> Rows:
    for row in table.itertuples():
        shares = row.median_pct, row.p95_pct, row.raw_median_pct, row.raw_p95_pct
        yield size(row.n), row.cache, str(row.cases), *(f"{pct:.2f} %" for pct in shares)


def cards(table: pd.DataFrame) -> Rows:
    """One row per size and card: its ceiling, and its times and speed-ups relative to the medians
    of all cards."""
    for (n, card), rows in table.groupby(["n", "card"], sort=False):
        yield (
            size(int(n)), f"`{card}`", str(rows.read_gbps.iloc[0]),
            *(more(quantile) for name in ("ratio", "speed_up_ratio")
              for quantile in rows[name].quantile([0.5, 0.05, 0.95])),
        )  # fmt: skip


def turns(table: pd.DataFrame) -> Rows:
    for row in table.itertuples():
        yield row.kernel, size(row.n), *(f"{us:.2f}" for us in row[3:])


def placement(table: pd.DataFrame) -> Rows:
    for row in table.itertuples():
        times = f"{row.harness_us:.2f}", f"{row.bare_us:.2f}"
        yield row.kernel, size(row.n), *times, more(row.ratio)


def levels(table: pd.DataFrame) -> Rows:
    for row in table.itertuples():
        parts = (row.processes, row.placements, row.rounds)
        yield row.kernel, size(row.n), *(percent(part, 2) for part in parts)


def nvbench(table: pd.DataFrame) -> Rows:
    for (kernel, n), rows in table.groupby(["kernel", "n"], sort=False):
        dirty, clean = (rows[rows.flush == flush].iloc[0] for flush in ("dirty", "clean"))
        yield (
            str(kernel), size(int(n)), f"{dirty.nvbench_us:.2f}", f"{dirty.harness_us:.2f}",
            more(dirty.ratio), f"{clean.harness_us:.2f}", more(clean.ratio),
        )  # fmt: skip


def repeatability(table: pd.DataFrame) -> Rows:
    for row in table.itertuples():
        yield (
            size(row.n), row.cache, str(row.runs), percent(row.inside), percent(row.exact),
            f"{percent(row.dealt_low)} to {percent(row.dealt_high)}", f"{row.variance:.2f}",
            percent(row.overlap), percent(row.median_difference, 2),
            percent(row.largest_difference, 2),
        )  # fmt: skip


def power(table: pd.DataFrame) -> Rows:
    for noise, rows in table.groupby("noise", sort=False):
        by_effect = {row.effect: row for row in rows.itertuples()}
        yield (
            _model(str(noise)), f"{rows.runs.iloc[0]:,}", percent(rows.false.max()),
            percent(by_effect[0.01].found), percent(by_effect[0.005].found),
            percent(rows.covered.min()), percent(rows.leader_covered.min()),
            f"{rows.placements.mean():.0f}",
        )  # fmt: skip


def _model(noise: str) -> str:
    if noise in MODELS:
        return f"{noise}: {MODELS[noise]}"
    _, n, cache = noise.split()
    return f"journal: of committed runs at n = {size(int(n.partition('=')[2]))}, {cache}"


LEFT, RIGHT = "---", "--:"
TABLES: dict[str, tuple[Sequence[str], Sequence[str], Callable[[pd.DataFrame], Iterable[Any]]]] = {
    "cupti": (
        ["n", "cache", "kernels in a launch", "variants", "net less CUPTI, same launches, µs",
         "agree without tracing, where it does not disturb"],
        [LEFT] * 2 + [RIGHT] * 4, cupti,
    ),
    "hosts": (
        ["n", "cache", "speed-ups", "net: median difference", "95 of 100 within",
         "raw: median difference", "95 of 100 within"],
        [LEFT] * 2 + [RIGHT] * 5, hosts,
    ),
    "cards": (
        ["n", "card", "read ceiling, GB/s", "times: median", "5 of 100 below", "5 of 100 above",
         "speed-ups: median", "5 of 100 below", "5 of 100 above"],
        [LEFT] * 2 + [RIGHT] * 7, cards,
    ),
    "turns": (
        ["kernel", "n", "µs at the fastest turn", "second", "third", "slowest"],
        [LEFT] * 2 + [RIGHT] * 4, turns,
    ),
    "placement": (
        ["kernel", "n", "harness, µs", "bare launch, µs", "difference"],
        [LEFT] * 2 + [RIGHT] * 3, placement,
    ),
    "levels": (
        ["kernel", "n", "between processes", "between placements in a process",
         "between rounds in a placement"],
        [LEFT] * 2 + [RIGHT] * 3, levels,
    ),
    "nvbench": (
        ["kernel", "n", "NVBench, µs", "`flush: dirty`, µs", "difference", "`flush: clean`, µs",
         "difference"],
        [LEFT] * 2 + [RIGHT] * 5, nvbench,
    ),
    "repeatability": (
        ["n", "cache", "runs", "inside", "if exact", "if dealt anew", "variance over claimed",
         "overlap", "median difference", "largest"],
        [LEFT] * 2 + [RIGHT] * 8, repeatability,
    ),
    "power": (
        ["noise", "runs", "any false verdict in a ladder", "1 % found", "0.5 % found",
         "intervals that contain the truth", "the fastest's", "placements"],
        [LEFT] + [RIGHT] * 7, power,
    ),
}  # fmt: skip
"""File → head, alignment, and its rows."""


if __name__ == "__main__":
    sys.exit(main())
