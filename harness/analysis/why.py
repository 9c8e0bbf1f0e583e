"""Why one case is faster than another: what moved between them, and whether that explains it.

A step of the ladder compares a variant with the one before it at one launch shape, the later
one's fastest, so that nothing but the idea differs; where the earlier one has no sound time at that
shape, each is taken at its own fastest, and the step says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from harness.analysis import rules
from harness.analysis.quantities import (
    QUANTITIES,
    Answer,
    Missing,
    Quantity,
    Reading,
    Readings,
)
from harness.measure.timings import Comparison
from harness.records import Planned
from harness.tables import Run

NOTABLE = 0.05
"""A quantity that moved by less than this part is not among those that moved most."""
_APPEARED = 10.0
"""What a change from or to zero ranks as, times."""


@dataclass(frozen=True)
class Change:
    """One quantity before and after."""

    quantity: Quantity
    before: Answer
    after: Answer

    @property
    def pair(self) -> tuple[float, float] | None:
        """Both values, where both exist and were counted in the same way."""
        b, a = self.before, self.after
        if isinstance(b, Missing) or isinstance(a, Missing) or b.provenance != a.provenance:
            return None
        return b.value, a.value

    @property
    def counted(self) -> bool:
        """Whether both values came from counters, and not from the compiler or the plan."""
        b = self.before
        return self.pair is not None and isinstance(b, Reading) and b.provenance != "measured"

    @property
    def matters(self) -> bool:
        """Whether the change, as a difference, is at least what the quantity's own scale asks."""
        return self.pair is not None and abs(self.pair[1] - self.pair[0]) >= self.quantity.least

    @property
    def moved(self) -> float:
        """By how many times, whichever way, as a logarithm; 0 where nothing is known."""
        if self.pair is None or self.pair[0] == self.pair[1]:
            return 0.0
        before, after = self.pair
        if before <= 0 or after <= 0:
            return math.log(_APPEARED)
        return abs(math.log(after / before))


@dataclass(frozen=True)
class Finding:
    """What the counters allow to be said of the cause.

    verdict: supported, unexplained, nothing (no difference to explain), uncounted, untimed or
    identical. `causes` are those of the rules that hold.
    """

    verdict: str
    causes: Sequence[str] = ()
    quantities: Sequence[str] = ()
    """Those of the causes."""


@dataclass(frozen=True)
class Step:
    """Two cases, the earlier and the later, and what lies between them."""

    before: Planned
    after: Planned
    speed: Comparison | None
    """How many times faster the later one is; None where nothing was timed."""
    same_shape: bool
    changes: Sequence[Change]
    finding: Finding
    identical: bool = False
    moved: Sequence[Change] = field(default_factory=tuple)


def compare(readings: Readings, before: Planned, after: Planned) -> Step:
    """The step from one case to another of the same problem and sizes."""
    run = readings.run
    speed = run.compare(after.case, before.case) if run.is_timed else None
    changes = [Change(q, q.find(readings, before), q.find(readings, after)) for q in QUANTITIES]
    same = identical(run, before, after)
    finding = _finding(readings, before, after, speed, changes, same)
    return Step(
        before, after, speed,
        same_shape=before.launch == after.launch,
        changes=changes,
        finding=finding,
        identical=same,
        moved=most_moved(changes, finding.quantities),
    )  # fmt: skip


def most_moved(
    changes: Sequence[Change], causes: Sequence[str] = (), most: int = 3
) -> list[Change]:
    """Those that moved most, the causes' first, one a family.

    What only follows from the time is not among them, nor what stays too small to matter.
    """
    able = [c for c in changes if c.quantity.kind != "consequence" and c.matters]
    ranked = sorted(able, key=lambda c: (c.quantity.key not in causes, -c.moved))
    found: list[Change] = []
    families: set[str] = set()
    for change in ranked:
        family = change.quantity.family or change.quantity.key
        if change.moved > math.log(1 + NOTABLE) and family not in families:
            families.add(family)
            found.append(change)
    return found[:most]


def identical(run: Run, before: Planned, after: Planned) -> bool:
    """Whether both cases run the same machine code, kernel by kernel.

    By the hash of each kernel's machine code where the journal has one, else by that of the whole
    compiled file, which differs with the file's name and so can only miss an identity.
    """
    pairs = []
    for p in (before, after):
        made = run.compiled.get(p.case, [])
        pairs.append([(c.kernel, getattr(c, "sass_sha256", "") or c.cubin_sha256) for c in made])
    return bool(pairs[0]) and pairs[0] == pairs[1]


