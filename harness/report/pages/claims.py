"""Published claims and this run's results for them, as a problem's page shows them."""

from __future__ import annotations

from dataclasses import dataclass

from harness.analysis.claims import Checked, Figure, Test, check, read
from harness.analysis.ladder import short_names
from harness.analysis.readings import Readings
from harness.quantities import QUANTITIES
from harness.report import format as fmt
from harness.report.tables.cells import show
from harness.statistics.intervals import Interval

MARKS = {"holds": "holds", "does not hold": "fails", "cannot be tested": "open"}
"""Result → CSS class."""


@dataclass(frozen=True)
class ClaimRow:
    """One test: the claim, and this run's figure or the reason why there is none."""

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
    lines: list[ClaimRow]


@dataclass(frozen=True)
class Claims:
    """The claims about one problem, those with a result first."""

    tested: list[Shown]
    open: list[Shown]
    """The claims that cannot be tested here; not shown for a run without times."""

    @property
    def tally(self) -> str:
        hold = sum(c.result == "holds" for c in self.tested)
        text = f"{hold} of {len(self.tested)} hold"
        return f"{text}; {len(self.open)} more cannot be tested here" if self.open else text


def claims_of(readings: Readings, problem: str) -> Claims:
    """The claims whose tests concern the problem."""
    own = [c for c in read() if any(test.problem == problem for test in c.tests)]
    found = [_shown(c) for c in check(readings, own)]
    undecided = [c for c in found if c.result == "cannot be tested"]
    return Claims(
        [c for c in found if c not in undecided], undecided if readings.run.is_timed else []
    )


def _shown(c: Checked) -> Shown:
    claim = c.claim
    return Shown(
        f"claim-{claim.id}", claim.text, claim.source, claim.gpu, claim.note, c.result,
        MARKS[c.result], c.reason, [_line(f) for f in c.figures],
    )  # fmt: skip


def _line(figure: Figure) -> ClaimRow:
    test = figure.test
    found = value_of(test, figure.value) if figure.value else figure.reason
    css = {True: "holds", False: "fails", None: "open"}[figure.holds]
    where = [fmt.assignments(figure.sizes), *(fmt.assignments(each) for each in figure.launches)]
    return ClaimRow(wanted(test), found, "; ".join(filter(None, where)), css)


def wanted(test: Test, in_full: bool = False) -> str:
    """The test in words: `v1 against v0: speed-up below 1`. `in_full`: with the variants' names."""
    names = short_names(list(dict.fromkeys(n for n in (test.variant, test.against) if n)))
    if in_full:
        names = {name: name for name in names}
    who = " against ".join(names.values())
    if test.against_launch:
        shapes = map(fmt.assignments, (test.launch, test.against_launch))
        who = f"{names[test.variant]}: " + " against ".join(shapes)
    at = f" at {fmt.assignments(test.sizes)}"
    what = {
        "speedup": "speed-up",
        "percent_of_peak": "share of the peak bandwidth",
        "rate": f"arithmetic rate{at} over that at {fmt.assignments(test.against_sizes)}",
        "told": test.output + at * bool(test.sizes),
    }.get(test.measure) or QUANTITIES[test.quantity].words
    value = f"{test.value:g}{' %' if test.measure == 'percent_of_peak' else ''}"
    tolerance = f" (± {100 * test.tolerance:g} %)" if test.tolerance else ""
    return f"{who}: {what} {test.relation} {value}{tolerance}"


def value_of(test: Test, value: Interval) -> str:
    """The run's figure in words."""
    if test.measure in ("speedup", "rate"):
        return fmt.ratio(value)
    if test.measure == "told":
        return fmt.three(value.value)
    if test.measure == "percent_of_peak":
        return f"{fmt.percent(value.value)} of the read ceiling"
    return show(QUANTITIES[test.quantity], value.value)
