"""The page: tables, figures and sentences put into the template, and nothing worked out there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from harness.report import cells, counted, figures_timed, glossary, run_tables, story
from harness.report import format as fmt
from harness.report.anchors import case_anchor, counter_anchor, slug
from harness.report.cells import Table
from harness.report.ladder import Ladder, above_ceiling, ladders
from harness.report.style import DARK, LIGHT, Draw, Figure, render, variables
from harness.tables import Run


@dataclass(frozen=True)
class Section:
    """One problem and dtype, in the order that the page shows it."""

    anchor: str
    title: str
    steps: list[tuple[Figure | None, Table]]
    """A ladder or group of counters a size: its figure where it has one, and its table."""
    figures: list[Figure]
    cases: Table


def write_page(run: Run) -> Path:
    """report.html and figures/ in the run's folder, from its tables."""
    rungs = ladders(run) if run.is_timed else []
    environment = Environment(
        loader=PackageLoader("harness.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"case_anchor": case_anchor, "counter_anchor": counter_anchor}
    page = environment.get_template("page.html.j2").render(
        run=run,
        title=_title(run),
        subtitle=_subtitle(run.info),
        stories=story.timed(rungs) if run.is_timed else story.emulated(run),
        sections=_sections(run, rungs),
        counters=_counter_tables(run),
        failures=_by_reason(_endings(run, "failed")),
        skipped=_by_reason(_endings(run, "skipped")),
        verified=run_tables.verification_table(run),
        machine=_machine(run.info),
        machine_tables=_machine_tables(run),
        settings=_settings(run),
        glossary=_glossary(run),
        verdicts=glossary.VERDICTS,
        provenance=_provenance(run),
        style=Markup(_text("page.css")),
        light=Markup(variables(LIGHT)),
        dark=Markup(variables(DARK)),
        script=Markup(_text("sort.js")),
    )
    path = run.folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def _text(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _title(run: Run) -> str:
    names = ", ".join(dict.fromkeys(p.problem for p in run.planned.values())) or "no cases"
    return f"{names}: {'timed' if run.is_timed else 'counted, not timed'}"


def _subtitle(info: Mapping[str, Any]) -> str:
    device = info.get("device") or {}
    name = str(device.get("name") or "")
    emulated = "compiled for " if name and info.get("backend") == "emulator" else ""
    parts = [emulated + name, str(device.get("arch") or "")]
    started = info.get("started")
    if started:
        try:
            parts.append(datetime.fromisoformat(str(started)).strftime("%-d %B %Y, %H:%M"))
        except ValueError:
            parts.append(str(started))
    return " · ".join(part for part in parts if part)


def _sections(run: Run, rungs: list[Ladder]) -> list[Section]:
    found: list[Section] = []
    problems = run.info.get("problems") or {}
    for problem, dtype in dict.fromkeys((p.problem, p.dtype) for p in run.planned.values()):
        about = problems.get(problem) or {}
        title = f"{problem} ({dtype})"
        if about.get("title"):
            title += f": {about['title']}"
        own = [x for x in rungs if (x.problem, x.dtype) == (problem, dtype)]
        groups = [g for g in counted.groups(run) if g.key[:2] == (problem, dtype)]
        timed = [(_ladder_figure(run.folder, x), cells.ladder_table(x)) for x in own if x.rungs]
        counts = [(None, cells.derived_table(g)) for g in groups]
        figures = _timed_figures(run, own) if own else _counter_figures(run.folder, groups)
        found.append(
            Section(
                slug(f"{problem}-{dtype}"),
                title,
                [*timed, *([] if own else counts)],
                figures,
                cells.case_table(run, problem, dtype),
            )
        )
    return found


def _ladder_figure(folder: Path, ladder: Ladder) -> Figure:
    def draw(layout: Any) -> Any:
        return figures_timed.draw_ladder(ladder, layout)

    table = cells.ladder_table(ladder)
    caption = (
        f"Each variant at its fastest launch shape, cold; the dark line on a bar's end is its "
        f"confidence interval. Coloured: {_coloured(ladder)}. Grey: the baseline."
    )
    if any(rung.first_step is not None for rung in ladder.rungs):
        caption += (
            " Where there are two launches, the tick shows the rate that the first alone would "
            "have; its share of the time stands beside or below. Both were timed apart."
        )
    return render(
        folder,
        f"ladder-{slug('-'.join(ladder.key))}",
        f"{ladder.problem} at {fmt.assignments(ladder.sizes)}",
        caption,
        draw,
        [column.title for column in table.columns],
        table.plain(),
    )


def _coloured(ladder: Ladder) -> str:
    if ladder.tied:
        return "those that cannot be told apart from the fastest"
    return f"the fastest, {ladder.winner.planned.variant}" if ladder.winner else "none"


def _timed_figures(run: Run, own: list[Ladder]) -> list[Figure]:
    ranked = [ladder for ladder in own if ladder.rungs]
    figures = [_over_size(run.folder, ranked)] if len(ranked) > 1 else []
    for ladder in own:
        shapes = figures_timed.shapes_of(run, ladder)
        if len(shapes.shapes) > 1 and shapes.rates:
            figures.append(_shapes_figure(run.folder, ladder, shapes))
    return figures


def _over_size(folder: Path, own: list[Ladder]) -> Figure:
    lines = figures_timed.lines_over_size(own)
    ordered = sorted(own, key=lambda x: max(r.planned.bytes for r in x.rungs))

    def draw(layout: Any) -> Any:
        return figures_timed.draw_over_size(own, layout)

    at = [{r.planned.variant: r for r in [*x.rungs, *([x.library] if x.library else [])]}
          for x in ordered]  # fmt: skip
    return render(
        folder,
        f"over-size-{slug(f'{own[0].problem}-{own[0].dtype}')}",
        f"{own[0].measure.name} over size",
        "Each variant at its fastest launch shape at each size, cold. In colour: the fastest, the "
        "baseline and the library; thin and grey: the rest.",
        draw,
        ["variant", *(f"{fmt.assignments(x.sizes)}, {x.measure.unit}" for x in ordered)],
        [
            [
                line.variant,
                *(fmt.interval(r[line.variant].rate) if line.variant in r else "–" for r in at),
            ]
            for line in lines
        ],
    )


def _shapes_figure(folder: Path, ladder: Ladder, shapes: figures_timed.Shapes) -> Figure:
    unit = ladder.measure.unit

    def draw(layout: Any) -> Any:
        return figures_timed.draw_shapes(shapes, unit, layout)

    return render(
        folder,
        f"shapes-{slug('-'.join(ladder.key))}",
        f"Launch shape × variant at {fmt.assignments(ladder.sizes)}, {unit}",
        "Cold; the stronger the colour the faster, the fastest in bold. Hatched: not timed; the "
        "table of cases and the lists of failures and of skipped cases say why.",
        draw,
        ["variant", *shapes.shapes],
        [
            [
                v,
                *(
                    fmt.three(shapes.rates[v, s])
                    if (v, s) in shapes.rates
                    else shapes.missing.get((v, s), "not planned")
                    for s in shapes.shapes
                ),
            ]
            for v in shapes.variants
        ],
    )


def _counter_figures(folder: Path, groups: list[counted.Group]) -> list[Figure]:
    figures: list[Figure] = []
    for group in groups[:1]:  # the largest size; the tables have the rest
        shown = counted.representative(group)
        shape = fmt.assignments(shown[0].launch)
        for derived in (d for d in group.known() if d.figure):
            draw: Draw = counted.bars(group, derived)
            values = [group.value(derived, p) for p in shown]
            figures.append(
                render(
                    folder,
                    f"{derived.key}-{slug('-'.join(group.key))}",
                    derived.title,
                    f"At {fmt.assignments(shown[0].sizes)}{', ' + shape if shape else ''}. "
                    f"{derived.text} Grey: the baseline.",
                    draw,
                    ["variant", "launch", derived.title],
                    [
                        [
                            p.variant,
                            fmt.assignments(p.launch),
                            v if isinstance(v, str) else fmt.three(v),
                        ]
                        for p, v in zip(shown, values, strict=True)
                    ],
                )
            )
    return figures


def _counter_tables(run: Run) -> list[tuple[Table | None, Table]]:
    """For each counted size: what the counters say (where the section has not said so), and all."""
    return [
        (cells.derived_table(g) if run.is_timed else None, cells.counter_table(run, g))
        for g in counted.groups(run)
    ]


def _by_reason(endings: list[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Reason → the cases that share it."""
    reasons: dict[str, list[str]] = {}
    for case, reason in endings:
        reasons.setdefault(reason or "no reason was recorded", []).append(case)
    return list(reasons.items())


def _endings(run: Run, status: str) -> list[tuple[str, str]]:
    """(case, reason) of every case that ended so; a result above its ceiling is a failure."""
    found = [(o.case, o.reason) for o in run.outcomes.values() if o.status == status]
    if status == "failed" and run.is_timed:
        why = "faster than the ceiling measured in this run: an error of measurement"
        found += [(case, why) for case in sorted(above_ceiling(run))]
    return found


def _machine(info: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What ran it, as far as run.json knows."""
    device, machine = info.get("device") or {}, info.get("machine") or {}
    compiler, commit = info.get("compiler") or {}, info.get("commit") or {}
    role = "GPU" if info.get("backend") == "cuda" else "GPU compiled for"
    rows = [
        (role, " ".join(str(device[k]) for k in ("name", "arch") if device.get(k))),
        ("multiprocessors", fmt.count(device["sm_count"]) if device.get("sm_count") else ""),
        ("L2 cache", fmt.data(device["l2_bytes"]) if device.get("l2_bytes") else ""),
        ("memory", fmt.data(device["memory_bytes"]) if device.get("memory_bytes") else ""),
        ("processor", str(machine.get("cpu") or "")),
        ("system", str(machine.get("platform") or "")),
        ("Python", str(machine.get("python") or "")),
        *((str(name), str(v)) for name, v in (info.get("versions") or {}).items() if v),
        ("compiler", str(compiler.get("version") or "")),
        ("command", str(info.get("command") or "")),
        ("seed", str(info.get("seed") if info.get("seed") is not None else "")),
        (
            "commit",
            str(commit.get("id") or "") + (", changed since" if commit.get("dirty") else ""),
        ),
        ("run", str(info.get("id") or "")),
        ("finished", str(info.get("finished") or "")),
    ]
    return [(name, value) for name, value in rows if value]


def _machine_tables(run: Run) -> list[Table]:
    if not run.is_timed:
        return []
    tables = (
        run_tables.ceilings_table(run),
        run_tables.noise_table(run),
        run_tables.conditions_table(run),
    )
    return [table for table in tables if table.rows]


def _settings(run: Run) -> dict[str, str]:
    timing = run.info.get("timing") or {}
    return {
        "rounds": str(timing.get("rounds", "several")),
        "batch": str(timing.get("batch", "several")),
        "confidence": fmt.percent(100 * run.confidence),
        "same_within": fmt.percent(100 * run.same_within),
    }


def _glossary(run: Run) -> list[tuple[str, glossary.Meaning, str]]:
    """(counter, meaning, provenances) for the counters of this run."""
    table = run.counters
    found = []
    for metric in dict.fromkeys(table.metric):
        origins = ", ".join(dict.fromkeys(table[table.metric == metric].provenance))
        found.append((metric, glossary.meaning(metric), origins))
    return found


def _provenance(run: Run) -> dict[str, str]:
    """The words that this run's numbers carry."""
    words = {"measured"} if run.is_timed else set()
    words |= set(run.counters.provenance)
    return {word: text for word, text in glossary.PROVENANCE.items() if word in words}
