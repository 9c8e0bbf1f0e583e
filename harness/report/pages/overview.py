"""The overview: one row per problem and type, the failures, and the method of measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from markupsafe import Markup

from harness.analysis import claims
from harness.analysis.budgets import Check
from harness.analysis.checks import checks
from harness.analysis.claims import Claim
from harness.analysis.counted import Counts, largest
from harness.analysis.ladder import Ladder, Rung, Unranked, inverse, short_names
from harness.analysis.readings import Reading, Readings
from harness.analysis.roofline import roofline
from harness.cases import how_many
from harness.journal.records import Planned
from harness.report import counts, words
from harness.report import format as fmt
from harness.report.choice import which_when
from harness.report.figures import drawn
from harness.report.figures.ladder import role_of
from harness.report.figures.sparkline import Bar, sparkline
from harness.report.links import Links
from harness.report.pages import headline
from harness.report.pages.headline import Steps, Story
from harness.report.pages.problem import Maker, ProblemPage, Roofed, settings
from harness.report.pages.why import rules_table
from harness.report.tables.cells import Cell, Table, compared, none, of_ceiling, show
from harness.report.tables.ladder import ladder_table
from harness.report.tables.machine import ceilings_table
from harness.tables import Run
from harness.tables.stated_work import whole

FEW = 3
"""The largest number of problems whose sentences are above the table."""


@dataclass(frozen=True)
class OverviewRow:
    """One problem and type."""

    problem: str
    dtype: str
    """The type's name; empty if the problem has only one type."""
    about: str
    link: str
    size: str
    cells: list[Cell]
    why: str
    spark: Markup
    faults: int
    css: str = ""


@dataclass(frozen=True)
class Failed:
    """A failure reason and, per problem, the cases that share it and a link to its page."""

    reason: str
    places: list[tuple[str, list[str]]]


@dataclass(frozen=True)
class Overview:
    title: str
    heading: str
    summary: str
    """A sentence that compares our variants with libraries; empty if there are none."""
    subtitle: str
    stories: list[Story]
    """The stories of the problems, if there are few problems."""
    columns: list[tuple[str, str]]
    """The heading and explanation of each cell in a line."""
    lines: list[OverviewRow]
    failures: list[Failed]
    broken: list[tuple[str, Check]]
    """Budgets that a case breaks, each with the anchor on its problem's page."""
    results: Table | None
    """The ladder's figures, if there is only one problem."""
    waiting: list[Claim]
    """Published claims about kernels that are in no run yet."""
    roofline: Roofed | None
    machine: list[tuple[str, str]]
    ceilings: Table
    rules: Table
    glossary: list[tuple[str, words.Meaning, str]]
    provenance: Mapping[str, str]
    sources: Mapping[str, str]
    settings: dict[str, Any] = field(default_factory=dict)


_TIMED = [
    ("fastest", "of our variants, at its best launch shape"),
    ("against the baseline", "how many times faster than the baseline"),
    ("against the library", "how many times faster than the fastest library, which it names"),
    ("of ceiling", "of the lowest roof that applies, measured in this run"),
    ("runner-up", "the fastest that is certainly slower, and by how much"),
    ("fastest by size", "the fastest at each size; one name if it is the same at all sizes"),
]
_COUNTED = [
    ("verified", "variants whose results agreed with the float64 reference"),
    ("worst error", "largest error over the bound that the arithmetic allows; 1 fails"),
    ("left on the table", "what variants did and need not have done, counted exactly, and where"),
]


