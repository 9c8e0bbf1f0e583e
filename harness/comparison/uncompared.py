"""Changes between two runs that were not compared exactly and so cannot be judged.

An open gate means that nothing got worse. That is unknown for a kernel that changed and was not
counted, was counted only in PTX, or was not timed, and for a budget that no case checked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.analysis import budgets
from harness.analysis.finders import evaluate
from harness.analysis.readings import Missing, Reading, Readings
from harness.cases import how_many
from harness.comparison import identity, regression_metrics
from harness.comparison.changes import APART, Change
from harness.comparison.pairs import Side, suffix_of
from harness.comparison.regression_metrics import EXACT
from harness.journal.records import IN_PTX_ALONE
from harness.tables import Run

IN_PTX = "was counted in PTX alone, which differs from the machine code that a GPU executes"
BY_A_MODEL = "was counted by a model of the hardware, as its warps wait for what others do"
_SETTLED = frozenset({"newly faulty", "slower", "worse", "traded", "no longer run", "mended"})
"""Kinds of change that are reported separately, or leave nothing open."""


def cases(
    told: Iterable[Change], readings: tuple[Readings, Readings], timed: bool
) -> dict[str, str]:
    """Find the changed cases that cannot be judged, by name, with the reason.

    A comparison at one size also covers the other sizes at which the change is the same, because
    large sizes take the emulator too long; see _alike().
    """
    groups: dict[object, list[Change]] = defaultdict(list)
    for change in told:
        if change.is_changed and not _side(change).planned.is_library:
            groups[_alike(change)].append(change)
    found: dict[str, str] = {}
    for alike in groups.values():
        left = [_why_not(change, readings, timed) for change in alike]
        if all(left):
            found |= {change.name: why for change, why in zip(alike, left, strict=True)}
    return found


def changed(told: Iterable[Change], why: Mapping[str, str]) -> Iterator[str]:
    """Put the result of cases() into sentences, one per variant and reason. `why`: that result."""
    reasons = Counter((_variant(c), why[c.name]) for c in told if c.name in why)
    for (variant, reason), count in reasons.items():
        yield f"{variant} changed, and {reason} ({how_many(count)})"


def traded(told: Iterable[Change]) -> Iterator[str]:
    """Variants for which some counts improved and others got worse."""
    names = dict.fromkeys(_variant(change) for change in told if change.kind == "traded")
    for name in names:
        yield f"{name}: something got better and something else worse, and only a time weighs them"


def gone(told: Sequence[Change], base: str) -> Iterator[str]:
    """Variants or cases that only the base has, if both sides were to be compared in one run.

    A case is included only if its variant still exists.
    """
    there = {_variant(change) for change in told if change.pair.new}
    lost = [change for change in told if change.kind == "gone"]
    names = (c.name if _variant(c) in there else _variant(c) for c in lost)
    for name in dict.fromkeys(names):
        yield f"only {base} has {name}: nothing was compared with it"


def budgets_of(run: Run, readings: Readings) -> Iterator[str]:
    """Find budgets that no case of their variant could check, unless they may stay unchecked.

    In a timed run, only budgets that need no counters are considered, because such a run is judged
    by its times.
    """
    suffix = suffix_of(run)
    found: dict[tuple[str, str], list[budgets.Check]] = defaultdict(list)
    for check in budgets.checks(run, readings):
        if not (suffix and check.variant.endswith(suffix)):
            found[f"{check.problem}/{check.variant}", check.name].append(check)
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (variant, name), checks in found.items():
        open_ = [c for c in checks if _asks(run, c)]
        if open_ and len(open_) == len(checks):
            reasons[variant, open_[0].reason].append(name)
    for (variant, why), names in reasons.items():
        what = "budget" if len(names) == 1 else "budgets"
        yield f"{what} {', '.join(names)} of {variant} could not be checked: {why}"


def _asks(run: Run, check: budgets.Check) -> bool:
    """Return whether a budget that had to be checked was not."""
    if check.status != "not checked" or check.budget.may_be_unchecked:
        return False
    if run.outcomes[check.case].status == "failed":
        return False  # which is reported separately
    if check.case not in run.compiled:
        return False  # the matrix itself says that it does not run here
    return not run.is_timed or check.name in budgets.COMPILED


def _why_not(change: Change, readings: tuple[Readings, Readings], timed: bool) -> str:
    """Say why a change whose outcome is known cannot be judged; empty if it can."""
    if change.kind in _SETTLED:
        return ""
    if change.kind in APART or change.kind == "faulty in both":
        reason = next((t.reason for t in change.times if t.reason), "") or change.faults[1]
        what = {
            "faulty in both": "is as faulty as before",
            "new": "was not run in the base",
        }.get(change.kind, "was not compared")
        first = (reason or change.faults[0]).strip().splitlines()
        return f"{what}: {first[0]}" if first else what
    if timed or (change.pair.base is None or change.pair.new is None):
        return ""
    # If machine code was executed, its instructions and everything else were counted.
    sides = zip(readings, (change.pair.base, change.pair.new), strict=True)
    found = [evaluate("instructions", read, side.planned) for read, side in sides]
    if any(isinstance(answer, Missing) for answer in found):
        return "was not counted on both sides"
    origins = {answer.provenance for answer in found if isinstance(answer, Reading)}
    if "ptx-level" in origins:
        return _in_ptx(change)
    if not origins <= EXACT:
        return BY_A_MODEL
    worse = regression_metrics.unsure(change.pair.base, change.pair.new, readings)
    return f"its {worse[0].quantity.words} got worse by a model of the hardware" if worse else ""


def _in_ptx(change: Change) -> str:
    """Add the reason why the machine code was not executed, if either side states it."""
    for side in filter(None, (change.pair.new, change.pair.base)):
        p = side.planned
        for remark in side.run.remarks.get((p.problem, p.variant), []):
            what, _, why = remark.text.partition(": ")
            if remark.dtype == p.dtype and what == IN_PTX_ALONE:
                return f"{IN_PTX}: {why.splitlines()[0]}"
    return IN_PTX


def _alike(change: Change) -> object:
    """A key that cases share if comparing one of them covers the others.

    A change is the same at two sizes if the same machine code was replaced by the same, and each
    size's launches are what they were. Of changed launches nobody knows whether they do as much
    more at another size, so such a case shares its key with none.
    """
    p = _side(change).planned
    was, now = change.pair.base, change.pair.new
    made = [
        [made.loaded_sha256 or made.sass_sha256 for made in side.run.compiled.get(side.case, [])]
        for side in (was, now) if side
    ]  # fmt: skip
    is_known = all(hashes and all(hashes) for hashes in made)
    if not (was and now and is_known and identity.same_launches(was, now)):
        return change.name
    return repr((p.problem, change.pair.variant, p.dtype, sorted(p.launch.items()), made))


def _side(change: Change) -> Side:
    side = change.pair.new or change.pair.base
    assert side is not None
    return side


def _variant(change: Change) -> str:
    return f"{_side(change).planned.problem}/{change.pair.variant}"
