"""The ladder of a timed group, computed once for tables, figures and sentences.

A ladder holds every variant at the launch shape at which it is shown, compared round by round with
the baseline, with the variant that it builds on, and with the fastest. Only verified results below
the machine's ceiling are ranked; the rest are listed with a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.journal.records import Planned
from harness.statistics import builds_on
from harness.statistics.intervals import Interval, Verdict
from harness.statistics.net_times import Group, Spread
from harness.statistics.timings import Comparison
from harness.tables import Run
from harness.tables.roofs import Roof, roofs_of, without

ABOVE = "faster than the ceiling measured in this run: an error of measurement"


@dataclass(frozen=True)
class Measure:
    """The unit in which a problem is rated at one size: GB/s of compulsory traffic, or GFLOP/s if
    arithmetic or exponentials limit its largest size.
    """

    name: str
    unit: str
    roof: Roof | None
    limit: Interval | None
    """The highest rate that the roof allows, in that unit; None without a roof."""
    no_roof: str = ""
    """The reason why there is no roof, if the problem gives one."""

    @property
    def bound(self) -> str:
        """The ceiling's name."""
        return self.roof.bound if self.roof else "ceiling"

    def of(self, p: Planned, ns: float) -> float:
        """GB/s or GFLOP/s: units per nanosecond are giga-units per second."""
        return (p.flops if self.unit == "GFLOP/s" else p.bytes) / ns


@dataclass(frozen=True)
class Share:
    """One launch of several: its kernel, its time, and its share of the total time."""

    kernel: str
    ns: float
    part: float


@dataclass(frozen=True)
class Rung:
    """One variant, or a library, at the launch shape at which it is shown."""

    planned: Planned
    short: str
    time: Interval
    """The time with a cold cache, in ns."""
    rate: Interval
    roof: Roof | None
    """The roof that applies: the ladder's, or the variant's own if its arithmetic differs."""
    percent: float | None
    """The percentage of that roof; see OVER for values above 100."""
    versus_baseline: Comparison | None
    """The speed-up over the baseline; None for the baseline itself."""
    parent: Planned | None
    versus_parent: Comparison | None
    versus_winner: Comparison | None
    """The speed-up over the winner; None for the winner itself."""
    spread: Spread | None
    steps: tuple[Share, ...] = ()
    """The launches; empty if there is only one."""
    longest_rate: float | None = None
    """The rate if the longest launch were the only one."""

    @property
    def longest(self) -> float | None:
        """The longest launch's share of the time."""
        return max((share.part for share in self.steps), default=None)


@dataclass(frozen=True)
class Unranked:
    """A variant excluded from the ladder, and why."""

    variant: str
    short: str
    reason: str
    failed: bool


@dataclass(frozen=True)
class OneGroup:
    """The results of one problem, type and size."""

    key: Group
    sizes: dict[str, int]

    @property
    def problem(self) -> str:
        return self.key[0]

    @property
    def dtype(self) -> str:
        return self.key[1]


@dataclass(frozen=True)
class Ladder(OneGroup):
    measure: Measure
    rungs: list[Rung]
    """Our own variants, in the matrix's order."""
    libraries: list[Rung]
    """The libraries, the fastest first."""
    unranked: list[Unranked]
    order: list[str]
    """Every variant, as the matrix lists them."""
    baseline: Rung | None
    """The baseline, or its substitute."""
    substitute: str
    """The variant used in place of a baseline that has no sound case; otherwise empty."""
    winner: Rung | None
    tied: list[Rung]
    """The variants that the winner is not shown to beat."""
    runner_up: Rung | None
    """The fastest variant that the winner is shown to beat."""
    noise: float
    """The possible difference between two runs of the same kernel; infinite if unknown."""

    @property
    def rows(self) -> list[Rung | Unranked]:
        """All variants, ranked or not, in the matrix's order."""
        every: dict[str, Rung | Unranked] = {r.planned.variant: r for r in self.rungs}
        every |= {u.variant: u for u in self.unranked}
        return [every[variant] for variant in self.order if variant in every]

    @property
    def everyone(self) -> list[Rung]:
        """Ranked variants and libraries."""
        return [*self.rungs, *self.libraries]

    @property
    def extent(self) -> float:
        """The size if it is a single number, else the compulsory bytes."""
        if len(self.sizes) == 1:
            return float(next(iter(self.sizes.values())))
        return float(max((r.planned.bytes for r in self.everyone), default=0))

    def rung(self, variant: str) -> Rung | None:
        return next((r for r in self.everyone if r.planned.variant == variant), None)

    def lineage(self, variant: str) -> list[Rung]:
        """The variant and its ancestors up to the root; the variant first."""
        found: list[Rung] = []
        rung = self.rung(variant)
        while rung and rung not in found:
            found.append(rung)
            rung = self.rung(rung.parent.variant) if rung.parent else None
        return found


_OTHER_WAY: dict[Verdict, Verdict] = {"faster": "slower", "slower": "faster"}


def inverse(comparison: Comparison | None) -> Comparison | None:
    """Turn A over B into B over A."""
    if comparison is None or comparison.ratio is None:
        return comparison
    verdict = comparison.verdict
    return Comparison(comparison.ratio.inverse(), _OTHER_WAY.get(verdict, verdict))


def short_names(variants: list[str]) -> dict[str, str]:
    """`v12` for `v12_single_pass_last_block` if no other variant's name begins with it, else the
    full name."""
    heads = [name.split("_")[0] for name in variants]
    return {
        name: head if head and heads.count(head) == 1 else name
        for name, head in zip(variants, heads, strict=True)
    }