def overview(maker: Maker, pages: Sequence[ProblemPage], links: Links) -> Overview:
    run = maker.run
    lines = [line for page in pages for line in _lines(maker, page, links)]
    problems = list(dict.fromkeys(p.problem for p in run.planned.values()))
    failures: dict[str, list[tuple[str, list[str]]]] = {}
    for page in pages:
        link = links.problem(page.problem, f"failures-{page.slug}")
        for reason, cases in page.failures:
            failures.setdefault(reason, []).append((link, cases))
    few = len(problems) <= FEW
    return Overview(
        title=f"{', '.join(problems[:FEW]) or 'no cases'}{', …' if not few else ''}: "
        f"{'timed' if run.is_timed else 'counted, not timed'}",
        heading=_heading(pages, maker.counts),
        summary=_against_libraries(lines) if run.is_timed else "",
        subtitle=subtitle(run.info),
        stories=[
            story
            for page in pages
            for story in headline.stories(run, page.problem, page.told, links, maker.counts)
        ]
        if few
        else [],
        columns=_TIMED if run.is_timed else _COUNTED,
        lines=sorted(lines, key=lambda line: not line.faults),
        failures=[Failed(reason, places) for reason, places in failures.items()],
        broken=[
            (links.problem(page.problem, f"broken-{page.slug}"), check)
            for page in pages
            for check in page.broken
        ],
        results=_results(maker, pages, links),
        waiting=[c for c in claims.read() if c.waits_for] if run.is_timed else [],
        roofline=_roofline(maker),
        machine=_machine(run.info),
        ceilings=ceilings_table(run),
        rules=rules_table(),
        glossary=_glossary(maker.readings),
        provenance=_provenance(run),
        sources=run.info.get("sources") or {},
        settings=settings(run),
    )


def _results(maker: Maker, pages: Sequence[ProblemPage], links: Links) -> Table | None:
    """The figures of the largest size, if there is only one problem and type."""
    told = [own for page in pages for own, _ in page.told.values()]
    if len(told) != 1 or not told[0] or not told[0][0].rungs:
        return None
    return replace(ladder_table(maker.run, told[0][0], links), anchor="results")


def _heading(pages: Sequence[ProblemPage], told: Sequence[Counts]) -> str:
    """`28 problems, 2 of them with failures`; if there is only one problem, its name."""
    if not pages:
        return "This run has no cases."
    if len(pages) == 1:
        return pages[0].problem
    failed = sum(bool(page.failures) for page in pages)
    text = f"{len(pages)} problems" + (f", {failed} of them with failures" if failed else "")
    return text + (f": {_left(told)}" if told else "")


def _left(told: Sequence[Counts]) -> str:
    """The number of variants with losses at each problem's largest counted size."""
    own = list({c.key[:2]: c for c in reversed(told)}.values())[::-1]
    losing = [(c, rung) for c in own for rung in c.losing]
    of = sum(len(c.rungs) for c in own)
    if not losing:
        return f"no variant of {of} leaves anything on the table that was counted exactly"
    worst, rung = max(losing, key=lambda each: each[1].losses[0].share)
    return (
        f"{len(losing)} of {of} counted variants leave something on the table, "
        f"{worst.problem}/{rung.short} most: {rung.losses[0]}"
    )


def _against_libraries(lines: Sequence[OverviewRow]) -> str:
    """`In 16 of 28 the fastest of ours is faster than the library.`"""
    verdicts = [line.cells[2].mark for line in lines if len(line.cells) > 2]
    compared_ = [mark for mark in verdicts if mark]
    if len(lines) == 1 or not compared_:
        return ""
    faster = compared_.count("faster")
    return f"In {faster} of {len(compared_)} the fastest of ours is faster than the library."


def _lines(maker: Maker, page: ProblemPage, links: Links) -> list[OverviewRow]:
    run, found = maker.run, []
    for dtype in page.told:
        cases = [p for p in run.planned.values() if (p.problem, p.dtype) == (page.problem, dtype)]
        ladders, steps = page.told[dtype]
        if ladders:
            cells, why, spark = _timed(ladders[0], steps[0])
            cells.append(Cell(which_when(ladders) or "–", css="wrap"))
            size = fmt.assignments(ladders[0].sizes)
        else:
            cells, why, spark, size = _counted(maker, cases)
        faults = sum(run.outcomes[p.case].status == "failed" for p in cases)
        faults += sum(p.case in maker.above for p in cases)
        found.append(
            OverviewRow(page.problem, dtype if len(page.told) > 1 else "", page.about,
                 links.problem(page.problem), size, cells, why, spark, faults,
                 "failed" if faults else "")
        )  # fmt: skip
    return found


