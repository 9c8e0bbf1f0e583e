"""Write docs/results.md's tables from the runs committed in reports/, one per card, or check them.

    python scripts/pages/results_table.py            rewrite the text between the markers
    python scripts/pages/results_table.py --check    exit 1 if it is out of date

One row per problem and type, at its largest size with a cold L2 cache: the first variant, the
fastest one, the library. Every number is in the run that the row links to: its page, or its table
if pages are not kept.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import sections
from yardsticks import WHAT_THEY_ARE, is_older

from harness import load
from harness.analysis.ladder import Ladder, Rung, inverse, ladders
from harness.errors import HarnessError
from harness.report import format as fmt
from harness.report.choice import which_when
from harness.statistics.timings import Comparison
from harness.tables import Run
from harness.tables.roofs import OVER

ROOT = Path(__file__).resolve().parents[2]
HEAD = ("problem", "size", "first variant", "fastest variant", "× first", "library", "× library",
        "of ceiling", "fastest by size")  # fmt: skip
VERSUS = HEAD.index("× library") - 1
"""The position of "× library" among the columns after the first."""
OLDER = "†"
OF_ROWS = ("layer_norm", "rms_norm", "softmax_rows")
"""The problems whose fastest variant depends on the length of a row."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "results.md")
    parser.add_argument("--runs", type=Path, default=ROOT / "reports" / "h100")
    parser.add_argument("--others", type=Path, default=ROOT / "reports" / "h200")
    options = parser.parse_args(arguments)
    parts, count = {}, 0
    for name, runs in (("results", options.runs), ("results-others", options.others)):
        folders = sorted(path.parent for path in runs.glob("*/results.csv"))
        if not folders:
            return _fail(f"no run in {runs}: make one on a GPU with `make bench`, and commit it")
        try:
            content = section([load(f) for f in folders], options.page.parent, name == "results")
            parts[name] = "\n".join(content)
        except HarnessError as error:
            return _fail(str(error))
        count += len(folders)
    folders = [f for problem in OF_ROWS if (f := options.runs / problem).is_dir()]
    if folders:
        content = by_length([load(f) for f in folders], options.page.parent)
        parts["results-rows"] = "\n".join(content)
    code = sections.keep(options.page, parts, options.check, "make readme")
    if code == 0:
        print(f"{options.page} agrees with {count} committed run(s)")
    return code


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


def section(runs: Sequence[Run], relative_to: Path, is_explained: bool = True) -> Iterator[str]:
    """Yield the table and, below it, the card, date and commit of the rows' measurements.
    `is_explained`: add an explanation of the columns."""
    yield _row(HEAD)
    yield "|---|---|---|---|---:|---|---:|---:|---|"
    measured: dict[str, list[str]] = defaultdict(list)
    any_older = False
    shown: list[Ladder] = []
    for run in runs:
        every = ladders(run)
        largest = {(x.problem, x.dtype): x for x in reversed(every)}
        types = Counter(problem for problem, _ in largest)
        shows = "report.html" if (run.folder / "report.html").exists() else "results.csv"
        report = f"{Path(os.path.relpath(run.folder, relative_to)).as_posix()}/{shows}"
        for (problem, dtype), ladder in sorted(largest.items()):
            name = f"{problem} {dtype}" if types[problem] > 1 else problem
            cells = _cells(ladder)
            if cells[VERSUS] and is_older(run, problem):
                cells[VERSUS] += OLDER
                any_older = True
            when = which_when([x for x in every if x.key[:2] == (problem, dtype)])
            yield _row([f"[{name}]({report})", *cells, when])
            shown.append(ladder)
        measured[_occasion(run.info)] += sorted(types)
    yield ""
    docs = Path(os.path.relpath(ROOT / "docs", relative_to))
    if is_explained:
        yield (
            "Times were measured with a cold L2 cache. ± is half the width of the confidence "
            f"interval, {_confidence(runs)}\n"
        )
        yield (
            f"`× library` compares with the fastest of [the libraries]({docs / WHAT_THEY_ARE}), "
            "which the column before it names.\n"
        )
    if any_older:
        yield (
            f"{OLDER} The files that define its inputs or libraries have changed since it was "
            "measured. Most of these ratios will be lower when it is measured again.\n"
        )
    if is_explained:
        yield from _roofs(shown, docs)
    yield "Measured on"
    for occasion, problems in measured.items():
        yield f"- {occasion}: {', '.join(problems)}"


