"""The claims made elsewhere and what became of them here, as the page shows them."""

from __future__ import annotations

from dataclasses import dataclass

from harness.analysis.claims import Checked, Figure, Test, check, read
from harness.analysis.quantities import BY_KEY, Readings
from harness.measure.statistics import Interval
from harness.report import format as fmt
from harness.report.anchors import short_names
from harness.report.counted import show

MARKS = {"holds": "holds", "does not hold": "fails", "cannot be tested": "open"}
"""Result → CSS class."""


@dataclass(frozen=True)
class Line:
    """One test: what was claimed, and our figure or why there is none."""

    wanted: str
    found: str
    where: str
    css: str


@dataclass(frozen=True)
class Shown:
    anchor: str
    text: str
    source: str
    gpu: str
    note: str
    result: str
    css: str
    reason: str
    lines: list[Line]


def shown(readings: Readings) -> list[Shown]:
    """Every claim, those with a result first, in the order of the file."""
    checked = check(readings, read())
    ordered = sorted(checked, key=lambda c: c.result == "cannot be tested")
    return [_shown(c) for c in ordered]


def tally(claims: list[Shown]) -> str:
    """`3 hold, 4 do not, 6 cannot be tested here`."""
    counts = [sum(c.result == result for c in claims) for result in MARKS]
    return f"{counts[0]} hold, {counts[1]} do not, {counts[2]} cannot be tested in this run"


def _shown(c: Checked) -> Shown:
    claim = c.claim
    return Shown(
        f"claim-{claim.id}", claim.text, claim.source, claim.gpu, claim.note, c.result,
        MARKS[c.result], c.reason, [_line(f) for f in c.figures],
    )  # fmt: skip


def _line(figure: Figure) -> Line:
    test = figure.test
    found = _value(test, figure.value) if figure.value else figure.reason
    css = {True: "holds", False: "fails", None: "open"}[figure.holds]
    return Line(wanted(test), found, figure.where, css)


def wanted(test: Test) -> str:
    """The test in words: `v1 against v0: speed-up below 1`."""
    names = short_names([n for n in (test.variant, test.against) if n])
    who = " against ".join(names.values())
    what = {
        "speedup": "speed-up",
        "percent_of_peak": "share of the peak bandwidth",
    }.get(test.measure) or BY_KEY[test.quantity].words
    value = f"{test.value:g}{' %' if test.measure == 'percent_of_peak' else ''}"
    tolerance = f" (± {100 * test.tolerance:g} %)" if test.tolerance else ""
    return f"{who}: {what} {test.relation} {value}{tolerance}"


def _value(test: Test, value: Interval) -> str:
    if test.measure == "speedup":
        return fmt.ratio(value)
    if test.measure == "percent_of_peak":
        return f"{fmt.interval(value, unit='%')} of the read ceiling"
    return show(BY_KEY[test.quantity], value.value)
