"""Published claims about these kernels, each with tests that a run's data can decide.

claims.yaml, next to this file, lists the claims. A claim holds if each of its tests holds over the
whole confidence interval. The claim fails if one test fails over the whole interval. If an interval
spans the limit, or the run lacks data that a test needs, the run cannot decide the claim.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from harness.analysis.finders import evaluate
from harness.analysis.readings import CAVEATS, Missing, Readings
from harness.errors import ConfigError
from harness.files import strict_yaml
from harness.journal.records import Planned
from harness.quantities import QUANTITIES
from harness.statistics.intervals import Interval
from harness.statistics.net_times import group_of

PATH = Path(__file__).with_name("claims.yaml")

Result = Literal["holds", "does not hold", "cannot be tested"]
Relation = Literal["about", "at least", "at most", "above", "below"]
Measure = Literal["speedup", "percent_of_peak", "counter", "rate", "told"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Test(_Strict):
    """One comparison that decides a claim, at the largest size for which it can be made.

    `measure`: speedup (how many times faster `variant` is than `against`, paired by round),
    percent_of_peak (of the read bandwidth measured in this run), counter (a quantity of
    harness/quantities/quantities.yaml, at the largest size counted), rate (the arithmetic rate at
    `sizes` over that at `against_sizes`), or told (a value that the kernel itself measured: an
    output that its problem lists in `readings`). `tolerance`: for `about`, the relative deviation
    allowed on either side; 0.1 is 10 %. `sizes`: the only sizes to use; if empty, the largest.
    `launch`: the launch shape to use; by default, the one at which the variant is shown.
    `against_launch`: the launch shape of `against`, if different.
    """

    __test__ = False  # its name would make pytest collect it as a test

    measure: Measure
    problem: str
    variant: str
    against: str = ""
    quantity: str = ""
    relation: Relation
    value: float
    tolerance: float = 0.0
    sizes: dict[str, int] = {}
    launch: dict[str, int] = {}
    against_launch: dict[str, int] = {}
    against_sizes: dict[str, int] = {}
    output: str = ""

    @model_validator(mode="after")
    def _complete(self) -> Test:
        if (self.measure == "speedup") != bool(self.against):
            raise ValueError("`against` is for the measure `speedup`, which needs it")
        if (self.measure == "counter") != bool(self.quantity):
            raise ValueError("`quantity` is for the measure `counter`, which needs it")
        if (self.measure == "rate") != bool(self.against_sizes) or (
            self.measure == "rate" and not self.sizes
        ):
            raise ValueError(
                "the measure `rate` needs `sizes` and `against_sizes`, which only it takes"
            )
        if (self.measure == "told") != bool(self.output):
            raise ValueError("`output` is for the measure `told`, which needs it")
        if self.against_launch and not (self.against and self.launch):
            raise ValueError("`against_launch` needs `launch` and `against`")
        if self.quantity and self.quantity not in QUANTITIES:
            known = ", ".join(QUANTITIES)
            raise ValueError(f"there is no quantity `{self.quantity}`; there are {known}")
        if not math.isfinite(self.value) or not 0 <= self.tolerance < 1:
            raise ValueError("`value` must be finite, and `tolerance` at least 0 and less than 1")
        if bool(self.tolerance) != (self.relation == "about"):
            raise ValueError("`tolerance` is for the relation `about`, which needs it")
        return self


class Claim(_Strict):
    """A claim, its source and its GPU; `tests`, or a description of what is missing for them."""

    id: str
    text: str
    source: str
    gpu: str
    note: str = ""
    tests: tuple[Test, ...] = ()
    waits_for: str = ""

    @model_validator(mode="after")
    def _testable(self) -> Claim:
        if bool(self.tests) == bool(self.waits_for):
            raise ValueError("a claim has either `tests`, or `waits_for` with what is missing")
        return self


class Claims(_Strict):
    claims: tuple[Claim, ...]

    @model_validator(mode="after")
    def _distinct(self) -> Claims:
        ids = [claim.id for claim in self.claims]
        twice = {name for name in ids if ids.count(name) > 1}
        if twice:
            raise ValueError(f"the id `{min(twice)}` occurs twice")
        return self


@dataclass(frozen=True)
class Figure:
    """The run's figure for one test. `reason`: why there is none."""

    test: Test
    value: Interval | None
    holds: bool | None
    """True if the test holds, False if it fails, None if it cannot be decided."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """The sizes at which the figure was measured."""
    launches: Sequence[Mapping[str, int]] = ()
    """The distinct launch shapes at which the figure was measured."""
    reason: str = ""


@dataclass(frozen=True)
class Checked:
    claim: Claim
    result: Result
    figures: Sequence[Figure]
    reason: str = ""


@cache
def read(path: Path = PATH) -> tuple[Claim, ...]:
    """Load the claims of a file; empty if there is no file. Raises ConfigError with file, line and
    key."""
    if not path.exists():
        return ()
    document = strict_yaml.read(path)
    try:
        return Claims.model_validate(document.data).claims
    except ValidationError as error:
        first = error.errors()[0]
        at = first["loc"]
        message = first["msg"].removeprefix("Value error, ")
        raise ConfigError(message, document.where(at), ".".join(map(str, at))) from None


def check(readings: Readings, claims: Sequence[Claim]) -> list[Checked]:
    """Each claim with its result for this run."""
    return [_check(readings, claim) for claim in claims]


def _check(readings: Readings, claim: Claim) -> Checked:
    if not claim.tests:
        return Checked(claim, "cannot be tested", (), claim.waits_for)
    figures = [_figure(readings, test) for test in claim.tests]
    if any(figure.holds is False for figure in figures):
        return Checked(claim, "does not hold", figures)
    undecided = [figure.reason for figure in figures if figure.holds is None]
    if undecided:
        return Checked(claim, "cannot be tested", figures, "; ".join(dict.fromkeys(undecided)))
    return Checked(claim, "holds", figures)


def _figure(readings: Readings, test: Test) -> Figure:
    run = readings.run
    groups = _of_sizes(readings, test.problem, test.sizes)
    if not groups:
        what = f"{test.problem} at these sizes" if test.sizes else f"problem {test.problem}"
        return Figure(test, None, None, reason=f"this run has no {what}")
    if test.measure != "counter" and not run.is_timed:
        return Figure(test, None, None, reason="nothing was timed in this run")
    reason = ""
    for cases in sorted(groups, key=lambda cases: -cases[0].bytes):
        found = _at_size(readings, test, cases)
        if isinstance(found, Figure):
            return found
        reason = reason or found
    return Figure(test, None, None, reason=reason)


def _of_sizes(readings: Readings, problem: str, sizes: Mapping[str, int]) -> list[list[Planned]]:
    """The groups of a problem at these sizes; at all sizes if none are given."""
    return [
        cases
        for (name, _, _), cases in readings.run.groups().items()
        if name == problem and (not sizes or cases[0].sizes == sizes)
    ]


def _at_size(readings: Readings, test: Test, cases: Sequence[Planned]) -> Figure | str:
    picked = []
    wanted = [(test.variant, test.launch, cases)]
    if test.against:
        wanted.append((test.against, test.against_launch or test.launch, cases))
    if test.against_sizes:
        others = _of_sizes(readings, test.problem, test.against_sizes)
        if not others:
            return f"this run has no {test.problem} at the sizes to compare with"
        wanted.append((test.variant, test.launch, others[0]))
    for name, launch, among in wanted:
        p = _pick(readings, test, launch, among, name)
        if isinstance(p, str):
            return p
        picked.append(p)
    value = _value(readings, test, picked)
    if isinstance(value, str):
        return value
    holds = decide(test, value)
    launches = [p.launch for i, p in enumerate(picked) if p.launch not in
                [q.launch for q in picked[:i]]]  # fmt: skip
    reason = "" if holds is not None else "the interval lies on both sides of what is claimed"
    return Figure(test, value, holds, picked[0].sizes, launches, reason)


def _pick(
    readings: Readings,
    test: Test,
    launch: Mapping[str, int],
    cases: Sequence[Planned],
    variant: str,
) -> Planned | str:
    """The variant's case: at its fastest launch shape, or at the shape that the test names."""
    run = readings.run
    own = [p for p in cases if p.variant == variant]
    if not own:
        return f"this run has no variant {variant}"
    if launch:
        own = [p for p in own if all(p.launch.get(k) == v for k, v in launch.items())]
        if not own:
            return f"this run has no {variant} at the launch shape that the test names"
    sound = [p for p in own if run.outcomes[p.case].status == "ok"]
    if not sound:
        return f"{variant} failed or was skipped in this run"
    if test.measure == "counter" and not run.is_timed:
        sound = [p for p in sound if p.case in readings.counted] or sound
    group = group_of(own[0])
    shown = run.timings.shape(group, variant)
    return shown if shown in sound else sound[0]


