"""A run's results, as a table on the terminal, as Markdown or as JSON.

If there are few problems, the table shows the ladder of each at its largest size, best first. If
there are many, each has one row; the ladders are in the report, and all sizes are in the JSON.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.analysis import budgets, counted
from harness.analysis.causes.why import Explainer
from harness.analysis.checks import checks
from harness.analysis.ladder import Ladder, Rung, Unranked, inverse, ladders
from harness.analysis.readings import Readings
from harness.commands.printed import as_json, counts
from harness.commands.printed.budgets import as_data as budgets_as_data
from harness.commands.printed.sheets import Cell, Sheet, markdown, rich
from harness.console.progress import console
from harness.errors import UsageError
from harness.journal.records import Planned
from harness.journal.storage import replace_named
from harness.report import format as fmt
from harness.report.comparison.as_json import Figure
from harness.statistics.intervals import Interval
from harness.statistics.timings import Comparison
from harness.tables import Run
from harness.tables.roofs import Roof

FEW = 3
"""The most ladders that are shown in full."""


@dataclass(frozen=True)
class OutputOptions:
    """The destinations of the results: the terminal, unless quiet, and any named files."""

    quiet: bool = False
    json: Path | None = None
    markdown: Path | None = None

    def check(self) -> None:
        """Check the paths before the run. Raises UsageError if a file's folder does not exist."""
        for option, path in (("--json", self.json), ("--markdown", self.markdown)):
            if path and not os.path.isdir(path.parent):
                raise UsageError(f"{option} {path}: there is no folder {path.parent}")


def tell(run: Run, wanted: OutputOptions) -> None:
    """Print and write the results. Raises UsageError if a file cannot be written."""
    found = ladders(run)
    told = counted.counts(Explainer(Readings(run)))
    shown = sheets(run, found, told)
    if not wanted.quiet:
        for sheet in shown:
            console.print(rich(sheet, console.width), soft_wrap=False)
            for note in sheet.notes:
                console.print(note, markup=False, highlight=False)
            console.print()
    if wanted.markdown:
        _save("--markdown", wanted.markdown, markdown([*shown, *_broken(run)]))
    if wanted.json:
        _save("--json", wanted.json, json.dumps(as_data(run, found, told), indent=1) + "\n")


def _save(option: str, path: Path, text: str) -> None:
    try:
        replace_named(path, text)
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}") from None


def sheets(run: Run, found: Sequence[Ladder], told: Sequence[counted.Counts] = ()) -> list[Sheet]:
    """The tables to print. `told`: the counted results, for a run without times."""
    if not run.is_timed:
        pairs = dict.fromkeys((p.problem, p.dtype) for p in run.planned.values())
        if len(pairs) > FEW:
            return [counts.overview(run, list(pairs), told)]
        return [counts.sheet(run, *pair, told) for pair in pairs]
    largest = list({x.key[:2]: x for x in reversed(found)}.values())[::-1]
    if len(largest) <= FEW:
        return [_ladder(run, ladder) for ladder in largest]
    return [_overview(largest)]


def _broken(run: Run) -> list[Sheet]:
    """The budgets that are broken, if any."""
    found = [check for check in budgets.checks(run) if check.status == "broken"]
    rows = [[Cell(check.case), Cell(check.text, "failed")] for check in found]
    title = "Budgets that are not kept"
    return [Sheet(title, ["case", "budget"], 2, rows=rows)] if found else []


def _ladder(run: Run, ladder: Ladder) -> Sheet:
    """The ladder, best first, with libraries in their places, then unranked variants."""
    base, library = ladder.baseline, next(iter(ladder.libraries), None)
    columns = ["variant", "launch", "time", ladder.measure.unit, "of ceiling"]
    columns += [f"× {base.short}"] if base else []
    columns += [f"× {library.short}"] if library else []
    sheet = Sheet(_title(ladder), columns, 2, ("launch", ladder.measure.unit, "time"))
    for rung in sorted(ladder.everyone, key=lambda r: r.time.value):
        p = rung.planned
        name, brief = (
            f"{each} (library)" if p.is_library else each for each in (p.variant, rung.short)
        )
        cells = [
            Cell(name, "best" if rung is ladder.winner else "", brief),
            Cell(_shape(p)),
            Cell(fmt.time(rung.time.value)),
            Cell(fmt.three(rung.rate.value)),
            Cell("" if rung.percent is None else fmt.share(rung.percent)),
        ]
        if base:
            cells.append(_compared(rung.versus_baseline, "baseline" if rung is base else ""))
        if library:
            cells.append(_compared(_over(run, rung, library)))
        sheet.rows.append(cells)
    sheet.rows.extend(_without_place(ladder.unranked, len(columns)))
    return sheet


def _without_place(unranked: Iterable[Unranked], width: int) -> list[list[Cell]]:
    return [
        [
            Cell(f"{each.variant}: {_ended(each)}", "failed" if each.failed else "",
                 f"{each.short}: {_ended(each)}"),
            *[Cell("")] * (width - 1),
        ]
        for each in unranked
    ]  # fmt: skip


def _ended(each: Unranked) -> str:
    return "failed" if each.failed else "not timed"


