"""One problem's page: the results at each size, their causes, and all the underlying data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis import budgets
from harness.analysis.causes.why import Explainer, LadderStep
from harness.analysis.counted import Counts, counts
from harness.analysis.ladder import ABOVE, Ladder, above_ceiling, short_names
from harness.analysis.readings import Readings
from harness.analysis.roofline import roofline
from harness.journal.records import Planned
from harness.report import format as fmt
from harness.report.anchors import slug
from harness.report.choice import which_of_each_type
from harness.report.figures import drawn
from harness.report.figures.style import Figure
from harness.report.links import Links
from harness.report.pages import emulated, headline
from harness.report.pages.claims import Claims, claims_of
from harness.report.pages.headline import Story, Told
from harness.report.pages.source import Listing, listings
from harness.report.pages.why import Block, block, shapes_table
from harness.report.tables import heat, machine
from harness.report.tables.budgets import budget_table
from harness.report.tables.cases import case_table, launch_table
from harness.report.tables.cells import Table
from harness.report.tables.counters import Durations, durations, raw_tables
from harness.report.tables.ladder import ladder_table
from harness.statistics.net_times import Group
from harness.tables import Run


@dataclass(frozen=True)
class Roofed:
    """A roofline with its warnings, and the kernels that are missing from it."""

    figure: Figure
    errors: list[str]
    absent: list[str]


@dataclass(frozen=True)
class Panel:
    """One size and type: the content of a tab."""

    anchor: str
    label: str
    tab: str
    """The part of the label that distinguishes it from the other panels."""
    ladder: tuple[Figure, Table] | None
    """The ladder, for a timed run."""
    counts: Figure | None
    """The counts, for a run without times."""
    why: list[Block]
    counters: Table | None
    emulated: list[str]
    """Notes on counters that were emulated."""
    stalls: Figure | None
    roofline: Roofed | None
    shapes: Table | None
    shapes_why: Table | None
    launches: Table
    raw: list[Table]
    brief: bool
    """True if there are counters that a reader has to look up in counters.csv."""


DETAILED = 4
"""The number of sizes and types that are shown in full; the rest are shown without stalls,
rooflines and counters."""


@dataclass(frozen=True)
class ProblemPage:
    problem: str
    slug: str
    about: str
    """The problem's title: what it computes."""
    inputs: str
    """The timed inputs, and why they are typical."""
    stories: list[Story]
    notes: list[str]
    """Notes for the reader about the page as a whole."""
    panels: list[Panel]
    over_size: list[Figure]
    counted: bool
    steps_known: bool
    """True if the run records which variant builds on which."""
    claims: Claims
    listings: list[Listing]
    cases: list[Table]
    verified: Table
    steady: list[Table]
    durations: Durations | None
    broken: list[budgets.Check]
    """The budgets that cases break."""
    budgets: Table | None
    """The budgets, if any are declared."""
    failures: list[tuple[str, list[str]]]
    """Reason → the cases that share it."""
    skipped: list[tuple[str, list[str]]]
    told: Told


