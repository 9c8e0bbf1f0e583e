"""Put a verdict into words, for people and for programs that learn from it: what is wrong, where,
and the smallest example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from harness import budgets
from harness.cases import how_many
from harness.judge.verdicts import Counterexample, Interval, Verdict

_TITLES = {
    "right": "right", "faster": "faster", "same": "the same", "slower": "slower",
    "wrong": "WRONG", "fault": "FAULT", "cheat": "CHEAT", "compile-error": "COMPILE ERROR",
    "cannot-tell": "CANNOT TELL",
}  # fmt: skip


def worded(verdict: Verdict) -> Verdict:
    """The verdict, with its text filled in."""
    return replace(verdict, text="\n  ".join(_lines(verdict)))


def _lines(v: Verdict) -> Iterator[str]:
    place = f" at {v.file}:{v.line}" if v.file and v.line else ""
    cause = f": {v.cause}" if v.cause else ""
    yield f"{v.kernel}: {_TITLES[v.verdict]}{cause}{place}{_told(v)}"
    yield from v.message.splitlines()
    if v.counterexample:
        yield _example(v.counterexample)
    if not v.is_right:
        return
    for budget in v.budgets:
        if budget.status == "broken" and budget.value is not None:
            where = f" at {budget.place}" if budget.place else ""
            shown = budgets.shown(budget.value)
            yield f"BUDGET {budget.name} is {shown}, expected {budget.expected}{where}"
        elif budget.status != "kept":
            yield f"BUDGET {budget.name} was not checked: {budget.reason}"
    yield from (f"loses: {loss}" for loss in v.losses)
    yield from v.remarks


def _told(v: Verdict) -> str:
    """A sentence that says how the kernel was verified, and its time if it was timed."""
    if not v.is_right:
        return ""
    parts = [f"{v.verified} launches verified at {how_many(len(v.verified_at), 'test size')}"]
    if v.speedup:
        parts.insert(0, f"{_interval(v.speedup)}×")
    if v.time_ns:
        parts.append(f"{v.time_ns.value / 1e3:.4g} µs")
    if v.bank_conflicts is not None:
        conflicts = budgets.shown(v.bank_conflicts) if v.bank_conflicts else "no"
        parts.append(f"{conflicts} bank conflicts")
    return f": {', '.join(parts)}"


def _interval(found: Interval) -> str:
    return f"{found.value:.3g} ({found.low:.3g} … {found.high:.3g})"


def _example(found: Counterexample) -> str:
    at = ", ".join(filter(None, [_named(found.sizes), found.dtype, _named(found.launch)]))
    if found.found is None or found.expected is None:
        return f"smallest that was tried: {at}"
    bound = f" ± {found.bound:.2g}" if found.bound is not None else ""
    return (
        f"smallest that was tried: {at}; {found.array}[{found.index}] = {found.found:.9g}, "
        f"expected {found.expected:.9g}{bound}"
    )


def _named(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in numbers.items())
