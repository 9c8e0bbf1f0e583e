"""What a comparison says, in words: of a case, of a counter and its line, and of the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.comparison.changes import Change, Fact
from harness.comparison.gauges import Moved
from harness.comparison.judgement import CLOSED, FINE, Judgement
from harness.comparison.machines import Difference
from harness.comparison.times import TimeChange
from harness.measure.statistics import Interval
from harness.report import format as fmt
from harness.report.tables.cells import show
from harness.tables import Run

MEANINGS: Mapping[str, str] = {
    "newly faulty": "it failed, and did not before",
    "slower": "certainly slower, among all that was compared, and beyond the floor",
    "worse": "a counter that is exact, spills or occupancy got worse",
    "no longer run": "it was sound before, and was not run to its end now",
    "faster": "certainly faster, among all that was compared, and beyond the floor",
    "better": "a counter that is exact, spills or occupancy got better, and none worse",
    "mended": "it failed before, and is sound now",
    "changed": "something changed that decides nothing",
    "unclear": "neither a difference nor its absence is certain",
    "same": "timed: the whole interval lies within what the run calls the same; "
            "counted: nothing changed",
    "identical": "the same machine code, launched in the same way",
    "not compared": "its times may not be compared, or there are too few",
    "faulty in both": "it failed before, and fails now",
    "not run": "it was not run",
    "new": "only the new run has it",
    "gone": "only the base has it",
}  # fmt: skip
"""Kind of change → what it means."""

TOLD = ("newly faulty", "slower", "worse", "no longer run", "faster", "better", "mended", "changed")
"""What has a row of its own where there is little room; all else is counted in one line."""

_FOLDED = {
    "identical": "of identical machine code", "same": "the same", "unclear": "unclear",
    "not compared": "not compared", "faulty in both": "faulty in both", "not run": "not run",
    "new": "only in the new run", "gone": "only in the base",
}  # fmt: skip


def _share(value: float) -> str:
    return fmt.percent(100 * value)


_FACTS: Mapping[str, Callable[[float], str]] = {
    "shared memory": fmt.data, "spilled bytes": fmt.data, "occupancy": _share,
}  # fmt: skip

_MOST_NAMED = 3


def headline(judgement: Judgement) -> str:
    """The answer in a sentence."""
    counts, n = judgement.counts, len(judgement.compared)
    bad = [f"{counts[kind]} {kind}" for kind in ("newly faulty", "slower", "worse") if counts[kind]]
    good = [f"{counts[kind]} {kind}" for kind in ("faster", "better", "mended") if counts[kind]]
    of = f"of {n} compared {'case' if n == 1 else 'cases'}"
    if judgement.code == CLOSED:
        return f"{', '.join(bad)} {of}{'; ' + ', '.join(good) if good else ''}"
    if judgement.code != FINE:
        return f"Cannot tell: {judgement.untold[0]}"
    nothing = "Nothing is slower or newly faulty" if judgement.is_timed else (
        "Nothing is worse or newly faulty")  # fmt: skip
    return f"{nothing} {of}{'; ' + ', '.join(good) if good else ''}"


def percent_change(ratio: Interval) -> str:
    """`+2.1 % ± 0.3 %`; from half as long again, `1.80× ± 0.3 %`."""
    if ratio.value >= 1.5 or ratio.value <= 1 / 1.5:
        return fmt.ratio(ratio)
    part = 100 * (ratio.value - 1)
    size = fmt.percent(abs(part))
    sign = "" if part == 0 else "+" if part > 0 else "−"
    return f"{sign}{size} {fmt.within(ratio)}"


def time(change: TimeChange | None) -> str:
    """How much longer it takes; empty where nothing was compared."""
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
    text = f"{q.words} {show(q, each.base.value)} → {show(q, each.new.value)}"
    return f"{text} at {each.place}" if each.place else text


def fact(each: Fact) -> str:
    """`registers of block_sums 16 → 18`."""
    shown = _FACTS.get(each.what, fmt.count)
    return f"{each.what} of {each.kernel} {shown(each.base)} → {shown(each.new)}"


def closing(change: Change) -> list[str]:
    """Why a case closes a gate, each reason a clause."""
    if change.kind == "newly faulty":
        return [_first_line(change.faults[1])]
    times = [
        f"{time(t)} from a {t.cache} cache, {fmt.time(t.base.value)} → {fmt.time(t.new.value)}"
        for t in change.times
        if t.verdict == "slower"
    ]
    facts = [fact(f) for f in change.facts if f.decides]
    return [*times, *facts, *(moved(m) for m in change.moved if m.decides)]


def beside(change: Change) -> list[str]:
    """What else changed: machine code, source, registers, counters, remarks."""
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
    told += [moved(m) for m in change.moved if not m.decides]
    return told + [f"now {text}" for text in change.remarks]


def shortly(change: Change) -> str:
    """The first of what is told of a case, for a cell."""
    if change.kind in {"no longer run", "mended"}:
        return _first_line(change.faults[1] or change.faults[0])
    return next(iter([*closing(change), *beside(change)]), "")


@dataclass(frozen=True)
class Reason:
    """A reason that closes a gate, and the cases that share it; the worst case comes first."""

    kind: str
    text: str
    cases: Sequence[str]


def reasons(judgement: Judgement) -> list[Reason]:
    """Why the gate closes. One line of source costs many cases the same: it is told once."""
    found: dict[tuple[str, str, str], tuple[str, str, list[str]]] = {}
    for change in judgement.changes:
        if not change.closes:
            continue
        p = (change.pair.new or change.pair.base).planned  # type: ignore[union-attr]
        places = [(m.gauge.key + str(m.place), moved(m)) for m in change.moved
                  if m.decides and m.place]  # fmt: skip
        if change.kind == "worse" and places:
            told = [*places, *((t, t) for f in change.facts if f.decides for t in [fact(f)])]
        else:
            told = [(text, text) for text in closing(change)]
        for key, text in told:
            at = change.kind, f"{p.problem}/{p.variant}", key
            found.setdefault(at, (change.kind, text, []))[2].append(change.name)
    return [Reason(kind, text, cases) for kind, text, cases in found.values()]


def folded(judgement: Judgement) -> str:
    """All that has no row of its own, in one line."""
    counts = judgement.counts
    said = [f"{counts[kind]} {words}" for kind, words in _FOLDED.items() if counts[kind]]
    return ", ".join(said)


def looked_at(judgement: Judgement) -> Iterator[str]:
    """What was looked at, and how: for whoever must judge the judgement."""
    counts = judgement.counts
    n = len(judgement.compared)
    yield f"{n} {'case' if n == 1 else 'cases'} compared" + (
        f"; {counts['gone']} only in the base, {counts['new']} only in the new run"
        if counts["gone"] or counts["new"] else "") + (
        "; both sides in one run, interleaved" if judgement.in_rounds else "")  # fmt: skip
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
            f"equal kernels differed by up to {fmt.percent(100 * floor)} at "
            f"{' '.join(filter(None, group))}, {cache}: a change there must exceed that"
        )
    if judgement.withheld:
        yield f"no time is held against another: {judgement.withheld}"


def differences(found: Iterable[Difference]) -> list[str]:
    return [f"{d.what} {d.base} → {d.new}" for d in found]


def side(run: Run) -> str:
    """A run as a reader knows it: its folder's name, commit and date."""
    info = run.info
    commit = info.get("commit") or {}
    dirty = " with changes" if commit.get("dirty") else ""
    parts = [str(info.get("id") or run.folder.name), str(info.get("started", ""))[:10]]
    parts += [f"commit {commit['id'][:10]}{dirty}"] if commit.get("id") else []
    return ", ".join(filter(None, parts))


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