def measure_of(run: Run, cases: Sequence[Planned], largest: Planned) -> Measure:
    """The measure for the cases of one size, in the unit of the problem's largest size."""
    roof, no_roof = run.roof(cases[0]), without(run, cases[0].problem)
    bound = max(roofs_of(run, largest), key=lambda each: each.least.value, default=None)
    name, unit, work = "Bandwidth", "GB/s", cases[0].bytes
    if bound and not bound.is_traffic and largest.flops:
        name, unit, work = "Arithmetic rate", "GFLOP/s", cases[0].flops
    limit = None
    if roof:
        least = roof.least
        limit = Interval(*(work / ns for ns in (least.value, least.high, least.low)))
    return Measure(name, unit, roof, limit, no_roof)


def ladders(run: Run) -> list[Ladder]:
    """The ladders of every problem and type; empty for a run without times.

    Sizes that ran come first, largest first, followed by those that were skipped for every variant,
    for example because the card does not have enough memory.
    """
    found: list[Ladder] = []
    groups = run.groups() if run.is_timed else {}
    above = above_ceiling(run) if groups else set()
    for pair in dict.fromkeys(key[:2] for key in groups):
        keys = [key for key in groups if key[:2] == pair]
        ordered = sorted(
            keys, key=lambda key: (_skipped(run, groups[key]), -max(p.bytes for p in groups[key]))
        )
        largest = groups[ordered[0]][0]
        found += [
            _ladder(run, key, measure_of(run, groups[key], largest), above) for key in ordered
        ]
    return found


def _skipped(run: Run, cases: list[Planned]) -> bool:
    return all(run.outcomes[p.case].status == "skipped" for p in cases)


def above_ceiling(run: Run) -> set[str]:
    """Cases that exceed a ceiling measured in the same run, which are measurement errors."""
    results = run.results
    return set(results.case[results.above_ceiling.eq(True)])


def _ladder(run: Run, key: Group, measure: Measure, above: set[str]) -> Ladder:
    timings, cases = run.timings, run.groups()[key]
    shorts = short_names(list(dict.fromkeys(p.variant for p in cases)))
    ranked = [p for p in timings.shown(key) if p.case not in above and run.time(p.case) is not None]
    reference = timings.reference(key)
    base = next((p for p in ranked if p.variant == reference), None)
    ours = [p for p in ranked if not p.is_library]
    best = min(ours, key=lambda p: _cold(run, p).value, default=None)
    rungs = [_rung(run, p, base, best, measure, shorts) for p in ranked]
    variants = [rung for rung in rungs if not rung.planned.is_library]
    libraries = [rung for rung in rungs if rung.planned.is_library]
    others = sorted(
        (r for r in variants if best and r.planned.case != best.case), key=lambda r: r.time.value
    )
    slower = [r for r in others if r.versus_winner and r.versus_winner.verdict == "slower"]
    return Ladder(
        key=key,
        sizes=cases[0].sizes,
        measure=measure,
        rungs=variants,
        libraries=sorted(libraries, key=lambda rung: rung.time.value),
        order=list(shorts),
        unranked=_unranked(run, cases, {p.variant for p in ranked}, shorts, above),
        baseline=next((r for r in variants if base and r.planned.case == base.case), None),
        substitute=timings.substitute(key) or "",
        winner=next((r for r in variants if best and r.planned.case == best.case), None),
        tied=[r for r in others if r not in slower],
        runner_up=next(iter(slower), None),
        noise=timings.noise(key, "cold"),
    )


def _cold(run: Run, p: Planned) -> Interval:
    time = run.time(p.case)
    assert time is not None  # only ranked cases get here
    return time


def _rung(
    run: Run,
    p: Planned,
    base: Planned | None,
    best: Planned | None,
    measure: Measure,
    shorts: dict[str, str],
) -> Rung:
    time = _cold(run, p)
    rate = Interval(*(measure.of(p, ns) for ns in (time.value, time.high, time.low)))
    steps = run.timings.step_times(p.case, "cold")
    names = p.kernels if len(p.kernels) == len(steps) else [
        f"launch {i + 1}" for i in range(len(steps))
    ]  # fmt: skip
    total = float(np.sum(steps))
    shares = [Share(name, ns, ns / total) for name, ns in zip(names, steps, strict=False)]
    parent = builds_on.parent(p, run.timings.shape)

    def versus(other: Planned | None) -> Comparison | None:
        return run.compare(p.case, other.case) if other and other.case != p.case else None

    roof = run.roof(p) if p.is_library or p.arithmetic else measure.roof
    return Rung(
        planned=p,
        short=shorts[p.variant],
        time=time,
        rate=rate,
        roof=roof,
        percent=100 * roof.least.value / time.value if roof else None,
        versus_baseline=versus(base),
        parent=parent,
        versus_parent=versus(parent),
        versus_winner=versus(best),
        spread=run.timings.spread(p.case, "cold"),
        steps=tuple(shares) if len(steps) > 1 else (),
        longest_rate=measure.of(p, max(steps)) if len(steps) > 1 else None,
    )


def _unranked(
    run: Run, cases: list[Planned], ranked: set[str], shorts: dict[str, str], above: set[str]
) -> list[Unranked]:
    found: dict[str, Unranked] = {}
    for p in cases:
        if p.variant in ranked or p.is_library:
            continue
        outcome = run.outcomes[p.case]
        failed = outcome.status == "failed" or p.case in above
        reason = outcome.reason
        if p.case in above:
            reason = ABOVE
        elif outcome.status == "ok":
            reason = "too few rounds for an interval"
        if p.variant not in found or (failed and not found[p.variant].failed):
            found[p.variant] = Unranked(p.variant, shorts[p.variant], reason, failed)
    return list(found.values())
