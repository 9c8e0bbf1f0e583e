"""Why one case is faster than another, in words and tables for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis import rules
from harness.analysis.quantities import BY_KEY, Reading, Readings
from harness.analysis.sources import Difference, difference
from harness.analysis.why import Change, Step, ladder_steps, shape_steps
from harness.measure.timings import Comparison
from harness.records import Planned
from harness.report import format as fmt
from harness.report.anchors import case_anchor, short_names, slug
from harness.report.cells import Cell, Column, Row, Table, named
from harness.report.counted import show
from harness.report.counter_cells import quantity_cell
from harness.tables import Run


@dataclass(frozen=True)
class Block:
    """One step as the page tells it."""

    anchor: str
    before: str
    after: str
    """Short names."""
    links: tuple[str, str]
    speed: str
    verdict: str
    note: str
    """At which launch shapes the two are compared."""
    moved: list[str]
    cause: str
    identical: str
    table: Table
    diff: Difference | None


@dataclass(frozen=True)
class Explanation:
    """A size's steps: in full for one size, as a table for the others."""

    title: str
    blocks: list[Block]
    summary: Table
    shapes: Table | None


def explanations(readings: Readings, problem: str, dtype: str) -> list[Explanation]:
    """The size to tell in full first: the largest that was counted, or else the largest."""
    run = readings.run
    groups = [cases for key, cases in run.groups().items() if key[:2] == (problem, dtype)]
    groups.sort(key=lambda cases: -cases[0].bytes)
    groups.sort(key=lambda cases: not any(p.case in readings.counted for p in cases))
    found: list[Explanation] = []
    for cases in groups:
        steps = ladder_steps(readings, cases)
        if not steps:
            continue
        shorts = short_names(list(dict.fromkeys(p.variant for p in cases)))
        fastest = {p.variant: p for p in run.timings.fastest(cases)}
        blocks = [] if found else [_block(readings, s, shorts, fastest) for s in steps]
        title = f"{problem} at {fmt.assignments(cases[0].sizes)}"
        key = slug(f"{problem}-{dtype}-{fmt.assignments(cases[0].sizes)}-{len(found)}")
        shapes = shape_steps(readings, cases)
        found.append(
            Explanation(
                title,
                blocks,
                _summary(f"why-{key}", title, steps, shorts),
                _shapes(f"why-shapes-{key}", title, shapes) if shapes else None,
            )
        )
    return found


def _block(
    readings: Readings, step: Step, shorts: dict[str, str], fastest: dict[str, Planned]
) -> Block:
    before, after = shorts[step.before.variant], shorts[step.after.variant]
    same = step.before.variant == step.after.variant
    return Block(
        anchor=f"why-{slug(step.before.case)}-{slug(after)}",
        before=before,
        after=after,
        links=(case_anchor(step.before.case), case_anchor(step.after.case)),
        speed=_speed(step.speed),
        verdict=step.speed.verdict if step.speed else "",
        note=_note(readings.run, step, before, after, fastest),
        moved=sentences(step),
        cause=cause(step, before, after),
        identical=_identical(step),
        table=_changes(step, before, after),
        diff=None if same else difference(readings.run, step.before, step.after),
    )


def _speed(speed: Comparison | None) -> str:
    if speed is None:
        return ""
    if speed.ratio is None:
        return "not compared: too few rounds"
    words = {
        "faster": f"{fmt.ratio(speed.ratio)} faster",
        "slower": f"{fmt.ratio(speed.ratio)}, slower",
        "same": f"{fmt.ratio(speed.ratio)}, the same",
    }
    return words.get(speed.verdict, f"{fmt.ratio(speed.ratio)}, {speed.verdict}")


def _shape(p: Planned) -> str:
    return ", ".join(f"{k} {v}" for k, v in p.launch.items()) or "its own launch shape"


def _note(run: Run, step: Step, before: str, after: str, fastest: dict[str, Planned]) -> str:
    if not step.same_shape:
        return (
            f"{before} at {_shape(step.before)}, {after} at {_shape(step.after)}: each at its "
            "fastest, for want of a shape that both have"
        )
    if step.speed is None:
        return f"both at {_shape(step.after)}"
    note = f"both at {_shape(step.after)}, where {after} is fastest"
    own = fastest.get(step.before.variant)
    if own and own.case != step.before.case:
        ratio = run.compare(step.after.case, own.case).ratio
        if ratio:
            note += f"; against {before} at its own fastest, {_shape(own)}: {fmt.ratio(ratio)}"
    return note


def sentences(step: Step) -> list[str]:
    """What moved most, each in words that can be checked against the table."""
    found = []
    for change in step.moved:
        assert change.pair is not None
        before, after = change.pair
        q = change.quantity
        verb = "rose" if after > before else "fell"
        found.append(f"{q.words} {verb} from {show(q, before)} to {show(q, after)}")
    return found


