"""What the timed figures, tables and sentences say, worked out once: a ladder for each size.

A ladder holds every variant at its fastest launch shape, compared round by round with the baseline
at its fastest, with the variant before it, and with the library. Only verified results that stay
under the machine's ceiling are in it; the rest are listed with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.analysis.why import line
from harness.measure.statistics import Interval
from harness.measure.timings import Comparison
from harness.records import Ceiling, Planned
from harness.report.anchors import short_names
from harness.tables import Run


@dataclass(frozen=True)
class Measure:
    """What a problem is rated in: GB/s of compulsory traffic, or GFLOP/s where arithmetic binds."""

    name: str
    unit: str
    bound: str
    """What the ceiling is called."""
    ceiling: Ceiling | None

    def of(self, p: Planned, ns: float) -> float:
        """GB/s or GFLOP/s: a number of units a nanosecond is that number of giga-units a second."""
        return (p.flops if self.unit == "GFLOP/s" else p.bytes) / ns

    @property
    def limit(self) -> Interval | None:
        c = self.ceiling
        return Interval(c.value / 1e9, c.low / 1e9, c.high / 1e9) if c else None


@dataclass(frozen=True)
class Rung:
    """One variant at its fastest launch shape, or the library."""

    planned: Planned
    short: str
    time: Interval
    """Cold, ns."""
    rate: Interval
    percent: float | None
    """Of the ceiling."""
    versus_baseline: Comparison | None
    versus_previous: Comparison | None
    previous: str | None
    steps: tuple[tuple[str, float], ...] = ()
    """Each launch's kernel and share of the launches' time; empty for a single launch."""
    longest_rate: float | None = None
    """What the rate would be if the longest launch were all."""

    @property
    def longest(self) -> float | None:
        """The longest launch's share."""
        return max((share for _, share in self.steps), default=None)


@dataclass(frozen=True)
class Unranked:
    """A variant with no place on the ladder, and why."""

    variant: str
    short: str
    reason: str
    failed: bool


@dataclass(frozen=True)
class Ladder:
    problem: str
    dtype: str
    key: tuple[str, str, str]
    sizes: dict[str, int]
    measure: Measure
    rungs: list[Rung]
    unranked: list[Unranked]
    order: list[str]
    """Every variant, as the matrix lists them."""
    baseline: Rung | None
    library: Rung | None
    winner: Rung | None
    tied: list[Rung]
    """Those that the winner is not shown to be faster than."""
    winner_versus_library: Comparison | None
    floor: float

    @property
    def rows(self) -> list[Rung | Unranked]:
        """Ranked or not, in the matrix's order."""
        every: dict[str, Rung | Unranked] = {r.planned.variant: r for r in self.rungs}
        every |= {u.variant: u for u in self.unranked}
        return [every[variant] for variant in self.order if variant in every]


def measure_of(run: Run, cases: list[Planned]) -> Measure:
    """By the largest case: what bounds it is what its flops and bytes say, given the ceilings."""
    largest = max(cases, key=lambda p: p.bytes)
    read, fp32 = run.ceilings.get("read_bandwidth"), run.ceilings.get("fp32_rate")
    if not (read and fp32 and largest.dtype == "float32"):
        return Measure("Bandwidth", "GB/s", "read ceiling", read)
    if largest.flops * read.value > largest.bytes * fp32.value:
        return Measure("Arithmetic rate", "GFLOP/s", "FP32 ceiling", fp32)
    return Measure("Bandwidth", "GB/s", "read ceiling", read)


def ladders(run: Run, cache: str = "cold") -> list[Ladder]:
    """Every problem and dtype's ladders, the largest size first."""
    found: list[Ladder] = []
    groups = run.groups()
    for pair in dict.fromkeys(key[:2] for key in groups):
        keys = [key for key in groups if key[:2] == pair]
        ordered = sorted(keys, key=lambda key: -max(p.bytes for p in groups[key]))
        measure = measure_of(run, [p for key in ordered for p in groups[key]])
        found += [_ladder(run, key, groups[key], measure, cache) for key in ordered]
    return found


