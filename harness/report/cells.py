"""Tables as the template draws them: cells that say what they sort by, and why they are empty."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from harness.measure.statistics import Interval
from harness.measure.timings import Comparison
from harness.records import Compiled, Planned
from harness.report import format as fmt
from harness.report.anchors import case_anchor, slug
from harness.report.glossary import LIMITERS
from harness.report.ladder import Ladder, Rung, above_ceiling
from harness.tables import Run


@dataclass(frozen=True)
class Cell:
    """`sort` is the number that a formatted text stands for; plain text sorts by itself."""

    text: str
    sort: float | str | None = None
    title: str = ""
    css: str = ""
    link: str = ""

    @property
    def key(self) -> str:
        """What the page needs to sort by, beyond the text; empty where the text suffices."""
        if self.sort is None or isinstance(self.sort, str) or str(self.sort) == self.text:
            return ""
        return f"{self.sort:.6g}"


@dataclass(frozen=True)
class Row:
    cells: list[Cell]
    anchor: str = ""


@dataclass(frozen=True)
class Column:
    title: str
    explained: str = ""
    link: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    anchor: str
    title: str
    columns: list[Column]
    rows: list[Row] = field(default_factory=list)

    def plain(self) -> list[list[str]]:
        return [[cell.text for cell in row.cells] for row in self.rows]


def named(variant: str, link: str = "") -> Cell:
    return Cell(variant, css="name", link=link)


def _comparison(
    comparison: Comparison | None, missing: str, against: str = ""
) -> tuple[Cell, Cell]:
    if comparison is None or comparison.ratio is None:
        return Cell(missing, css="none"), Cell("", css="none")
    ratio = comparison.ratio
    return (
        Cell(fmt.ratio(ratio), ratio.value, against and f"against {against}"),
        Cell(comparison.verdict, comparison.verdict, css=comparison.verdict),
    )


def ladder_table(ladder: Ladder) -> Table:
    """The ladder's figures in numbers, the library last."""
    unit = ladder.measure.unit
    base = ladder.baseline.short if ladder.baseline else "baseline"
    columns = [
        Column("variant", numeric=False),
        Column("launch", "the variant's fastest launch shape", numeric=False),
        Column("cold time", "median over rounds, with its confidence interval"),
        Column(unit, "compulsory work of the problem over the time"),
        Column("of ceiling", f"of the {ladder.measure.bound} measured in this run"),
        Column(f"× {base}", "paired by round with the baseline at its fastest launch shape"),
        Column("verdict", numeric=False),
        Column("× previous", "paired by round with the variant before it"),
        Column("verdict", numeric=False),
        Column(
            "launches", "each one's share of their time, timed apart from the total", numeric=False
        ),
    ]
    rungs = [*ladder.rungs, *([ladder.library] if ladder.library else [])]
    return Table(
        f"table-{slug('-'.join(ladder.key))}",
        f"{ladder.problem} at {fmt.assignments(ladder.sizes)}",
        columns,
        [_rung_row(ladder, rung) for rung in rungs],
    )


def _rung_row(ladder: Ladder, rung: Rung) -> Row:
    p = rung.planned
    ratio, verdict = _comparison(
        rung.versus_baseline, "baseline" if p.is_baseline else "no baseline"
    )
    before, word = _comparison(
        rung.versus_previous, "first" if not p.is_library else "library", rung.previous or ""
    )
    shares = ", ".join(f"{kernel} {fmt.percent(100 * share)}" for kernel, share in rung.steps)
    return Row(
        [
            named(p.variant, case_anchor(p.case)),
            Cell(", ".join(f"{k} {v}" for k, v in p.launch.items()) or "its own"),
            Cell(fmt.time_interval(rung.time), rung.time.value),
            Cell(fmt.interval(rung.rate), rung.rate.value),
            Cell(fmt.percent(rung.percent), rung.percent)
            if rung.percent is not None
            else Cell("no ceiling", css="none"),
            ratio,
            verdict,
            before,
            word,
            Cell(shares, css="wrap") if shares else Cell("one", css="none"),
        ],
        "",
    )


