"""All changes in one case: outcome, time, machine code, registers, counters, source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.analysis.readings import Readings
from harness.comparison import regression_metrics
from harness.comparison.identity import Code, is_changed
from harness.comparison.lines import LineOfCode, place
from harness.comparison.pairs import Pair, Side
from harness.comparison.regression_metrics import Moved
from harness.comparison.sources import made_from, source_changed
from harness.comparison.times import TimeChange
from harness.journal.records import Compiled, Outcome

Kind = Literal[
    "newly faulty", "slower", "worse", "traded", "no longer run", "faster", "better", "mended",
    "changed", "unclear", "same", "identical", "not compared", "faulty in both", "not run", "new",
    "gone",
]  # fmt: skip
ORDER: Sequence[Kind] = Kind.__args__  # type: ignore[attr-defined]
"""The kinds of change, the most important first."""

CLOSING = frozenset({"newly faulty", "slower", "worse"})
"""The kinds of change that close a gate."""

APART = frozenset({"new", "gone", "not run", "no longer run", "not compared"})
"""The kinds of change in which nothing could be compared."""

What = Literal["spilled bytes", "local memory", "occupancy", "registers", "shared memory"]
DECIDES: Sequence[What] = ("spilled bytes", "local memory", "occupancy")
"""The facts that may close a gate. Registers and shared memory are not among them: they matter only
if fewer warps fit, or registers spill."""


@dataclass(frozen=True)
class Fact:
    """A property of one compiled kernel, before and after. `decides`: whether it closes a gate.

    `place`: the new source line responsible, if the machine code shows it.
    """

    what: What
    kernel: str
    base: float
    new: float
    is_worse: bool
    decides: bool
    place: LineOfCode | None = None


@dataclass(frozen=True)
class Change:
    """One pair and its verdict. `faults`: reasons for the outcomes before and after, empty if
    ok."""

    pair: Pair
    kind: Kind
    times: Sequence[TimeChange] = ()
    code: Code = "unknown"
    facts: Sequence[Fact] = ()
    moved: Sequence[Moved] = ()
    source: bool | None = None
    """Whether the variant's own file differs; None if the journal does not say."""
    made_from: Sequence[tuple[str, str, str]] = ()
    """Files, `nvcc` or `bench.yaml` that differ: name, hash or version before and after."""
    faults: tuple[str, str] = ("", "")
    remarks: Sequence[str] = ()
    """New remarks on the variant."""
    is_changed: bool = False
    """True if anything that may affect the cost differs."""

    @property
    def name(self) -> str:
        return self.pair.name

    @property
    def closes(self) -> bool:
        return self.kind in CLOSING

    @property
    def is_judged_by_time(self) -> bool:
        return any(t.ratio and t.verdict != "identical" for t in self.times)

    @property
    def hides(self) -> float:
        """The largest slowdown, as a fraction of the time, that the data neither shows nor rules
        out.
        """
        return 0.0 if self.kind == "slower" else max((t.hides for t in self.times), default=0.0)

    @property
    def worst(self) -> TimeChange | None:
        """The time change that decides the verdict: the largest among the cache states with that
        verdict."""
        found = [t for t in self.times if t.ratio]
        told = [t for t in found if t.verdict == self.kind] or found
        return max(told, key=lambda t: abs(t.ratio.value - 1) if t.ratio else 0.0, default=None)

    @property
    def weight(self) -> tuple[int, float]:
        """The sort key, which puts more important changes first."""
        time = self.worst
        size = abs(time.ratio.value - 1) if time and time.ratio else 0.0
        if not size:
            size = max((m.size for m in self.moved if m.decides), default=0.0)
        return ORDER.index(self.kind), -size


def one_sided(pair: Pair) -> Change:
    """A case present on only one side; a new one that fails is newly faulty."""
    if pair.new is None:
        return Change(pair, "gone")
    outcome = _outcome(pair.new)
    if outcome.status == "failed":
        return Change(pair, "newly faulty", faults=("", outcome.reason))
    return Change(pair, "new" if outcome.status == "ok" else "not run")


def change(
    pair: Pair,
    base: Side,
    new: Side,
    times: Sequence[TimeChange],
    readings: tuple[Readings, Readings],
    code: Code,
    *,
    comparable: bool,
    both_timed: bool,
) -> Change:
    """Determine the kind of change in a case that both sides have.

    `comparable`: whether the compiler's results and the counts are of the same architecture and
    method. `both_timed`: whether both runs are timed, so that times decide.
    """
    outcomes = _outcome(base), _outcome(new)
    faults = outcomes[0].reason, outcomes[1].reason
    about = made_from(base, new)
    source, differs = source_changed(base, new), is_changed(base, new, code)
    ended = _ended(*outcomes)
    facts = _facts(base, new, decide=not both_timed) if comparable else []
    if ended == "not run" and any(f.decides for f in facts):
        ended = "worse"  # compiler output decides, even at sizes that do not run
    if ended:
        told = facts if ended == "worse" else []
        return Change(pair, ended, (), code, told, (), source, about, faults, (), differs)
    moved = regression_metrics.moved(base, new, readings, both_timed) if comparable else []
    kind = _kind(times, facts, moved, code, comparable=comparable, both_timed=both_timed)
    return Change(pair, kind, times, code, facts, moved, source, about, ("", ""),
                  _new_remarks(base, new), differs)  # fmt: skip