def _finding(
    readings: Readings,
    before: Planned,
    after: Planned,
    speed: Comparison | None,
    changes: Sequence[Change],
    same: bool,
) -> Finding:
    if speed is None:
        return Finding("untimed")
    if speed.ratio is None or speed.verdict not in {"faster", "slower"}:
        return Finding("nothing")
    faster = speed.verdict == "faster"
    factor = speed.ratio.value if faster else 1 / speed.ratio.value
    pairs = {
        c.quantity.key: rules.Pair(*(c.pair if faster else c.pair[::-1]))
        for c in changes
        if c.pair is not None
    }
    held = rules.causes(pairs, factor)
    causes = [rule.cause for rule in held]
    slow, fast = (before, after) if faster else (after, before)
    causes += _launches(readings, slow, fast)
    if causes:
        return Finding("supported", causes, [rule.quantity for rule in held])
    if same and before.launch == after.launch:
        return Finding("identical")
    if not any(c.counted for c in changes):
        return Finding("uncounted")
    return Finding("unexplained")


def _launches(readings: Readings, slow: Planned, fast: Planned) -> list[str]:
    """Whether the launches that were saved had cost about what was saved."""
    steps, fewer = (readings.run.timings.step_times(p.case, "cold") for p in (slow, fast))
    lost = (len(slow.kernels) or len(steps)) - (len(fast.kernels) or max(len(fewer), 1))
    if lost < 1 or len(steps) < 2:
        return []
    times = [readings.run.time(p.case) for p in (slow, fast)]
    if times[0] is None or times[1] is None:
        return []
    saved = times[0].value - times[1].value
    cost = sum(sorted(steps)[:lost])
    low, high = rules.LAUNCH_SHARE
    return ["a launch fewer"] if low * cost <= saved <= high * cost else []


def ladder_steps(readings: Readings, group: Sequence[Planned]) -> list[Step]:
    """Each variant of a ladder with the one before it, in the matrix's order."""
    run = readings.run
    sound = [p for p in group if not p.is_library and run.outcomes[p.case].status == "ok"]
    able = [p for p in sound if _usable(readings, p)]
    best = run.timings.fastest(able) if run.is_timed else middle_shapes(able)
    found = []
    for before, after in pairwise(best):
        if line(before.variant) != line(after.variant):
            continue
        peers = [
            p
            for p in sound
            if p.variant == before.variant and p.launch == after.launch and _usable(readings, p)
        ]
        found.append(compare(readings, peers[0] if peers else before, after))
    return found


def middle_shapes(cases: Sequence[Planned]) -> list[Planned]:
    """Each variant at its middle launch shape, as planned: where nothing says which is fastest."""
    by_variant: dict[str, list[Planned]] = {}
    for p in cases:
        by_variant.setdefault(p.variant, []).append(p)
    return [shapes[(len(shapes) - 1) // 2] for shapes in by_variant.values()]


def shape_steps(readings: Readings, group: Sequence[Planned]) -> list[Step]:
    """Each variant's slowest against its fastest launch shape, where they are told apart."""
    run = readings.run
    found = []
    for variant in dict.fromkeys(p.variant for p in group if not p.is_library):
        cases = [
            p
            for p in group
            if p.variant == variant
            and run.outcomes[p.case].status == "ok"
            and run.is_timed
            and _usable(readings, p)
        ]
        if len(cases) < 2:
            continue
        ordered = sorted(cases, key=lambda p: _median(readings, p))
        step = compare(readings, ordered[-1], ordered[0])
        if step.speed and step.speed.verdict == "faster":
            found.append(step)
    return found


def _median(readings: Readings, p: Planned) -> float:
    time = readings.run.time(p.case)
    return time.value if time else math.inf


def _usable(readings: Readings, p: Planned) -> bool:
    """Timed with an interval, or in a run without times, counted."""
    if readings.run.is_timed:
        return math.isfinite(_median(readings, p))
    return p.case in readings.counted


def line(variant: str) -> str:
    """`v` of `v12_…`: a trap `t1_…` does not follow from the ladder's last variant."""
    return variant[: next((i for i, c in enumerate(variant) if not c.isalpha()), len(variant))]