def _ladder(
    run: Run, key: tuple[str, str, str], cases: list[Planned], measure: Measure, cache: str
) -> Ladder:
    shorts = short_names(list(dict.fromkeys(p.variant for p in cases)))
    ranked = [p for p in cases if _ranked(run, p, cache)]
    best = run.timings.fastest(ranked, cache)
    base = next((p for p in best if p.is_baseline), None)
    rungs: list[Rung] = []
    for p in best:
        before = rungs[-1].planned if rungs and not p.is_library else None
        same_line = before and line(before.variant) == line(p.variant)
        rungs.append(_rung(run, p, base, before if same_line else None, measure, shorts, cache))
    variants = [rung for rung in rungs if not rung.planned.is_library]
    library = next((rung for rung in rungs if rung.planned.is_library), None)
    winner = min(variants, key=lambda rung: rung.time.value, default=None)
    tied: list[Rung] = []
    if winner:
        others = sorted((r for r in variants if r is not winner), key=lambda r: r.time.value)
        tied = [r for r in others if _versus(run, winner, r, cache).verdict != "faster"]
    return Ladder(
        problem=key[0],
        dtype=key[1],
        key=key,
        sizes=cases[0].sizes,
        measure=measure,
        rungs=variants,
        order=list(shorts),
        unranked=_unranked(run, cases, {p.variant for p in best}, shorts, cache),
        baseline=next((r for r in variants if r.planned.is_baseline), None),
        library=library,
        winner=winner,
        tied=tied,
        winner_versus_library=_versus(run, winner, library, cache) if winner and library else None,
        floor=run.timings.noise(key, cache),
    )


def _versus(run: Run, rung: Rung, other: Rung, cache: str) -> Comparison:
    return run.compare(rung.planned.case, other.planned.case, cache)


def above_ceiling(run: Run) -> set[str]:
    """Cold cases that beat a ceiling measured in the same run: errors of measurement."""
    results, fp32 = run.results, run.ceilings.get("fp32_rate")
    above = results.above_ceiling.eq(True)
    if fp32:
        timed = results.ci_high_ns.notna() & results["dtype"].eq("float32")
        fastest = timed & results.cache.eq("cold")
        above |= fastest & (results.flops / results.ci_high_ns.astype(float) > fp32.high / 1e9)
    return set(results.case[above])


def _ranked(run: Run, p: Planned, cache: str) -> bool:
    return (
        run.outcomes[p.case].status == "ok"
        and run.time(p.case, cache) is not None
        and p.case not in above_ceiling(run)
    )


def _rung(
    run: Run,
    p: Planned,
    base: Planned | None,
    before: Planned | None,
    measure: Measure,
    shorts: dict[str, str],
    cache: str,
) -> Rung:
    time = run.time(p.case, cache)
    assert time is not None  # only ranked cases come here
    rate = Interval(*(measure.of(p, ns) for ns in (time.value, time.high, time.low)))
    steps = run.timings.step_times(p.case, cache)
    several = len(steps) > 1
    names = (
        p.kernels
        if len(p.kernels) == len(steps)
        else [f"launch {i + 1}" for i in range(len(steps))]
    )
    shares = [ns / float(np.sum(steps)) for ns in steps] if several else []
    bound = measure.limit if cache == "cold" else None
    return Rung(
        planned=p,
        short=shorts[p.variant],
        time=time,
        rate=rate,
        percent=100 * rate.value / bound.value if bound else None,
        versus_baseline=run.compare(p.case, base.case, cache)
        if base and not p.is_baseline
        else None,
        versus_previous=run.compare(p.case, before.case, cache) if before else None,
        previous=shorts[before.variant] if before else None,
        steps=tuple(zip(names, shares, strict=False)),
        longest_rate=measure.of(p, max(steps)) if several else None,
    )


def _unranked(
    run: Run, cases: list[Planned], ranked: set[str], shorts: dict[str, str], cache: str
) -> list[Unranked]:
    found: dict[str, Unranked] = {}
    above = above_ceiling(run)
    for p in cases:
        if p.variant in ranked or p.is_library:
            continue
        outcome = run.outcomes[p.case]
        failed = outcome.status == "failed" or p.case in above
        reason = outcome.reason
        if p.case in above:
            reason = "faster than the ceiling measured in this run: an error of measurement"
        elif outcome.status == "ok":
            reason = f"too few {cache} rounds for an interval"
        if p.variant not in found or (failed and not found[p.variant].failed):
            found[p.variant] = Unranked(p.variant, shorts[p.variant], reason, failed)
    return list(found.values())