@dataclass(frozen=True)
class Maker:
    """Makes the pages of a run; everything that the pages share is computed once."""

    run: Run
    readings: Readings
    explainer: Explainer
    ladders: Sequence[Ladder]
    above: set[str]
    budgets: Sequence[budgets.Check]
    counts: Sequence[Counts]
    """The counts, for a run without times."""

    @classmethod
    def of(cls, run: Run, ladders: Sequence[Ladder]) -> Maker:
        readings = Readings(run)
        above = above_ceiling(run) if run.is_timed else set()
        checks = budgets.checks(run, readings)
        explainer = Explainer(readings)
        return cls(run, readings, explainer, ladders, above, checks, counts(explainer))

    def page(self, problem: str, links: Links) -> ProblemPage:
        run = self.run
        dtypes = list(dict.fromkeys(p.dtype for p in run.planned.values() if p.problem == problem))
        ladders = [x for x in self.ladders if x.problem == problem]
        groups = self._groups(problem)
        steps = {g: self.explainer.steps(g) for g in groups}
        reached = {g: {s.after.variant: s for s in found} for g, found in steps.items()}
        sizes = [run.groups()[group][0].sizes for group in groups]
        names = dict.fromkeys(name for each in sizes for name in each)
        apart = [name for name in names if len({each.get(name) for each in sizes}) > 1]
        panels = [
            self._panel(group, steps[group], number, len(dtypes) > 1, apart, links)
            for number, group in enumerate(groups)
        ]
        told = {}
        for dtype in dtypes:
            own = [x for x in ladders if x.dtype == dtype]
            told[dtype] = own, [reached.get(x.key, {}) for x in own]
        ranked = [[x for x in own if x.rungs] for own, _ in told.values()]
        checks = [c for c in self.budgets if c.problem == problem]
        about = (run.info.get("problems") or {}).get(problem) or {}
        return ProblemPage(
            problem=problem,
            slug=links.slugs[problem],
            about=str(about.get("title") or ""),
            inputs=str(about.get("timed_inputs") or ""),
            stories=headline.stories(run, problem, told, links, self.counts),
            notes=self._notes(problem, ladders) + which_of_each_type(ranked),
            panels=panels,
            over_size=[
                drawn.over_size_figure(run, own)
                for own in ranked
                if len({x.extent for x in own}) > 1
            ],
            counted=any(panel.counters for panel in panels),
            steps_known=run.tells_what_builds_on_what,
            claims=claims_of(self.readings, problem),
            listings=[x for dtype in dtypes for x in listings(run, problem, dtype)],
            cases=[case_table(run, problem, dtype) for dtype in dtypes],
            verified=machine.verification_table(run, problem),
            steady=self._steady(problem, dtypes),
            durations=durations(run, problem) if run.is_timed else None,
            broken=[c for c in checks if c.status == "broken"],
            budgets=budget_table(checks, problem, links) if checks else None,
            failures=self.endings(problem, "failed"),
            skipped=self.endings(problem, "skipped"),
            told=told,
        )

    def _groups(self, problem: str) -> list[Group]:
        """The groups with something to show, type by type and the largest size first."""
        groups = self.run.groups()
        found = [g for g in groups if g[0] == problem and self._shown(g)]
        dtypes = list(dict.fromkeys(g[1] for g in groups))
        return sorted(found, key=lambda g: (dtypes.index(g[1]), -groups[g][0].bytes))

    def _shown(self, group: Group) -> list[Planned]:
        """The group's cases that a page shows: the timed ones or, in a run without times, the
        counted ones."""
        shown = self.run.timings.shown(group)
        if self.run.is_timed:
            return [p for p in shown if self.run.time(p.case) and p.case not in self.above]
        return [p for p in shown if p.case in self.readings.counted]

    def _panel(
        self, group: Group, steps: Sequence[LadderStep], number: int, typed: bool,
        apart: Sequence[str], links: Links,
    ) -> Panel:  # fmt: skip
        """`number`: the panel's number. `typed`: whether there are several types. `apart`: the
        sizes that vary."""
        run, shown = self.run, self._shown(group)
        first = number == 0
        key = slug("-".join(group))
        sizes = shown[0].sizes
        label = fmt.assignments(sizes) or "the only size"
        tab = fmt.assignments({name: sizes[name] for name in apart}) or label
        ladder = next((x for x in self.ladders if x.key == group and x.rungs), None)
        shorts = short_names(list(dict.fromkeys(p.variant for p in run.groups()[group])))
        shapes = self.explainer.shapes(group) if ladder else []
        counted = [p for p in shown if p.case in self.readings.counted]
        every = counted if number < DETAILED else []
        return Panel(
            anchor=f"size-{key}",
            label=f"{group[1]}, {label}" if typed else label,
            tab=f"{group[1]}, {tab}" if typed else tab,
            ladder=(drawn.ladder_figure(run, ladder), ladder_table(run, ladder, links))
            if ladder
            else None,
            counts=None if run.is_timed else drawn.counts_figure(self.readings, group, shown),
            why=[block(run, step, shorts, first) for step in steps],
            counters=heat.counter_table(self.readings, f"heat-{key}", shown) if counted else None,
            emulated=emulated.note(self.readings, shown) if run.is_timed else [],
            stalls=drawn.stall_figure(self.readings, group, shown) if every else None,
            roofline=self._roofline(ladder, first or bool(every)) if ladder else None,
            shapes=heat.shape_table(run, ladder) if ladder else None,
            shapes_why=shapes_table(f"why-shapes-{key}", shapes) if shapes else None,
            launches=launch_table(run, f"launches-{key}", "Launches", shown),
            raw=raw_tables(self.readings, f"raw-{key}", label, shown, links) if every else [],
            brief=bool(counted) and not every,
        )

    def _roofline(self, ladder: Ladder, wanted: bool) -> Roofed | None:
        """The ladder's roofline. `wanted`: true at every size with counted bytes or, if there is
        none, only at the largest size."""
        if not wanted:
            return None
        shorts = {r.planned.case: r.short for r in ladder.everyone}
        cases = [r.planned for r in ladder.everyone]
        chart = roofline(self.readings, "Roofline", slug("-".join(ladder.key)), cases, shorts)
        if not chart.kernels:
            return None
        absent = [f"{name}: {why}" for name, why in chart.absent.items()]
        return Roofed(drawn.roofline_of(self.run, ladder, chart), chart.errors, absent)

    def _notes(self, problem: str, ladders: Sequence[Ladder]) -> list[str]:
        found = []
        if not self.run.is_timed:  # a ladder has a column for remarks
            found += [
                f"{variant} {remark.text.rstrip('.')}."
                for (name, variant), remarks in self.run.remarks.items() if name == problem
                for remark in remarks
            ]  # fmt: skip
        if not self.run.tells_what_builds_on_what:
            found.append(
                "This run does not say which variant builds on which, so no steps are compared."
            )
        for x in ladders:
            if x.substitute:
                found.append(
                    f"At {fmt.assignments(x.sizes)} the baseline failed; {x.substitute} stands in "
                    "for it."
                )
        return found

    def _steady(self, problem: str, dtypes: Sequence[str]) -> list[Table]:
        if not self.run.is_timed:
            return []
        by_type = [[g for g in self.run.groups() if g[:2] == (problem, dtype)] for dtype in dtypes]
        return [machine.steadiness_table(self.run, groups) for groups in by_type if groups]

    def endings(self, problem: str, status: str) -> list[tuple[str, list[str]]]:
        """Map each reason for a failure to its cases; a result above its ceiling is a failure."""
        run, reasons = self.run, dict[str, list[str]]()
        for p in run.planned.values():
            if p.problem != problem:
                continue
            outcome = run.outcomes[p.case]
            if outcome.status == status:
                reason = outcome.reason or "no reason was recorded"
                reasons.setdefault(reason, []).append(p.case)
            elif status == "failed" and p.case in self.above:
                reasons.setdefault(ABOVE, []).append(p.case)
        return list(reasons.items())


def settings(run: Run) -> dict[str, Any]:
    """A description of the rounds, if run.json contains one."""
    timing = run.info.get("timing") or {}
    placements = [len(each) for each in _placements(run).values()]
    several = max(placements, default=0) > 1
    return {
        "rounds": timing.get("rounds_per_placement" if several else "rounds"),
        "batch": timing.get("batch"),
        "placements": fmt.between(placements) if several else "",
        "choosing": run.timings.choosing if several else 0,
        "confidence": f"{100 * run.timings.confidence:.3g} %",
        "same_within": f"{100 * run.same_within:g} %",
    }


def _placements(run: Run) -> dict[Group, set[int]]:
    """The placements in which each group of cases was timed."""
    found: dict[Group, set[int]] = {}
    for group, planned in run.groups().items():
        rounds = (r for p in planned for r in run.timings.rounds(p.case, "cold"))
        if timed := {r.placement for r in rounds}:
            found[group] = timed
    return found