def _outcome(side: Side) -> Outcome:
    return side.run.outcomes[side.case]


def _ended(base: Outcome, new: Outcome) -> Kind | None:
    """The kind of change that the two outcomes show; None if both cases are ok."""
    match base.status, new.status:
        case "ok", "ok":
            return None
        case "failed", "failed":
            return "faulty in both"
        case _, "failed":
            return "newly faulty"
        case "ok", _:
            return "no longer run"
        case "failed", "ok":
            return "mended"
        case _, "ok":
            return "new"
    return "not run"


def _kind(
    times: Sequence[TimeChange],
    facts: Sequence[Fact],
    moved: Sequence[Moved],
    code: Code,
    *,
    comparable: bool,
    both_timed: bool,
) -> Kind:
    if code == "identical":
        return "identical"
    said = {t.verdict for t in times}
    if "slower" in said:
        return "slower"
    improved = any(f.what in DECIDES and not f.is_worse for f in facts) or any(
        m.gauge.decides and m.is_exact and not m.is_worse for m in moved
    )
    traded = improved and not both_timed
    if any(f.decides for f in facts) or any(m.decides and not (traded and m.gauge.trades)
                                            for m in moved):  # fmt: skip
        return "worse"
    if any(m.decides for m in moved):
        return "traded"
    if "faster" in said:
        return "faster"
    if both_timed or not comparable:
        if not times or said == {"not compared"}:
            return "not compared"
        return "unclear" if "unclear" in said else "same"
    if improved:
        return "better"
    return "changed" if facts or moved else "same"


def _new_remarks(base: Side, new: Side) -> list[str]:
    def told(side: Side) -> list[str]:
        p = side.planned
        return [r.text for r in side.run.remarks.get((p.problem, p.variant), [])
                if r.dtype == p.dtype]  # fmt: skip

    before = told(base)
    return [text for text in told(new) if text not in before]


def _facts(base: Side, new: Side, *, decide: bool) -> list[Fact]:
    """Compare the compiler's results, launch by launch if both sides have the same number of
    launches.

    Otherwise compare each side's largest spills and stack use, and its lowest occupancy.
    """
    was, now = (side.run.compiled.get(side.case, []) for side in (base, new))
    if not was or not now:
        return []
    if len(was) != len(now):
        least, other = (min(made, key=lambda m: m.occupancy) for made in (was, now))
        return [
            *_local(max(was, key=_spilled), max(now, key=_spilled), new, decide),
            *_fact("occupancy", other, least.occupancy, other.occupancy, -1, decide),
        ]
    found = []
    for one, other in zip(was, now, strict=True):
        found += [
            *_local(one, other, new, decide),
            *_fact("occupancy", other, one.occupancy, other.occupancy, -1, decide),
            *_fact("registers", other, one.registers, other.registers, 1, decide),
            *_fact("shared memory", other, one.shared_bytes, other.shared_bytes, 1, decide),
        ]
    return sorted(found, key=lambda f: not f.decides)


def _spilled(made: Compiled) -> tuple[int, int]:
    return made.spill_bytes, made.stack_bytes


def _local(was: Compiled, now: Compiled, new: Side, decide: bool) -> list[Fact]:
    """Compare local memory: spilled registers, arrays, and arguments that calls pass on the stack.

    Spilled registers are on the stack too, so if spills and stack use moved in the same way, only
    the spills are reported.
    """
    at = place(new, now.local_at)
    spilled = _fact("spilled bytes", now, was.spill_bytes, now.spill_bytes, 1, decide, at)
    stack = _fact("local memory", now, was.stack_bytes, now.stack_bytes, 1, decide, at)
    return spilled + [f for f in stack if f.is_worse not in {s.is_worse for s in spilled}]


def _fact(
    what: What, made: Compiled, was: float, now: float, worse: int, decide: bool,
    at: LineOfCode | None = None,
) -> list[Fact]:  # fmt: skip
    if was == now:
        return []
    is_worse = worse * (now - was) > 0
    decides = is_worse and decide and what in DECIDES
    return [Fact(what, made.kernel, float(was), float(now), is_worse, decides,
                 at if is_worse else None)]  # fmt: skip
