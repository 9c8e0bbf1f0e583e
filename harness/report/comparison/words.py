"""A comparison in words: for a case, for a counter and its line, and for the whole comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.cases import how_many
from harness.comparison.changes import Change, Fact
from harness.comparison.judgement import CLOSED, FINE, Judgement
from harness.comparison.machines import Difference
from harness.comparison.regression_metrics import Moved
from harness.comparison.run_level import Level
from harness.comparison.times import TimeChange
from harness.report import format as fmt
from harness.report.tables.cells import show
from harness.statistics.intervals import Interval
from harness.tables import Run

MEANINGS: Mapping[str, str] = {
    "newly faulty": "it failed, and did not before",
    "slower": "certainly slower, among all that was compared, by more than is called the same, "
              "and beyond the floor",
    "worse": "a counter that is exact, spills, local memory or occupancy got worse",
    "traded": "counters that are exact got better, and others worse: only a time can weigh them",
    "no longer run": "it was sound before, and was not run to its end now",
    "faster": "certainly faster, among all that was compared, by more than is called the same, "
              "and beyond the floor",
    "better": "a counter that is exact, spills, local memory or occupancy got better, and none "
              "worse",
    "mended": "it failed before, and is sound now",
    "changed": "something changed that decides nothing",
    "unclear": "neither a difference nor its absence is certain",
    "same": "timed: the whole interval lies within what the run calls the same; "
            "counted: nothing changed",
    "identical": "the same machine code and data, launched in the same way on the same inputs",
    "not compared": "its times may not be compared, or there are too few",
    "faulty in both": "it failed before, and fails now",
    "not run": "it was not run",
    "new": "only the new run has it",
    "gone": "only the base has it",
}  # fmt: skip
"""Kind of change → what it means."""

TOLD = (
    "newly faulty", "slower", "worse", "traded", "no longer run", "faster", "better", "mended",
    "changed",
)  # fmt: skip
"""Kinds of change that get their own row even if there is little room; the others are only counted,
in one line."""

_FOLDED = {
    "identical": "of identical machine code", "same": "the same", "unclear": "unclear",
    "not compared": "not compared", "faulty in both": "faulty in both", "not run": "not run",
    "new": "only in the new run", "gone": "only in the base",
}  # fmt: skip


def _share(value: float) -> str:
    return fmt.percent(100 * value)


_FACTS: Mapping[str, Callable[[float], str]] = {
    "shared memory": fmt.data, "spilled bytes": fmt.data, "local memory": fmt.data,
    "occupancy": _share,
}  # fmt: skip

_MOST_NAMED = 3


def headline(judgement: Judgement) -> str:
    """The answer in a sentence."""
    counts, n = judgement.counts, len(judgement.compared)
    if judgement.code not in {FINE, CLOSED}:
        return f"Cannot tell: {judgement.untold[0]}"
    bad = [_are(counts[kind], kind) for kind in ("newly faulty", "slower", "worse") if counts[kind]]
    good = [_are(counts[kind], kind) for kind in ("faster", "better", "mended") if counts[kind]]
    none = f"none is {'slower' if judgement.is_timed else 'worse'} or newly faulty"
    parts = [", ".join(bad) or none, *([", ".join(good)] if good else [])]
    return f"Of {how_many(n)} compared, {'; '.join(parts)}{_told(judgement)}"


def _told(judgement: Judgement) -> str:
    """Say in how many cases the slowdown to be found is not ruled out; empty if there are none."""
    hiding = sum(change.hides > judgement.min_effect for change in judgement.changes)
    if not hiding:
        return ""
    timed = sum(change.is_judged_by_time for change in judgement.changes)
    least = f"{100 * judgement.min_effect:g}{fmt.THIN}%"
    return f"; {least} slower is not excluded in {hiding} of {timed}"


def _are(count: int, kind: str) -> str:
    return f"{count} {'is' if count == 1 else 'are'} {kind}"


def percent_change(ratio: Interval) -> str:
    """`+2.1 % ± 0.3 %` or, for a factor of 1.5 or more, `1.80× ± 0.3 %`."""
    if ratio.value >= 1.5 or ratio.value <= 1 / 1.5:
        return fmt.ratio(ratio)
    part = 100 * (ratio.value - 1)
    size = fmt.percent(abs(part))
    sign = "" if part == 0 else "+" if part > 0 else "−"
    return f"{sign}{size} {fmt.within(ratio)}"


def time(change: TimeChange | None) -> str:
    """The additional time that the case takes, in words; empty if nothing was compared."""
    return percent_change(change.ratio) if change and change.ratio else ""


def of_cache(change: Change, cache: str) -> TimeChange | None:
    return next((t for t in change.times if t.cache == cache), None)


def rate(change: TimeChange | None) -> str:
    """`4,380 → 4,310 GB/s`."""
    if change is None or change.base_gbps is None or change.new_gbps is None:
        return ""
    return f"{fmt.three(change.base_gbps)} → {fmt.three(change.new_gbps)}{fmt.THIN}GB/s"


def moved(each: Moved) -> str:
    """`shared-memory wavefronts over the ideal 1.00× → 16.5× at v3.cu:31`."""
    q = each.gauge.quantity
    was, now = (show(q, r.value) if r else "none" for r in (each.base, each.new))
    text = f"{q.words} {was} → {now}"
    return f"{text} at {each.place}" if each.place else text


def fact(each: Fact) -> str:
    """`registers of block_sums 16 → 18`."""
    shown = _FACTS.get(each.what, fmt.count)
    text = f"{each.what} of {each.kernel} {shown(each.base)} → {shown(each.new)}"
    return f"{text} at {each.place}" if each.place else text


def closing(change: Change) -> list[str]:
    """The reasons why a case closes a gate, one clause each."""
    return [text for _, text in _keyed(change)] if change.closes else []


def beside(change: Change) -> list[str]:
    """The other changes of a case: machine code, source, registers, counters, remarks."""
    told = [] if change.code != "identical" else ["identical machine code"]
    files = [name for name, _, _ in change.made_from if name not in {"bench.yaml", "nvcc"}]
    if files:
        told.append(f"changed: {listed(files)}")
    elif change.source:
        told.append("its source changed")
    for name, was, now in change.made_from:
        if name == "nvcc":
            told.append(f"nvcc {was or 'unknown'} → {now or 'unknown'}")
        elif name == "bench.yaml":
            told.append("bench.yaml says something else of it")
    told += [fact(f) for f in change.facts if not f.decides]
    told += [moved(m) for m in change.moved if not m.decides or change.kind == "traded"]
    return told + [f"now {text}" for text in change.remarks]


def shortly(change: Change) -> str:
    """The most important statement about a case, short enough for a table cell."""
    if change.kind in {"no longer run", "mended"}:
        return _first_line(change.faults[1] or change.faults[0])
    return next(iter([*closing(change), *beside(change)]), "")


@dataclass(frozen=True)
class Reason:
    """A reason that closes a gate, and the cases that share it, the worst first."""

    kind: str
    text: str
    cases: Sequence[str]


def reasons(judgement: Judgement) -> list[Reason]:
    """The reasons why the gate closes, each once per variant; the worst of its cases comes
    first."""
    found: dict[tuple[str, str, str], Reason] = {}
    for change in judgement.changes:
        for key, text in _keyed(change) if change.closes else []:
            at = change.kind, "/".join(change.name.split("/")[:2]), key
            cases = found[at].cases if at in found else []
            first = found[at].text if at in found else text
            found[at] = Reason(change.kind, first, [*cases, change.name])
    return list(found.values())


def _keyed(change: Change) -> Iterator[tuple[str, str]]:
    """The reason why a case closes a gate: the key that equal reasons share, and the reason in
    words."""
    if change.kind == "newly faulty":
        text = _first_line(change.faults[1])
        yield text, text
        return
    slowest = change.worst
    if change.kind == "slower" and slowest:
        was, now = fmt.time(slowest.base.value), fmt.time(slowest.new.value)
        yield "time", f"{time(slowest)} from a {slowest.cache} cache, {was} → {now}"
    for f in change.facts:
        if f.decides:
            yield f"{f.what} of {f.kernel}", fact(f)
    for m in change.moved:
        if m.decides:
            yield f"{m.gauge.key} at {m.place}", moved(m)


def folded(judgement: Judgement) -> str:
    """The changes without their own row, summarised in one line."""
    counts = judgement.counts
    said = [f"{counts[kind]} {words}" for kind, words in _FOLDED.items() if counts[kind]]
    return ", ".join(said)


def looked_at(judgement: Judgement) -> Iterator[str]:
    """Say what was compared, and how, for readers who have to assess the verdict."""
    counts = judgement.counts
    n = len(judgement.compared)
    parts = [f"{how_many(n)} compared"]
    parts += [f"{counts[kind]} {_FOLDED[kind]}" for kind in ("gone", "new") if counts[kind]]
    parts += ["both sides in one run, interleaved"] if judgement.in_rounds else []
    yield "; ".join(parts)
    looked = judgement.looked
    if looked.confidence is not None and looked.family:
        what = "relative to each run's own baseline " if judgement.relative else ""
        yield (
            f"{looked.family} times {what}are one family (Holm): each interval is at "
            f"{fmt.percent(100 * looked.confidence)}, and the chance that any verdict is false "
            f"stays below {fmt.percent(100 * judgement.new.timings.error)}"
        )
    for (group, cache), floor in (looked.floors or {}).items():
        yield (
            f"a change of {' '.join(filter(None, group))}, {cache}, must exceed "
            f"{fmt.percent(100 * floor)}: equal kernels differed by that, or too few variants tell "
            "what a run adds to each"
        )
    for (group, cache), level in looked.levels.items():
        if level.luck is not None:
            yield (
                f"the new run as a whole is {_moved(level)} at "
                f"{' '.join(filter(None, group))}, {cache}, and adds "
                f"{fmt.percent(100 * level.luck)} to each case by chance; the first is taken off, "
                "the second allowed for"
            )
    sides = [("base", judgement.base), ("new run", judgement.new)]
    for name, run in sides[judgement.in_rounds :]:
        yield from (f"{name}: {text}" for text in run.info.get("warnings") or [])
    if judgement.withheld:
        yield f"no time is held against another: {judgement.withheld}"


def _moved(level: Level) -> str:
    part = math.expm1(level.moved)
    return f"{fmt.percent(100 * abs(part))} {'slower' if part > 0 else 'faster'}"


def differences(found: Iterable[Difference]) -> list[str]:
    return [f"{d.what} {d.base} → {d.new}" for d in found]


def side(run: Run) -> str:
    """Describe a run for a reader: its folder's name, commit and date."""
    info = run.info
    commit = info.get("commit") or {}
    dirty = " with changes" if commit.get("dirty") else ""
    parts = [str(info.get("id") or run.folder.name), str(info.get("started", ""))[:10]]
    parts += [f"commit {commit['id'][:10]}{dirty}"] if commit.get("id") else []
    return ", ".join(filter(None, parts))


def sides(judgement: Judgement) -> list[tuple[str, str]]:
    """Describe `base` and `new`: each is a run, or a commit whose kernels are in the new run."""
    base = side(judgement.base)
    if judgement.in_rounds:
        beside = judgement.new.info.get("beside") or {}
        commit = str(beside.get("commit") or "")[:10]
        base = ", commit ".join(filter(None, [str(beside.get("base") or "the base"), commit]))
    return [("base", base), ("new", side(judgement.new))]


def device(run: Run) -> str:
    return str((run.info.get("device") or {}).get("name") or "an unknown device")


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def and_more(cases: Sequence[str]) -> str:
    """`reduce_sum/v3/… and 5 more`."""
    return cases[0] + (f" and {len(cases) - 1} more" if len(cases) > 1 else "")


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else ""
