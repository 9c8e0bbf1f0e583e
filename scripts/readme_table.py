"""Write README.md's results table from the runs committed in reports/h200/, or check that it is so.

    python scripts/readme_table.py            rewrite what stands between the markers
    python scripts/readme_table.py --check    exit 1 if it is out of date

Reads each run's results.csv and run.json, so that every number in README.md can be found in one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from harness.measure.statistics import Interval
from harness.report import format as fmt

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
ROOT = Path(__file__).resolve().parents[1]
BEFORE_SIZES = ("problem", "variant", "dtype")
"""The columns of results.csv before the sizes and launch keys; `backend` is the first after."""


class Outdated(Exception):
    """A run's tables are of an older format."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    parser.add_argument("--runs", type=Path, default=ROOT / "reports" / "h200")
    options = parser.parse_args(arguments)
    folders = sorted(path.parent for path in options.runs.glob("*/results.csv"))
    if not folders:
        return _fail(
            f"no run in {options.runs}: make one on a GPU with `make bench`, and commit it"
        )
    try:
        text = options.readme.read_text(encoding="utf-8")
    except OSError as error:
        return _fail(f"{options.readme} cannot be read: {error.strerror}")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        return _fail(f"{options.readme} must hold {BEGIN} and, after it, {END}, once each")
    try:
        parts = [section(folder, options.readme.parent) for folder in folders]
    except Outdated as error:
        return _fail(str(error))
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    wanted = f"{before}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{after}"
    if options.check:
        if text != wanted:
            return _fail(f"{options.readme} is out of date: make readme")
        print(f"{options.readme} agrees with {len(folders)} committed run(s)")
        return 0
    options.readme.write_text(wanted, encoding="utf-8")
    print(f"wrote {len(folders)} table(s) into {options.readme}")
    return 0


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


def section(folder: Path, relative_to: Path) -> str:
    """One run: where it comes from, then a table for each problem and dtype."""
    info = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    results = pd.read_csv(folder / "results.csv")
    if "shown" not in results:
        raise Outdated(
            f"{folder / 'results.csv'} does not say which rows are shown\n"
            f"  redraw the run: python -m harness report {folder}"
        )
    tables = [
        table(own, info) for _, own in results[results.cache == "cold"].groupby(
            ["problem", "dtype"], sort=False
        )
    ]  # fmt: skip
    return "\n\n".join([origin(info, folder, relative_to), *tables])


def origin(info: dict[str, Any], folder: Path, relative_to: Path) -> str:
    """`Measured on an NVIDIA H200 on 1 January 2026 at commit 0123456: [report](…)`."""
    device, versions = info.get("device") or {}, info.get("versions") or {}
    commit = info.get("commit") or {}
    parts = [f"Measured on {device.get('name', 'a GPU')}"]
    if versions.get("driver"):
        parts.append(f"driver {versions['driver']}")
    if info.get("started"):
        parts.append(datetime.fromisoformat(info["started"]).strftime("%-d %B %Y"))
    if commit.get("id"):
        changed = " with changes" if commit.get("dirty") else ""
        parts.append(f"commit `{commit['id'][:10]}`{changed}")
    path = Path(os.path.relpath(folder, relative_to)).as_posix()
    return f"{', '.join(parts)}: [report]({path}/report.html), [results.csv]({path}/results.csv)."


def table(results: pd.DataFrame, info: dict[str, Any]) -> str:
    """A row per variant, at the launch shape that the report shows; the largest size in full."""
    problem = str(results.problem.iloc[0])
    about = (info.get("problems") or {}).get(problem) or {}
    sizes, launch = key_columns(results)
    keys = sorted(
        {tuple(int(x) for x in row) for row in results[sizes].itertuples(index=False)},
        key=lambda key: -results[_at(results, sizes, key)].bytes.max(),
    )
    baseline = about.get("baseline", "baseline")
    head = ["variant", "launch", f"time at {_size(sizes, keys[0])}", "GB/s", "of ceiling",
            f"× {baseline}", "verdict"]  # fmt: skip
    head += [f"GB/s at {_size(sizes, key)}" for key in keys[1:]]
    lines = ["| " + " | ".join(head) + " |", "|---|---|" + "---:|" * 4 + "---|"
             + "---:|" * len(keys[1:])]  # fmt: skip
    for variant in dict.fromkeys(results.variant):
        own = results[results.variant == variant]
        rows = [shown(own[_at(own, sizes, key)]) for key in keys]
        cells = [f"`{variant}`", *_cells(rows[0], launch, variant == baseline)]
        cells += [_rate(row) for row in rows[1:]]
        lines.append("| " + " | ".join(cells) + " |")
    title = f": {about['title']}" if about.get("title") else ""
    return f"**{problem}** ({results['dtype'].iloc[0]}){title}\n\n" + "\n".join(lines)


def key_columns(results: pd.DataFrame) -> tuple[list[str], list[str]]:
    """The sizes and the launch keys among the columns before `backend`, in that order there.

    A library is given no launch shape, so that its launch keys are empty. With no library, the
    sizes are the first columns that suffice to determine the bytes.
    """
    between = list(results.columns[len(BEFORE_SIZES) : list(results.columns).index("backend")])
    between = [key for key in between if results[key].notna().any()]
    theirs = results[results.library.astype(bool)]
    if len(theirs):
        sizes = [key for key in between if theirs[key].notna().all()]
    else:
        prefixes = (between[:i] for i in range(1, len(between) + 1))
        sizes = next(p for p in prefixes if results.groupby(p)["bytes"].nunique().max() == 1)
    return sizes, [key for key in between if key not in sizes]


def _at(results: pd.DataFrame, sizes: list[str], key: tuple[int, ...]) -> pd.Series[bool]:
    same: pd.Series[bool] = (results[sizes] == list(key)).all(axis=1)
    return same


def _size(sizes: list[str], key: tuple[int, ...]) -> str:
    return fmt.assignments(dict(zip(sizes, key, strict=True)))


def shown(rows: pd.DataFrame) -> dict[str, Any] | str:
    """The row that the report shows, if it is sound, or the word for why there is none."""
    sound = rows[rows.shown.astype(bool) & rows.median_ns.notna() & rows.verdict.ne("invalid")]
    if len(sound):
        return {str(key): value for key, value in sound.iloc[0].items()}
    words = set(rows.status)
    return "failed" if words & {"failed", "ok"} else "skipped"


def _cells(row: dict[str, Any] | str, launch: list[str], is_baseline: bool) -> list[str]:
    if isinstance(row, str):
        return ["", row, "", "", "", ""]
    shape = ", ".join(f"{k} {int(row[k])}" for k in launch if not _missing(row[k]))
    time = Interval(*(float(row[k]) for k in ("median_ns", "ci_low_ns", "ci_high_ns")))
    percent = row["pct_of_ceiling"]
    ratio, word = "", ""
    if is_baseline:
        ratio, word = "1", "baseline"
    elif not _missing(row["speedup"]):
        speedup = Interval(*(float(row[k]) for k in ("speedup", "speedup_low", "speedup_high")))
        ratio, word = fmt.times(speedup), str(row["verdict"])
    of_ceiling = "" if _missing(percent) else fmt.percent(float(percent))
    return [shape, fmt.time_interval(time), _rate(row), of_ceiling, ratio, word]


def _rate(row: dict[str, Any] | str) -> str:
    return row if isinstance(row, str) else fmt.three(float(row["gbps"]))


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


if __name__ == "__main__":
    sys.exit(main())