def _timed(ladder: Ladder, steps: Steps) -> tuple[list[Cell], str, Markup]:
    winner, base = ladder.winner, ladder.baseline
    if winner is None:
        return [none("nothing ranked"), *[none()] * 4], "", _spark(ladder)
    names = [winner, *ladder.tied]
    shown = ", ".join(r.short for r in names[:3]) + (" …" if len(names) > 3 else "")
    library = inverse(ladder.libraries[0].versus_winner) if ladder.libraries else None
    runner = ladder.runner_up
    gap = runner.versus_winner.ratio if runner and runner.versus_winner else None
    cells = [
        Cell(shown, winner.planned.variant, css="name"),
        compared(winner.versus_baseline, "the baseline" if winner is base else "–"),
        compared(library, "no library", ladder.libraries[0].short if library else ""),
        of_ceiling(winner, ladder.measure.no_roof, name=True),
        Cell(f"{runner.short}, {fmt.slower(gap)}", 1 / gap.value) if runner and gap else none(),
    ]
    gain = headline.largest_gain(ladder, steps)
    why = ""
    if gain and gain.speed and gain.speed.ratio:
        shorts = short_names(ladder.order)
        said = headline.causes(gain)
        why = f"{said}: " if said else ""
        why += (
            f"{fmt.times(gain.speed.ratio)} from {shorts[gain.before.variant]} to "
            f"{shorts[gain.after.variant]}"
        )
    return cells, why, _spark(ladder)


def _spark(ladder: Ladder) -> Markup:
    limit = ladder.measure.limit
    rows: list[Rung | Unranked] = ladder.rows
    most = max([r.rate.value for r in ladder.rungs] + ([limit.value] if limit else []), default=1.0)
    bars = [
        Bar(f"{r.planned.variant}: {fmt.three(r.rate.value)} {ladder.measure.unit}",
            r.rate.value / most, role_of(ladder, r))
        if isinstance(r, Rung)
        else Bar(f"{r.variant}: {'failed' if r.failed else 'not timed'}", None, "failed")
        for r in rows
    ]  # fmt: skip
    return sparkline(bars, f"{ladder.measure.name} of each variant; the height is the ceiling")


def _counted(maker: Maker, cases: Sequence[Planned]) -> tuple[list[Cell], str, Markup, str]:
    """Say what was verified; then the variants' losses, and the largest changes in a step."""
    run = maker.run
    problem, dtype = cases[0].problem, cases[0].dtype
    found = [c for c in checks(run, problem, dtype) if c.status != "skipped"]
    sound = [c for c in found if c.status == "verified"]
    good, count = len(sound), len(found)
    worst = max((c.worst for c in sound if c.worst is not None), default=None)
    cells = [
        Cell(f"{good} of {count}", good / max(count, 1), css="" if good == count else "failed"),
        Cell(fmt.three(worst), worst) if worst is not None else none(),
    ]
    told = largest(maker.counts, problem, dtype)
    if told is None:
        return [*cells, none(counts.not_counted(run, problem, dtype))], "", Markup(""), ""
    cells.append(Cell(counts.in_brief(told), css="wrap"))
    change = counts.largest_change(told)
    return cells, change, _counted_spark(told), fmt.assignments(told.sizes)


def _counted_spark(told: Counts) -> Markup:
    """One bar per variant, for the first quantity in which they differ."""
    for quantity in told.telling:
        answers = [(r.planned, told.of(quantity, r)) for r in told.rungs]
        values = [(p, a.value) for p, a in answers if isinstance(a, Reading) and a.judges]
        most = max((value for _, value in values), default=0.0)
        if len(values) > 1 and most > 0:
            bars = [
                Bar(f"{p.variant}: {show(quantity, value)}", value / most,
                    "baseline" if p.is_baseline else "counted")
                for p, value in values
            ]  # fmt: skip
            return sparkline(bars, quantity.title)
    return Markup("")