def cause(step: Step, before: str, after: str) -> str:
    """The verdict on the cause, which claims no more than the rules allow."""
    finding, speed = step.finding, step.speed
    if finding.verdict == "uncounted":
        return ""
    if finding.verdict == "supported":
        faster = after if speed and speed.verdict == "faster" else before
        if step.before.variant == step.after.variant:
            return f"The counters support: {_listed(finding.causes)}."
        return f"The counters support a cause: {faster} has {_listed(finding.causes)}."
    return {
        "unexplained": "No counter that was collected explains this.",
        "identical": "Machine code and launch are the same, so the kernel is not the cause.",
        "nothing": "The two are not told apart, so there is nothing to explain.",
        "untimed": "",
    }[finding.verdict]


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _identical(step: Step) -> str:
    if not step.identical:
        return ""
    return "Both run identical machine code, by the hash of what was compiled" + (
        "." if step.same_shape else "; only the launch differs."
    )


def _changes(step: Step, before: str, after: str) -> Table:
    if before == after:
        before, after = _shape(step.before), _shape(step.after)
    columns = [
        Column("quantity", numeric=False), Column(before), Column(after),
        Column("change", "after over before"),
    ]  # fmt: skip
    rows = [
        Row(
            [
                Cell(c.quantity.title, title=c.quantity.text),
                quantity_cell(c.quantity, c.before),
                quantity_cell(c.quantity, c.after),
                _factor(c),
            ]
        )
        for c in step.changes
        if isinstance(c.before, Reading) or isinstance(c.after, Reading)
    ]
    return Table(f"changes-{slug(step.before.case)}-{slug(step.after.case)}",
                 f"{before} → {after}", columns, rows)  # fmt: skip


def _factor(change: Change) -> Cell:
    if change.pair is None:
        return Cell("–", css="none")
    before, after = change.pair
    if before == after:
        return Cell("unchanged", 1.0)
    if before <= 0 or after <= 0:
        return Cell("appeared" if after > before else "gone")
    return Cell(f"{fmt.three(after / before)}×", after / before)


def _summary(anchor: str, title: str, steps: Sequence[Step], shorts: dict[str, str]) -> Table:
    timed = any(step.speed for step in steps)
    columns = [Column("step", numeric=False), Column("at", numeric=False)]
    if timed:
        columns += [Column("speed-up", "paired by round"), Column("verdict", numeric=False)]
    columns += [Column("what moved most", numeric=False)]
    if timed:
        columns += [Column("cause", "by the rules below the machine's tables", numeric=False)]
    rows = []
    for step in steps:
        before, after = shorts[step.before.variant], shorts[step.after.variant]
        cells = [Cell(f"{before} → {after}"), Cell(_shape(step.after))]
        if timed:
            cells += _speed_cells(step)
        cells += [Cell("; ".join(sentences(step)) or "nothing by 5 % or more", css="wrap")]
        if timed:
            cells += [Cell(cause(step, before, after), css="wrap")]
        rows.append(Row(cells))
    return Table(anchor, title, columns, rows)


def _speed_cells(step: Step) -> list[Cell]:
    speed = step.speed
    if speed is None or speed.ratio is None:
        return [Cell("–", css="none"), Cell("–", css="none")]
    return [
        Cell(fmt.ratio(speed.ratio), speed.ratio.value),
        Cell(speed.verdict, speed.verdict, css=speed.verdict),
    ]


def _shapes(anchor: str, title: str, steps: Sequence[Step]) -> Table:
    columns = [
        Column("variant", numeric=False), Column("fastest", numeric=False),
        Column("slowest", numeric=False), Column("faster by", "paired by round"),
        Column("what moved most", "from the slowest to the fastest", numeric=False),
        Column("cause", "by the rules below the machine's tables", numeric=False),
        Column("machine code", numeric=False),
    ]  # fmt: skip
    rows = [
        Row(
            [
                named(step.after.variant, case_anchor(step.after.case)),
                Cell(_shape(step.after)),
                Cell(_shape(step.before)),
                _speed_cells(step)[0],
                Cell("; ".join(sentences(step)) or "nothing by 5 % or more", css="wrap"),
                Cell(cause(step, _shape(step.before), _shape(step.after)), css="wrap"),
                Cell("identical" if step.identical else "differs"),
            ]
        )
        for step in steps
    ]
    return Table(anchor, f"Launch shapes: {title}", columns, rows)


def rules_table() -> Table:
    """The rules by which a cause is named."""
    columns = [
        Column("cause", numeric=False), Column("quantity", numeric=False),
        Column("in the faster case", numeric=False), Column("from a level of"),
        Column("and also", numeric=False), Column("of the time's change", numeric=False),
    ]  # fmt: skip
    rows = []
    for rule in rules.RULES:
        quantity = BY_KEY[rule.quantity]
        needs = ", ".join(
            f"{BY_KEY[key].title.lower()} {least:g} times {good}" for key, good, least in rule.needs
        )
        rows.append(
            Row(
                [
                    Cell(rule.cause),
                    Cell(quantity.title, title=quantity.text),
                    Cell(rule.condition),
                    Cell(show(quantity, rule.matters)) if rule.matters else Cell("any"),
                    Cell(needs or "–"),
                    Cell("at least half" if rule.proportional else "any part"),
                ]
            )
        )
    low, high = rules.LAUNCH_SHARE
    rows.append(
        Row(
            [
                Cell("a launch fewer"), Cell("Launches"), Cell("fewer"), Cell("any"),
                Cell(f"the time saved is {low:g} to {high:g} times what the launch had taken"),
                Cell("any part"),
            ]
        )
    )  # fmt: skip
    return Table("table-rules", "When the counters support a cause", columns, rows)