def by_length(runs: Sequence[Run], relative_to: Path) -> Iterator[str]:
    """One row per matrix, one column per problem and type: the fastest variant, and its speed-up
    over the library."""
    cells: dict[tuple[int, int], dict[str, str]] = defaultdict(dict)
    for run in runs:
        link = Path(os.path.relpath(run.folder / "results.csv", relative_to)).as_posix()
        for ladder in ladders(run):
            column = f"[{ladder.problem} {ladder.dtype}]({link})"
            best, library = ladder.winner, next(iter(ladder.libraries), None)
            matrix = (ladder.sizes["cols"], ladder.sizes["rows"])
            ratio = _times(inverse(library.versus_winner)) if library else ""
            cells[matrix][column] = f"{ratio} `{best.planned.variant}`" if best else ""
    columns = list(dict.fromkeys(name for row in cells.values() for name in row))
    yield _row(["rows × columns", *columns])
    yield "|---|" + "---|" * len(columns)
    for (cols, rows), row in sorted(cells.items()):
        yield _row([f"{rows:,} × {cols:,}", *(row.get(name, "") for name in columns)])
    yield "\nMeasured on"
    for occasion in dict.fromkeys(_occasion(run.info) for run in runs):
        yield f"- {occasion}"


def _roofs(shown: Sequence[Ladder], docs: Path) -> Iterator[str]:
    """Explain "of ceiling", and list the rows whose roof needs a remark."""
    yield (
        "`of ceiling` is the share of the lowest roof that applies, measured in the same run "
        f"([which roofs there are]({docs / 'measurement.md'}#how-near-to-the-limit)). 2:1 traffic "
        "reads two bytes for each byte that it writes. `fastest by size` names the fastest variant "
        "at each of the measured sizes; it is empty if one variant is fastest at all of them.\n"
    )
    notes: dict[str, dict[str, None]] = defaultdict(dict)
    for ladder in shown:
        roof = ladder.winner.roof if ladder.winner else ladder.measure.roof
        percent = ladder.winner.percent if ladder.winner else None
        said = [roof.note] if roof and roof.note else []
        said += [f"no roof: {ladder.measure.no_roof}"] if ladder.measure.no_roof else []
        said += [OVER] if percent and percent > 100 else []
        for note in said:
            notes[note][ladder.problem] = None
    if notes:
        yield "\n".join(f"- {', '.join(names)}: {note}." for note, names in notes.items()) + "\n"


def _confidence(runs: Sequence[Run]) -> str:
    """Explain the confidence of an interval, and why it exceeds the run's setting."""
    said = " or ".join(f"{each:.3g} %" for each in sorted({
        100 * run.timings.confidence for run in runs
    }))  # fmt: skip
    text = f"whose level is {said}"
    if all(run.timings.looks == 1 for run in runs):
        return f"{text}."
    return (
        f"{text}: if a run checked several times whether to stop, the error rate is split between "
        "these checks."
    )


def _cells(ladder: Ladder) -> list[str]:
    """Every column except the first; empty if nothing valid was measured."""
    first, best = ladder.baseline, ladder.winner
    library = next(iter(ladder.libraries), None)
    versus_first = best.versus_baseline if best else None
    versus_library = inverse(library.versus_winner) if library else None
    share = "no roof" if ladder.measure.no_roof else ""
    if best and best.percent is not None and best.roof:
        share = fmt.share(best.percent, best.roof.name)
    return [
        fmt.assignments(ladder.sizes), _timed(first), _timed(best), _times(versus_first),
        _timed(library), _times(versus_library), share,
    ]  # fmt: skip


def _times(versus: Comparison | None) -> str:
    return fmt.speedup(versus.ratio, versus.verdict) if versus and versus.ratio else ""


def _timed(rung: Rung | None) -> str:
    return f"`{rung.planned.variant}` {fmt.time_interval(rung.time)}" if rung else ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def origin(info: dict[str, Any], folder: Path, relative_to: Path) -> str:
    """A sentence such as
    `Measured on NVIDIA H200, 1 January 2026, commit 0123456: [report](…), [results.csv](…).`
    """
    path = Path(os.path.relpath(folder, relative_to)).as_posix()
    return (f"Measured on {_occasion(info)}: [report]({path}/report.html), "
            f"[results.csv]({path}/results.csv).")  # fmt: skip


def _occasion(info: Any) -> str:
    """Name the device, the date and the commit."""
    commit = info.get("commit") or {}
    parts = [(info.get("device") or {}).get("name", "a GPU")]
    if info.get("started"):
        parts.append(datetime.fromisoformat(info["started"]).strftime("%-d %B %Y"))
    if commit.get("id"):
        changed = " with changes" if commit.get("dirty") else ""
        parts.append(f"commit `{commit['id'][:10]}`{changed}")
    return ", ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