def _overview(found: Sequence[Ladder]) -> Sheet:
    """One row per problem and type, those with failures first."""
    columns = ["problem", "size", "fastest", "× baseline", "× library", "of ceiling", "failed"]
    several = {x.problem for x in found if sum(y.problem == x.problem for y in found) > 1}
    sheet = Sheet("", columns, 3, ("size", "of ceiling", "fastest"))
    for ladder in sorted(found, key=lambda x: not any(u.failed for u in x.unranked)):
        winner, library = ladder.winner, next(iter(ladder.libraries), None)
        failed = sum(u.failed for u in ladder.unranked)
        name = f"{ladder.problem} {ladder.dtype}" if ladder.problem in several else ladder.problem
        percent, roof = (winner.percent, winner.roof) if winner else (None, None)
        versus = winner.versus_baseline if winner else None
        sheet.rows.append(
            [
                Cell(name, "failed" if failed else ""),
                Cell(fmt.assignments(ladder.sizes)),
                Cell(", ".join(r.short for r in [winner, *ladder.tied]) if winner else "none"),
                _compared(versus, "baseline" if winner and winner is ladder.baseline else ""),
                _compared(inverse(library.versus_winner) if library else None),
                Cell(_of(percent, roof)),
                Cell(str(failed), "failed") if failed else Cell(""),
            ]
        )
    return sheet


def _of(percent: float | None, roof: Roof | None) -> str:
    """Format the share of the roof, such as `94.1 % of copying`."""
    return fmt.share(percent, roof.name) if percent is not None and roof else ""


def _title(ladder: Ladder) -> str:
    size = fmt.assignments(ladder.sizes)
    about = f"{ladder.problem} ({ladder.dtype})" + (f" at {size}" if size else "")
    limit = ladder.measure.limit
    if limit is None:
        return about
    return f"{about}; {ladder.measure.bound} {fmt.three(limit.value)} {ladder.measure.unit}"


def _shape(p: Planned) -> str:
    return ", ".join(f"{name} {fmt.count(value)}" for name, value in p.launch.items())


def _over(run: Run, rung: Rung, library: Rung) -> Comparison | None:
    """The speed-up over the library; None for the library itself."""
    if rung is library:
        return None
    return run.compare(rung.planned.case, library.planned.case)


def _compared(comparison: Comparison | None, missing: str = "") -> Cell:
    """Format a speed-up with its interval, or a word if it is neither faster nor slower."""
    if comparison is None or comparison.ratio is None:
        return Cell(missing)
    plain = comparison.verdict in {"faster", "slower"}
    word = "" if plain else f" {fmt.verdict(comparison.verdict)}"
    return Cell(fmt.ratio(comparison.ratio) + word, comparison.verdict)


def as_data(
    run: Run, found: Sequence[Ladder], told: Sequence[counted.Counts] = ()
) -> as_json.Results:
    """Every ladder, at every size, in base units; absent values are null.

    In the result, `ladders` is for timed runs, and `counted` for runs without times.
    """
    info = run.info
    return {
        "run": info.get("id"),
        "backend": info.get("backend"),
        "device": (info.get("device") or {}).get("name"),
        "commit": info.get("commit"),
        "confidence": run.confidence,
        "budgets": budgets_as_data(budgets.checks(run)),
        "ladders": [_ladder_data(run, ladder) for ladder in found],
        "counted": [counts.as_data(each) for each in told],
        "verified": [
            {"problem": problem, "dtype": dtype, "variant": check.variant,
             "status": check.status, "reason": check.reason or None,
             "launches": len(check.passed), "error_over_bound": check.worst}
            for problem, dtype in dict.fromkeys(
                (p.problem, p.dtype) for p in run.planned.values()
            )
            for check in checks(run, problem, dtype)
        ],
    }  # fmt: skip


def _ladder_data(run: Run, ladder: Ladder) -> as_json.Ladder:
    library = next(iter(ladder.libraries), None)
    ranked = sorted(ladder.everyone, key=lambda r: r.time.value)
    return {
        "problem": ladder.problem,
        "dtype": ladder.dtype,
        "sizes": ladder.sizes,
        "unit": ladder.measure.unit,
        "ceiling": ladder.measure.limit.value if ladder.measure.limit else None,
        "roof": ladder.measure.roof.named if ladder.measure.roof else None,
        "no_roof": ladder.measure.no_roof or None,
        "noise": ladder.noise if math.isfinite(ladder.noise) else None,
        "baseline": ladder.baseline.planned.variant if ladder.baseline else None,
        "fastest": [r.planned.variant for r in (ladder.winner, *ladder.tied) if r],
        "library": library.planned.variant if library else None,
        "variants": [
            {
                "variant": r.planned.variant,
                "case": r.planned.case,
                "library": r.planned.is_library,
                "launch": r.planned.launch,
                "time_ns": _interval(r.time),
                "rate": r.rate.value,
                "percent_of_ceiling": r.percent,
                "over_baseline": _comparison(r.versus_baseline),
                "over_library": _comparison(_over(run, r, library)) if library else None,
            }
            for r in ranked
        ],
        "not_ranked": [
            {"variant": u.variant, "failed": u.failed, "reason": u.reason} for u in ladder.unranked
        ],
    }


def _interval(value: Interval) -> Figure:
    return {"value": value.value, "low": value.low, "high": value.high}


def _comparison(comparison: Comparison | None) -> as_json.SpeedUp | None:
    if comparison is None or comparison.ratio is None:
        return None
    return {**_interval(comparison.ratio), "verdict": comparison.verdict}