def _value(readings: Readings, test: Test, cases: Sequence[Planned]) -> Interval | str:
    run = readings.run
    if test.measure == "speedup":
        ratio = run.compare(cases[0].case, cases[1].case).ratio
        return ratio or "too few rounds for an interval"
    if test.measure == "percent_of_peak":
        ceiling = run.ceilings.get("read_bandwidth")
        time = run.time(cases[0].case)
        if ceiling is None or time is None:
            return "the read bandwidth was not measured" if time else "too few rounds"
        shares = [1e11 * cases[0].bytes / ns / ceiling.value for ns in (
            time.value, time.high, time.low)]  # fmt: skip
        return Interval(*shares)
    if test.measure == "rate":
        times = [run.time(p.case) for p in cases]
        if None in times:
            return "too few rounds"
        return _over(*((p.flops, t) for p, t in zip(cases, times, strict=True) if t))
    if test.measure == "told":
        told = run.told.get(cases[0].case, {}).get(test.output)
        if told is None:
            return f"this run does not tell its {test.output}"
        return Interval(told.value, told.low, told.high)
    quantity = QUANTITIES[test.quantity]
    answer = evaluate(quantity.key, readings, cases[0])
    if isinstance(answer, Missing):
        return f"{quantity.title.lower()}: {answer.reason}"
    if answer.counted_at:
        return f"{quantity.title.lower()}: emulated at {answer.counted_at} alone"
    if not answer.judges:
        return f"{quantity.title.lower()}: {CAVEATS[answer.provenance]}"
    return Interval(answer.value, answer.value, answer.value)


def _over(one: tuple[int, Interval], other: tuple[int, Interval]) -> Interval:
    """The quotient of two cases' rates, whose errors are independent."""
    (work, ns), (less, other_ns) = one, other
    return Interval(*(
        (work / mine) / (less / theirs)
        for mine, theirs in ((ns.value, other_ns.value), (ns.high, other_ns.low),
                             (ns.low, other_ns.high))
    ))  # fmt: skip


def decide(test: Test, value: Interval) -> bool | None:
    """Return True or False if the whole interval is on one side of the limit; None if it spans the
    limit."""
    low, high = -math.inf, math.inf
    if test.relation == "about":
        low, high = test.value * (1 - test.tolerance), test.value * (1 + test.tolerance)
    elif test.relation in {"at least", "above"}:
        low = test.value
    else:
        high = test.value
    strict = test.relation in {"above", "below"}
    ends = [low < x < high if strict else low <= x <= high for x in (value.low, value.high)]
    if all(ends):
        return True
    outside = value.high < low or value.low > high
    if strict:
        outside = value.high <= low or value.low >= high
    return False if outside else None
