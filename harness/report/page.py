"""The page: tables, figures and sentences put into the template, and nothing worked out there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from harness.analysis.quantities import Readings
from harness.report import claimed, counted, glossary, interactive, run_tables, story
from harness.report import format as fmt
from harness.report.anchors import case_anchor, counter_anchor
from harness.report.cells import Table
from harness.report.counter_cells import counter_table, durations
from harness.report.explained import rules_table
from harness.report.ladder import above_ceiling, ladders
from harness.report.sections import overview, sections
from harness.report.style import DARK, LIGHT, variables
from harness.tables import Run


def write_page(run: Run) -> Path:
    """report.html and figures/ in the run's folder, from its tables."""
    rungs = ladders(run) if run.is_timed else []
    readings = Readings(run)
    parts, every = sections(run, readings, rungs), overview(readings, rungs)
    claims = claimed.shown(readings)
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
        sections=parts,
        overview=every,
        claims=claims,
        tally=claimed.tally(claims),
        rules=rules_table(),
        counters=[counter_table(g) for g in counted.groups(readings)],
        durations=durations(run),
        failures=_by_reason(_endings(run, "failed")),
        skipped=_by_reason(_endings(run, "skipped")),
        verified=run_tables.verification_table(run),
        machine=_machine(run.info),
        machine_tables=_machine_tables(run),
        settings=_settings(run),
        glossary=_glossary(readings),
        verdicts=glossary.VERDICTS,
        provenance=_provenance(run),
        style=Markup(_text("page.css")),
        light=Markup(variables(LIGHT)),
        dark=Markup(variables(DARK)),
        script=Markup(_text("sort.js") + _text("explore.js")),
        plotly=Markup(interactive.library() if rungs else ""),
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


def _glossary(readings: Readings) -> list[tuple[str, glossary.Meaning, str]]:
    """(counter, meaning, provenances) for the counters of this run, those without a value too."""
    table = readings.run.counters
    origins: dict[str, str] = {
        metric: ", ".join(dict.fromkeys(table[table.metric == metric].provenance.dropna()))
        for metric in dict.fromkeys(table.metric)
    }
    names = readings.metrics(list(readings.run.planned))
    return [
        (name, glossary.meaning(name), origins.get(name, "no value in this run"))
        for name in {**origins, **names}
    ]


def _provenance(run: Run) -> dict[str, str]:
    """The words that this run's numbers carry."""
    words = {"measured"} if run.is_timed else set()
    words |= set(run.counters.provenance.dropna())
    return {word: text for word, text in glossary.PROVENANCE.items() if word in words}
