"""Explain why a variant is faster than the one that it builds on, in words and tables for a
page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.causes import rules
from harness.analysis.causes.time_spent import WORDS
from harness.analysis.causes.why import Change, Finding, LadderStep
from harness.analysis.lines.sources import Difference, difference
from harness.analysis.readings import Reading
from harness.quantities import QUANTITIES
from harness.report import counts
from harness.report import format as fmt
from harness.report.anchors import case_anchor, slug
from harness.report.tables.cells import (
    Cell,
    Column,
    Row,
    Table,
    compared,
    named,
    none,
    quantity_cell,
    shape,
    show,
)
from harness.statistics.timings import Comparison
from harness.tables import Run

MOST = 3
"""The maximum number of causes that a sentence names."""


@dataclass(frozen=True)
class Moved:
    """A quantity that changed, in words. `soft`: whether it was not counted exactly, and so cannot
    explain anything."""

    text: str
    soft: bool


@dataclass(frozen=True)
class Block:
    """One step as the page presents it."""

    anchor: str
    before: str
    after: str
    """The short names of the two variants."""
    links: tuple[str, str]
    speed: str
    verdict: str
    note: str
    """A note on the launch shapes at which the two are compared."""
    moved: list[Moved]
    cause: str
    limits: str
    """The unit whose roof is nearest and the warps' main stall reason, for each side."""
    table: Table
    unchanged: list[str]
    """The quantities that are equal on both sides."""
    diff: Difference | None


def block(run: Run, step: LadderStep, shorts: Mapping[str, str], with_diff: bool) -> Block:
    before, after = shorts[step.before.variant], shorts[step.after.variant]
    return Block(
        anchor=f"why-{slug(step.after.case)}",
        before=before,
        after=after,
        links=(f"#{case_anchor(step.before.case)}", f"#{case_anchor(step.after.case)}"),
        speed=_speed(step.speed),
        verdict=step.speed.verdict if step.speed else "",
        note=_note(step, before, after),
        moved=moved(step),
        cause=" ".join(filter(None, (cause(step, before, after), idea(step, after)))),
        limits=limits(step, before, after),
        table=_changes(step, before, after),
        unchanged=[c.quantity.title for c in step.changes if _alike(c)],
        diff=difference(run, step.before, step.after) if with_diff else None,
    )


def _speed(speed: Comparison | None) -> str:
    if speed is None:
        return ""
    if speed.ratio is None:
        return "not compared: too few rounds"
    return f"{fmt.ratio(speed.ratio)}, {fmt.verdict(speed.verdict)}"


def _note(step: LadderStep, before: str, after: str) -> str:
    if not step.after.launch and not step.before.launch:
        return ""
    if step.same_shape:
        return f"both at {shape(step.after)}"
    shapes = [shape(p) or "a launch shape of its own" for p in (step.before, step.after)]
    chosen = ", where each was fastest" if step.speed else ""
    return f"{before} at {shapes[0]}, {after} at {shapes[1]}{chosen}"


def moved(step: LadderStep) -> list[Moved]:
    """The largest changes, each in words that can be checked against the table."""
    return [Moved(counts.moved(change), not change.judges) for change in step.moved]


def relieved(step: LadderStep) -> str:
    """The quantity of the first cause, in words that can be checked against the table; empty if no
    cause is named.

    For a step without times, the later case has less of this quantity; for a timed step, the slower
    case has more.
    """
    for each in step.finding.causes:
        change = step.change(each.quantity)
        if change is not None and change.pair is not None:
            return counts.moved(change)
    return ""


def cause(step: LadderStep, before: str, after: str) -> str:
    """The verdict on the cause, which claims no more than the rules allow."""
    finding, speed = step.finding, step.speed
    same = "Both run identical machine code" if step.identical else ""
    alike = step.before.variant == step.after.variant
    if finding.verdict == "supported":
        faster = after if speed and speed.verdict == "faster" else before
        causes = _listed([c.text for c in finding.causes][:MOST])
        if alike:
            return f"The counters say: {causes}."
        launch = f"{same}; only the launch differs. " if same else ""
        return f"{launch}The counters say why: {faster} has {causes}."
    return {
        "unexplained": "No counter that was collected explains this.",
        "identical": f"{same}, launched in the same way: the kernel is not the cause.",
        "nothing": f"{same or 'The two are not told apart'}, so there is nothing to explain.",
        "untimed": f"{same}." if same else _exchange(finding, before, after),
        "uncounted": f"{same}." if same and not alike else "",
    }[finding.verdict]


def _exchange(finding: Finding, before: str, after: str) -> str:
    """Say which quantities a step without times improved and which it made worse, without a
    statement on speed."""
    sides = [
        f"{name} has {_listed([each.text for each in causes][:MOST])}"
        for name, causes in ((after, finding.causes), (before, finding.other_way))
        if causes
    ]
    return "; ".join(sides) + "." if sides else ""


