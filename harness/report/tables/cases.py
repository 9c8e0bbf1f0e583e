"""Every case: its times, and the compiler's output for its main launch and for each launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.ladder import ABOVE, above_ceiling
from harness.journal.records import Compiled, Planned
from harness.report import format as fmt
from harness.report.anchors import case_anchor, slug
from harness.report.tables.cells import (
    Cell,
    Column,
    Row,
    Table,
    compared,
    launch_cell,
    named,
    none,
    optional,
    placed,
    timed,
)
from harness.report.words import LIMITERS
from harness.tables import Run

_MADE = [
    Column("registers", "per thread"),
    Column("shared", "shared memory per block, static and dynamic"),
    Column("spills", "bytes per thread that did not fit registers"),
    Column("occupancy", "theoretical: resident warps over the most a multiprocessor holds"),
    Column("limited by", "what keeps more warps from being resident", numeric=False),
    Column("waves", "how many times the grid fills the GPU; one begun takes a whole one"),
]


def case_table(run: Run, problem: str, dtype: str) -> Table:
    """Every case of a problem, with its times or, in a run without times, with its main launch's
    resources."""
    cases = [p for p in run.planned.values() if (p.problem, p.dtype) == (problem, dtype)]
    cases.sort(key=lambda p: p.is_library)
    sizes, launch = list(cases[0].sizes), list(dict.fromkeys(k for p in cases for k in p.launch))
    columns = [Column("variant", numeric=False), *(Column(k) for k in (*sizes, *launch))]
    columns += [Column("status", numeric=False)]
    if run.is_timed:
        columns += [
            Column("cold", "time from an empty L2 cache"),
            Column("GB/s", "compulsory bytes over the cold time"),
            Column("of ceiling", "of the lowest roof that applies, measured in this run"),
            Column("against the baseline", "cold; the baseline at its best launch shape"),
            Column("between / within placements",
                   "by how much cold times vary with where the memory lies, and in one place"),
            Column("warm", "time with what fits left in the L2 cache"),
            Column("against the baseline, warm", "the baseline at its best launch shape"),
        ]  # fmt: skip
    else:
        columns += _MADE
    above = above_ceiling(run) if run.is_timed else set()
    results = run.results[run.results.cache == "cold"].set_index("case") if run.is_timed else None
    rows = []
    for p in cases:
        cells = [named(p.variant), *(Cell(fmt.count(p.sizes[k]), p.sizes[k]) for k in sizes)]
        cells += [optional(p.launch.get(k), fmt.count) for k in launch]
        cells += [_status(run, p, p.case in above)]
        if results is not None:
            found = results.loc[p.case]
            cells += [
                timed(run.time(p.case)),
                optional(found["gbps"], fmt.three),
                replace(
                    optional(found["pct_of_ceiling"], fmt.share),
                    title=found["roof"] if isinstance(found["roof"], str) else "",
                ),
                _versus(run, p, "cold"),
                placed(run.timings.spread(p.case, "cold")),
                timed(run.time(p.case, "warm")),
                _versus(run, p, "warm"),
            ]
        else:
            cells += made_cells(_main(run, p), p)
        rows.append(Row(cells, case_anchor(p.case)))
    return Table(f"cases-{slug(problem)}-{slug(dtype)}", f"{problem}, {dtype}", columns, rows)


def _versus(run: Run, p: Planned, cache: str) -> Cell:
    baseline = run.timings.baseline_of(p.case)
    if baseline == p.case:
        return none("baseline")
    sound = baseline and run.outcomes[p.case].status == "ok"
    return compared(run.compare(p.case, baseline, cache) if sound and baseline else None)


def _status(run: Run, p: Planned, above: bool) -> Cell:
    outcome = run.outcomes[p.case]
    if above:
        return Cell("above ceiling", "above", ABOVE, "failed")
    first = outcome.reason.splitlines()[0] if outcome.reason else ""
    return Cell(outcome.status, outcome.status, first, outcome.status)


def _main(run: Run, p: Planned) -> Compiled | None:
    main = run.main_step(p.case)
    return next((s for s in run.compiled.get(p.case, []) if s.step == main), None)


def made_cells(step: Compiled | None, p: Planned) -> list[Cell]:
    if step is None:
        why = "–" if p.kernels and not p.is_library else "not compiled by us"
        return [none("–", why) for _ in _MADE]
    limiter = step.occupancy_limiter
    return [
        Cell(str(step.registers), step.registers),
        Cell(fmt.data(step.shared_bytes), step.shared_bytes),
        Cell(fmt.data(step.spill_bytes), step.spill_bytes, css="slower" * bool(step.spill_bytes)),
        Cell(fmt.percent(100 * step.occupancy), step.occupancy),
        Cell(limiter, limiter, LIMITERS.get(limiter, "")),
        _waves(step),
    ]


def _waves(step: Compiled) -> Cell:
    if step.waves is None:
        return none()
    last = step.waves % 1 or 1.0
    return Cell(fmt.three(step.waves), step.waves, f"the last is {fmt.percent(100 * last)} full")


def launch_table(run: Run, anchor: str, title: str, shown: Sequence[Planned]) -> Table:
    """One row per launch of each variant as it is shown; the longest one is marked."""
    timed_ = any(run.timings.step_times(p.case, "cold") for p in shown)
    columns = [Column("variant", numeric=False), Column("launch shape", numeric=False),
               Column("kernel", numeric=False)]  # fmt: skip
    if timed_:
        columns += [Column("time", "of the launch alone, from an empty L2 cache")]
        columns += [Column("part", "of the launches' times")]
    rows = []
    for p in shown:
        steps = run.compiled.get(p.case, [])
        times = run.timings.step_times(p.case, "cold")
        for step in steps:
            mark = "longest" if len(steps) > 1 and step.step == run.main_step(p.case) else ""
            cells = [named(p.variant), launch_cell(p), Cell(step.kernel, css="short", mark=mark)]
            if timed_:
                cells += _step_time(times, step.step, len(steps))
            rows.append(Row([*cells, *made_cells(step, p)]))
        if not steps:
            cells = [named(p.variant), launch_cell(p), none("not compiled by us")]
            rows.append(Row([*cells, *([none()] * (2 * timed_)), *made_cells(None, p)]))
    return Table(anchor, title, [*columns, *_MADE], rows)


def _step_time(times: Sequence[float], step: int, steps: int) -> list[Cell]:
    if step >= len(times):
        return [none("the only launch" if steps == 1 else "–"), none()]
    part = times[step] / sum(times)
    return [Cell(fmt.time(times[step]), times[step]), Cell(fmt.percent(100 * part), part)]