def _roofline(maker: Maker) -> Roofed | None:
    """One roofline for all problems, if there are several, with the fastest variant and library of
    each."""
    shown: list[Planned] = []
    shorts: dict[str, str] = {}
    several = len({(x.problem, x.dtype) for x in maker.ladders}) > len(
        {x.problem for x in maker.ladders}
    )
    for pair in dict.fromkeys(x.key[:2] for x in maker.ladders):
        largest = next((x for x in maker.ladders if x.key[:2] == pair and x.winner), None)
        if largest is None or largest.winner is None:
            continue
        shown.append(largest.winner.planned)
        dtype = f" {largest.dtype}" if several else ""
        shorts[largest.winner.planned.case] = f"{largest.problem}{dtype}"
    if len({p.problem for p in shown}) < 2:
        return None
    chart = roofline(maker.readings, "Roofline: the fastest of each problem", "all", shown, shorts)
    if not chart.kernels:
        return None
    absent = [f"{name}: {why}" for name, why in chart.absent.items()]
    return Roofed(drawn.roofline_of_all(maker.run, chart), chart.errors, absent)


def subtitle(info: Mapping[str, Any]) -> str:
    """`NVIDIA H200 · sm_90 · 21 November 2026, 02:00`."""
    device = info.get("device") or {}
    name = str(device.get("name") or "")
    compiled = "compiled for " if name and info.get("backend") == "emulator" else ""
    parts = [compiled + name, str(device.get("arch") or "")]
    parts.append(_moment(info.get("started")))
    return " · ".join(part for part in parts if part)


def _moment(stamp: Any) -> str:
    """`21 November 2026, 02:00`; text that is not a time is kept as it is."""
    if not stamp:
        return ""
    try:
        return datetime.fromisoformat(str(stamp)).strftime("%-d %B %Y, %H:%M")
    except ValueError:
        return str(stamp)


def _machine(info: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The run's environment, as far as run.json describes it."""
    device, machine = info.get("device") or {}, info.get("machine") or {}
    compiler, commit = info.get("compiler") or {}, info.get("commit") or {}
    taken_over = whole(info.get("taken_over"))
    role = "GPU" if info.get("backend") == "cuda" else "GPU compiled for"
    rows = [
        (role, " ".join(str(device[k]) for k in ("name", "arch") if device.get(k))),
        ("multiprocessors", fmt.count(device["sm_count"]) if device.get("sm_count") else ""),
        ("L2 cache", fmt.data(device["l2_bytes"]) if device.get("l2_bytes") else ""),
        ("memory", fmt.data(device["memory_bytes"]) if device.get("memory_bytes") else ""),
        ("driver", str(info.get("driver") or "")),
        ("beware", "; ".join(map(str, info.get("warnings") or ()))),
        ("processor", str(machine.get("cpu") or "")),
        ("system", str(machine.get("platform") or machine.get("system") or "")),
        *((str(name), str(v)) for name, v in (info.get("versions") or {}).items() if v),
        ("compiler", str(compiler.get("version") or "")),
        ("command", str(info.get("command") or "")),
        ("seed", str(info.get("seed") if info.get("seed") is not None else "")),
        (
            "commit",
            str(commit.get("id") or "") + (", changed since" if commit.get("dirty") else ""),
        ),
        ("run", str(info.get("id") or "")),
        ("as in earlier runs", how_many(taken_over) if taken_over else ""),
        ("finished", _moment(info.get("finished"))),
    ]
    return [(name, value) for name, value in rows if value]


def _glossary(readings: Readings) -> list[tuple[str, words.Meaning, str]]:
    """(counter, meaning, provenances) for the counters of this run, including those without a
    value."""
    table = readings.run.counters
    origins: dict[str, str] = {
        str(metric): ", ".join(dict.fromkeys(own.provenance.dropna()))
        for metric, own in table.groupby("metric", sort=False)
    }
    names = readings.metrics(list(readings.run.planned))
    return [
        (name, words.meaning(name), origins.get(name, "no value in this run"))
        for name in sorted({**origins, **names}, key=lambda name: words.meaning(name).title.lower())
    ]


def _provenance(run: Run) -> dict[str, str]:
    """The provenance labels of this run's numbers."""
    found = {"measured"} if run.is_timed else set()
    found |= set(run.counters.provenance.dropna())
    return {word: text for word, text in words.PROVENANCE.items() if word in found}