def idea(step: LadderStep, after: str) -> str:
    """The sentence that relates the causes to the idea that the later case states."""
    word = step.idea
    if word in ("", "none"):
        return ""
    unseen = "" if word in step.finding.shown else ", which nothing that was counted shows"
    if step.after.is_trap:
        return {
            "yes": f"It is a trap, and that is what it spoils: {word}.",
            "against": f"It is a trap that is to spoil {word}, and is better at it here.",
            "outweighed": f"It is a trap that spoils {word}, which something else outweighs here.",
        }.get(step.agrees, f"It is a trap that is to spoil {word}.")
    return {
        "yes": f"That is the idea of {after}: {word}.",
        "no": f"The idea of {after}, {word}, is not among them.",
        "outweighed": f"It is better at its idea, {word}, which something else outweighs.",
        "no gain": f"Its idea, {word}, gained nothing that was counted.",
        "against": f"Its idea is {word}, and that is what it is worse at here.",
    }.get(step.agrees, f"The idea of {after} is {word}{unseen}.")


def limits(step: LadderStep, before: str, after: str) -> str:
    """The unit with the nearest roof and the most frequent stall reason, for each side."""
    told = []
    for name, spent in zip((before, after), step.spent, strict=True):
        if spent is None or not (limit := spent.limit):
            continue
        text = f"{name} keeps {limit[0]} busy for {fmt.percent(100 * limit[1])} of its time"
        if wait := spent.longest_wait:
            text += f", and its warps wait most for {wait[0]} ({fmt.percent(100 * wait[1])})"
        told.append(text)
    return "; ".join(told) + "." if told else ""


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _changes(step: LadderStep, before: str, after: str) -> Table:
    columns = [
        Column("quantity", numeric=False), Column(before), Column(after),
        Column("change", "after over before"),
    ]  # fmt: skip
    rows = [
        Row(
            [
                Cell(c.quantity.title, title=c.quantity.meaning),
                quantity_cell(c.quantity, c.before),
                quantity_cell(c.quantity, c.after),
                _factor(c),
            ]
        )
        for c in step.changes
        if (isinstance(c.before, Reading) or isinstance(c.after, Reading)) and not _alike(c)
    ]
    return Table(f"changes-{slug(step.after.case)}", f"{before} → {after}", columns, rows)


def _alike(change: Change) -> bool:
    return change.pair is not None and change.pair[0] == change.pair[1]


def _factor(change: Change) -> Cell:
    if change.pair is None:
        return none()
    before, after = change.pair
    if before <= 0 or after <= 0:
        return Cell("appeared" if after > before else "gone")
    return Cell(f"{fmt.three(after / before)}×", after / before)


def shapes_table(anchor: str, steps: Sequence[LadderStep]) -> Table:
    """Compare each variant's slowest launch shape with its best, if they can be told apart."""
    columns = [
        Column("variant", numeric=False), Column("best", numeric=False),
        Column("slowest", numeric=False), Column("best against slowest"),
        Column("what moved most", "from the slowest to the best", numeric=False),
        Column("cause", numeric=False),
    ]  # fmt: skip
    rows = [
        Row(
            [
                named(step.after.variant, f"#{case_anchor(step.after.case)}"),
                Cell(shape(step.after)),
                Cell(shape(step.before)),
                compared(step.speed),
                Cell(_sentence(step), css="wrap"),
                Cell(cause(step, shape(step.before), shape(step.after)), css="wrap"),
            ]
        )
        for step in steps
    ]
    return Table(anchor, "Why the launch shape matters", columns, rows)


def _sentence(step: LadderStep) -> str:
    return "; ".join(each.text for each in moved(step)) or "nothing by 5 % or more"


def rules_table() -> Table:
    """The rules for naming a cause."""
    columns = [
        Column("cause", numeric=False), Column("quantity", numeric=False),
        Column("in the faster case", numeric=False), Column("from a level of"),
        Column("and also", numeric=False),
    ]  # fmt: skip
    rows = []
    for rule in rules.RULES:
        quantity = QUANTITIES[rule.quantity]
        also = [
            f"{QUANTITIES[key].title.lower()} {least:g} times {QUANTITIES[key].good}"
            for key, least in rule.needs
        ]
        also += [f"{QUANTITIES[key].title.lower()} improved by less" for key in rule.outdoes]
        if rule.amount:
            words = QUANTITIES[rule.amount].title.lower()
            also.append(f"the {words} saved take a tenth of the time saved at the GPU's peak")
        if rule.waits:
            told = _listed([WORDS[name] for name in rule.waits])
            either = "" if rule.only_waits else "or, in place of the change of the time, "
            also.append(f"{either}a fifth of the time saved was waiting for {told}")
        if not rule.proportional:
            also.append("whatever part of the time's change it is")
        rows.append(
            Row(
                [
                    Cell(rule.cause),
                    Cell(quantity.title, title=quantity.meaning),
                    Cell(rule.condition),
                    Cell(show(quantity, rule.matters)) if rule.matters else none("any"),
                    Cell("; ".join(also), css="wrap") if also else none(),
                ]
            )
        )
    low, high = rules.LAUNCH_SHARE
    rows.append(
        Row(
            [
                Cell("one launch fewer"), Cell("Launches"), Cell("fewer"), none("any"),
                Cell(f"the time saved is {low:g} to {high:g} times what the launch had taken",
                     css="wrap"),
            ]
        )
    )  # fmt: skip
    return Table("table-rules", "When the counters support a cause", columns, rows)
