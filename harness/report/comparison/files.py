"""A comparison as files: JSON for programs, Markdown for a comment, JUnit XML for a CI system.

`sarif.py` writes the fourth format, for systems that show alerts at source lines.

docs/comparing.md documents the JSON. Its format is only ever extended; if a name ever has to be
removed or change its meaning, `form` will get a new number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from harness.comparison.changes import Change
from harness.comparison.judgement import CLOSED, FINE, Judgement
from harness.comparison.machines import Difference
from harness.comparison.regression_metrics import Moved
from harness.comparison.times import TimeChange
from harness.console.escaping import markdown as markdown_text
from harness.console.escaping import markdown_code, xml
from harness.report.comparison import as_json, words
from harness.statistics.intervals import Interval
from harness.tables import Run

FORM = 1
MOST_ROWS = 50
"""The maximum number of rows in a comment's table: GitHub rejects comments of more than 65,536
characters."""


# JSON


def as_data(judgement: Judgement) -> as_json.Comparison:
    """The whole comparison, in base units; absent values are null."""
    around, looked = judgement.setting, judgement.looked
    said = {FINE: "open", CLOSED: "closed"}.get(judgement.code, "cannot tell")
    return {
        "form": FORM,
        "gate": said,
        "exit_code": judgement.code,
        "cannot_tell": list(judgement.untold),
        "base": _run(judgement.base),
        "new": _run(judgement.new),
        "interleaved": judgement.in_rounds,
        "relative_to_baselines": judgement.relative,
        "differences": {
            "machine": _differences(around.machine),
            "method": _differences(around.method),
            "context": _differences(around.context),
        },
        "family": looked.family,
        "confidence": looked.confidence,
        "floors": [
            {"problem": problem, "dtype": dtype, "sizes": sizes, "cache": cache, "floor": floor}
            for ((problem, dtype, sizes), cache), floor in (looked.floors or {}).items()
        ],
        "min_effect": judgement.min_effect,
        "run_levels": [
            {
                "problem": problem,
                "dtype": dtype,
                "sizes": sizes,
                "cache": cache,
                "moved": math.expm1(level.moved),
                "witnesses": level.witnesses,
                "luck": level.luck,
            }
            for ((problem, dtype, sizes), cache), level in looked.levels.items()
        ],
        "counts": dict(judgement.counts),
        "cases": [
            _case(change, judgement.untold_cases.get(change.name)) for change in judgement.changes
        ],
    }


def _run(run: Run) -> as_json.Side:
    info = run.info
    return {
        "id": info.get("id"),
        "folder": str(run.folder),
        "started": info.get("started"),
        "commit": info.get("commit"),
        "backend": info.get("backend"),
        "device": (info.get("device") or {}).get("name"),
        "driver": info.get("driver"),
    }


def _differences(found: Iterable[Difference]) -> list[as_json.Differs]:
    return [{"what": d.what, "base": d.base, "new": d.new} for d in found]


def _case(change: Change, untold: str | None) -> as_json.Case:
    side = change.pair.new or change.pair.base
    assert side is not None
    p = side.planned
    return {
        "case": change.name,
        "problem": p.problem,
        "variant": change.pair.variant,
        "dtype": p.dtype,
        "sizes": dict(p.sizes),
        "launch": dict(p.launch),
        "verdict": change.kind,
        "fault": {"base": change.faults[0] or None, "new": change.faults[1] or None},
        "machine_code": change.code,
        "source_changed": change.source,
        "made_from": [
            {"name": name, "base": was or None, "new": now or None}
            for name, was, now in change.made_from
        ],
        "times": [_time(t) for t in change.times],
        "compiled": [
            {"what": f.what, "kernel": f.kernel, "base": f.base, "new": f.new,
             "worse": f.is_worse, "decides": f.decides,
             "file": f.place.file if f.place else None, "line": f.place.line if f.place else None}
            for f in change.facts
        ],
        "counters": [_counter(m) for m in change.moved],
        "remarks": list(change.remarks),
        "cannot_tell": untold,
    }  # fmt: skip


def _time(t: TimeChange) -> as_json.Time:
    return {
        "cache": t.cache, "verdict": t.verdict, "reason": t.reason or None,
        "base_ns": _interval(t.base), "new_ns": _interval(t.new),
        "ratio": _interval(t.ratio) if t.ratio else None,
        "hides": t.hides if t.ratio and t.verdict != "identical" else None,
        "base_gbps": t.base_gbps, "new_gbps": t.new_gbps,
    }  # fmt: skip


def _counter(m: Moved) -> as_json.Counter:
    figures = m.place.figures if m.place else None
    return {
        "counter": m.gauge.key, "words": m.gauge.quantity.words, "unit": m.gauge.quantity.unit,
        "base": m.base.value if m.base else None, "new": m.new.value if m.new else None,
        "provenance": m.provenance,
        "worse": m.is_worse, "decides": m.decides,
        "file": m.place.file if m.place else None, "line": m.place.line if m.place else None,
        "line_base": figures[0] if figures else None, "line_new": figures[1] if figures else None,
    }  # fmt: skip


def _interval(value: Interval) -> as_json.Figure:
    return {"value": value.value, "low": value.low, "high": value.high}


# Markdown


def markdown(judgement: Judgement) -> str:
    """Write a comment for a pull request: the verdict, the reasons, a table, and what was
    compared."""
    lines = [f"**{markdown_text(words.headline(judgement))}**", ""]
    for reason in words.reasons(judgement):
        lines.append(f"- {reason.kind}: `{markdown_code(words.and_more(reason.cases))}`: "
                     f"{markdown_text(reason.text)}")  # fmt: skip
    lines += [f"- cannot tell: {markdown_text(text)}" for text in judgement.untold]
    told = [c for c in judgement.changes if c.kind in words.TOLD]
    if told:
        lines += ["", *_table(judgement, told[:MOST_ROWS])]
    if len(told) > MOST_ROWS:
        lines += ["", f"{len(told) - MOST_ROWS} more changed."]
    rest = words.folded(judgement)
    lines += ["", *([f"Without a row: {rest}.", ""] if rest else [])]
    lines += ["<details><summary>What was compared</summary>", ""]
    lines += [f"- {name}: {markdown_text(text)}" for name, text in words.sides(judgement)]
    around = judgement.setting
    apart = words.differences([*around.machine, *around.method, *around.context])
    lines += [f"- {markdown_text(text)}" for text in [*apart, *words.looked_at(judgement)]]
    return "\n".join([*lines, "", "</details>", ""])


def markdown_of_nothing(base: str, untold: Sequence[str]) -> str:
    """The comment for a comparison in which no differing variant remains."""
    answer = f"Cannot tell: {untold[0]}" if untold else (
        f"Nothing is left to compare: every variant has the same sources and headers as in {base}"
    )  # fmt: skip
    lines = [f"**{markdown_text(answer)}**", ""]
    return "\n".join([*lines, *(f"- cannot tell: {markdown_text(text)}" for text in untold), ""])


def _table(judgement: Judgement, told: Sequence[Change]) -> list[str]:
    timed = judgement.is_timed
    heads = ["case", "verdict", *(["cold", "warm", "bandwidth, cold"] if timed else []),
             "what changed"]  # fmt: skip
    rules = ["---", "---", *(["---:"] * 3 if timed else []), "---"]
    rows = [heads, rules]
    for change in told:
        cells = [f"`{markdown_code(change.name)}`", change.kind]
        if timed:
            cold = words.of_cache(change, "cold")
            cells += [words.time(cold), words.time(words.of_cache(change, "warm")),
                      words.rate(cold)]  # fmt: skip
        rows.append([*cells, markdown_text(words.shortly(change))])
    return [f"| {' | '.join(row)} |" for row in rows]


# JUnit


def junit(judgement: Judgement) -> str:
    """Write a test case for each pair.

    A test case fails if the pair closes the gate. If the pair cannot be judged, the test case is
    skipped, so that no system counts it as passed.
    """
    closed = sum(change.closes for change in judgement.changes)
    skipped = {change.name: reason for change in judgement.changes
               if not change.closes and (reason := _why_skipped(change, judgement))}  # fmt: skip
    suites, suite = _suite(len(judgement.changes), closed, len(skipped))
    for change in judgement.changes:
        side = change.pair.new or change.pair.base
        assert side is not None
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": xml(side.planned.problem), "name": xml(change.name)}
        )
        if change.closes:
            why = words.closing(change)
            told = ElementTree.SubElement(
                case, "failure", {"type": change.kind, "message": xml(f"{change.kind}: {why[0]}")}
            )
            told.text = xml("\n".join([*why, *words.beside(change), change.faults[1]]).strip())
        elif change.name in skipped:
            ElementTree.SubElement(case, "skipped", {"message": xml(skipped[change.name])})
    return _as_text(suites)


def junit_of_nothing() -> str:
    """A suite without test cases, for a comparison in which no differing variant remains."""
    suites, _ = _suite(0, 0, 0)
    return _as_text(suites)


def _suite(
    tests: int, failures: int, skipped: int
) -> tuple[ElementTree.Element, ElementTree.Element]:
    """The document, and its suite to which test cases are added."""
    suites = ElementTree.Element("testsuites")
    about = {"name": "kernel-harness compare", "tests": str(tests), "failures": str(failures),
             "errors": "0", "skipped": str(skipped)}  # fmt: skip
    return suites, ElementTree.SubElement(suites, "testsuite", about)


def _as_text(suites: ElementTree.Element) -> str:
    ElementTree.indent(suites)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return head + ElementTree.tostring(suites, encoding="unicode") + "\n"


_SKIPPED = frozenset({
    "traded", "no longer run", "not compared", "not run", "gone", "faulty in both",
})  # fmt: skip
"""Kinds of change that cannot be judged, or need not be."""


def _why_skipped(change: Change, judgement: Judgement) -> str:
    """The reason why a case cannot be judged; empty if it can be."""
    if why := judgement.untold_cases.get(change.name):
        return f"{change.kind}: it changed, and {why}"
    if change.kind not in _SKIPPED:
        return ""
    reason = next((t.reason for t in change.times if t.reason), "") or change.faults[1]
    return f"{change.kind}: {reason}" if reason else change.kind