def case_table(run: Run, problem: str, dtype: str) -> Table:
    """Every case of a problem, timed or not, with what the compiler made of it."""
    cases = [p for p in run.planned.values() if (p.problem, p.dtype) == (problem, dtype)]
    cases.sort(key=lambda p: p.is_library)
    sizes, launch = list(cases[0].sizes), list(dict.fromkeys(k for p in cases for k in p.launch))
    columns = [Column("variant", numeric=False), *(Column(k) for k in (*sizes, *launch))]
    columns += [Column("status", numeric=False)]
    if run.is_timed:
        columns += [
            Column("cold", "time with an empty L2 cache: median and interval"),
            Column("GB/s", "compulsory bytes over the cold time"),
            Column("of ceiling", "of the read bandwidth measured in this run"),
            Column("× baseline", "cold, at the same launch shape, paired by round"),
            Column("verdict", numeric=False),
            Column("warm", "time with what fits left in the L2 cache"),
            Column("× baseline, warm", "at the same launch shape, paired by round"),
        ]
    columns += [
        Column("registers", "a thread"),
        Column("shared", "shared memory a block, static and dynamic"),
        Column("spills", "bytes a thread that did not fit registers"),
        Column("occupancy", "theoretical: resident warps over the most a multiprocessor holds"),
        Column("limited by", "what keeps more warps from being resident", numeric=False),
        Column("waves", "how many times the grid fills the machine; one begun takes a whole one"),
    ]
    timing = _timings(run)
    above = above_ceiling(run) if run.is_timed else set()
    rows = [
        Row(
            [
                named(p.variant),
                *(Cell(fmt.count(p.sizes[k]), p.sizes[k]) for k in sizes),
                *(optional(p.launch.get(k), fmt.count) for k in launch),
                _status(run, p, p.case in above),
                *(_timing_cells(timing[p.case], p) if run.is_timed else ()),
                *_resource_cells(run, p),
            ],
            case_anchor(p.case),
        )
        for p in cases
    ]
    return Table(f"cases-{slug(problem)}-{dtype}", f"{problem}, {dtype}", columns, rows)


def optional(value: Any, show: Any, missing: str = "–") -> Cell:
    return Cell(show(value), value) if fmt.is_number(value) else Cell(missing, css="none")


def _status(run: Run, p: Planned, above: bool) -> Cell:
    outcome = run.outcomes[p.case]
    if above:
        return Cell("above ceiling", "above", "an error of measurement", "failed")
    first = outcome.reason.splitlines()[0] if outcome.reason else ""
    link = "" if outcome.status == "ok" else outcome.status
    anchors = {"failed": "failures", "skipped": "skipped"}
    return Cell(outcome.status, outcome.status, first, outcome.status, anchors.get(link, ""))


def _timings(run: Run) -> dict[str, dict[str, dict[str, Any]]]:
    """Case → cache → the row of results."""
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in run.results.to_dict("records"):
        found[str(row["case"])][str(row["cache"])] = {str(k): v for k, v in row.items()}
    return found


def _timing_cells(by_cache: dict[str, dict[str, Any]], p: Planned) -> list[Cell]:
    cold, warm = by_cache.get("cold", {}), by_cache.get("warm", {})
    return [
        _time(cold),
        optional(cold.get("gbps"), fmt.three),
        optional(cold.get("pct_of_ceiling"), fmt.percent),
        _speedup(cold, p),
        _verdict(cold, p),
        _time(warm),
        _speedup(warm, p),
    ]


def _interval(row: dict[str, Any], names: Iterable[str]) -> Interval | None:
    values = [row.get(name) for name in names]
    return Interval(*map(float, values)) if all(map(fmt.is_number, values)) else None  # type: ignore[arg-type]


def _time(row: dict[str, Any]) -> Cell:
    found = _interval(row, ("median_ns", "ci_low_ns", "ci_high_ns"))
    return Cell(fmt.time_interval(found), found.value) if found else Cell("–", css="none")


def _speedup(row: dict[str, Any], p: Planned) -> Cell:
    if p.is_baseline:
        return Cell("baseline", css="none")
    found = _interval(row, ("speedup", "speedup_low", "speedup_high"))
    return Cell(fmt.ratio(found), found.value) if found else Cell("–", css="none")


def _verdict(row: dict[str, Any], p: Planned) -> Cell:
    word = row.get("verdict") if not p.is_baseline else None
    return Cell(word, word, css=word) if isinstance(word, str) else Cell("–", css="none")


def _waves(step: Compiled) -> Cell:
    if step.waves is None:
        return Cell("–", css="none")
    last = step.waves % 1 or 1.0
    return Cell(fmt.three(step.waves), step.waves, f"the last is {fmt.percent(100 * last)} full")


def _resource_cells(run: Run, p: Planned) -> list[Cell]:
    steps = run.compiled.get(p.case, [])
    if not steps:
        why = "not ours" if p.is_library else "–"
        return [Cell(why, css="none") for _ in range(6)]
    lowest = steps[0]
    kernels = "; ".join(f"{s.kernel}: {s.registers} registers" for s in steps)
    limiter = LIMITERS.get(lowest.occupancy_limiter, "")
    return [
        Cell(str(max(s.registers for s in steps)), max(s.registers for s in steps), kernels),
        Cell(fmt.data(max(s.shared_bytes for s in steps)), max(s.shared_bytes for s in steps)),
        Cell(fmt.data(max(s.spill_bytes for s in steps)), max(s.spill_bytes for s in steps)),
        Cell(fmt.percent(100 * lowest.occupancy), lowest.occupancy, "of the first step"),
        Cell(lowest.occupancy_limiter, lowest.occupancy_limiter, limiter),
        _waves(lowest),
    ]
