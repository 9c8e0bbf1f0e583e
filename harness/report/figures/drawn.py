"""All figures of the pages, each with its caption, data and file name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from harness.analysis.ladder import Ladder
from harness.analysis.readings import Answer, Missing, Readings
from harness.analysis.roofline import LEVELS, Roofline
from harness.journal.records import Planned
from harness.report import format as fmt
from harness.report.anchors import slug
from harness.report.figures import explore
from harness.report.figures.counts import counts_of, draw_counts
from harness.report.figures.ladder import draw_ladder
from harness.report.figures.over_size import draw_over_size, lines_over_size
from harness.report.figures.roofline import draw_roofline
from harness.report.figures.stalls import draw_stalls, stalls_of
from harness.report.figures.style import Figure, Subject, render
from harness.statistics.net_times import Group
from harness.tables import Run

CAUTION = (
    "Hatched: counted in PTX, which differs from the machine code that a GPU executes, or modelled."
)


MANY = 20
"""The largest number of kernels in one roofline at which every kernel has a label."""


def card(run: Run) -> str:
    """Return the GPU's name for the title of a PNG or, if nothing was timed, a note that names the
    architecture."""
    device = run.info.get("device") or {}
    name = str(device.get("name") or "an unknown GPU")
    return name if run.is_timed else f"counted, not timed; compiled for {device.get('arch', name)}"


def _subject(run: Run, key: Group, sizes: dict[str, int], cold: bool = True) -> Subject:
    where = f" at {fmt.assignments(sizes)}" if sizes else ""
    return Subject(f"{key[0]} ({key[1]}){where}{', cold' if cold else ''}", card(run))


def _anchor(kind: str, key: Sequence[str]) -> str:
    return f"{kind}-{slug('-'.join(key))}"


def ladder_figure(run: Run, ladder: Ladder) -> Figure:
    caption = (
        "Each variant at its best launch shape, from an empty L2 cache; the dark line on a bar's "
        f"end is its confidence interval. Coloured: {_coloured(ladder)}. Grey: the baseline."
    )
    if any(rung.steps for rung in ladder.rungs):
        caption += (
            " Where there are several launches, the tick shows the rate that the longest alone "
            "would have; its share of their time stands beside. They were timed apart from the "
            "total."
        )
    return render(
        run.folder,
        _anchor("ladder", ladder.key),
        f"{ladder.measure.name} of each variant",
        _subject(run, ladder.key, ladder.sizes),
        caption,
        partial(draw_ladder, ladder),
        explore=explore.ladder(ladder),
    )


def _coloured(ladder: Ladder) -> str:
    if ladder.tied:
        return "those that cannot be told apart from the fastest"
    return f"the fastest, {ladder.winner.planned.variant}" if ladder.winner else "none"


def over_size_figure(run: Run, own: list[Ladder]) -> Figure:
    ordered = sorted(own, key=lambda x: x.extent)
    rungs = [{r.planned.variant: r for r in x.everyone} for x in ordered]
    rows = [
        [line.variant,
         *(fmt.interval(r[line.variant].rate) if line.variant in r else "–" for r in rungs)]
        for line in lines_over_size(own)
    ]  # fmt: skip
    return render(
        run.folder,
        _anchor("over-size", own[0].key[:2]),
        f"{own[0].measure.name} over size",
        _subject(run, own[0].key, {}),
        "Each variant at its best launch shape at each size, from an empty L2 cache. In colour: "
        "the fastest, the baseline and the libraries; thin and grey: the rest.",
        partial(draw_over_size, own),
        ["variant", *(f"{fmt.assignments(x.sizes)}, {x.measure.unit}" for x in ordered)],
        rows,
        explore.over_size(own),
    )


def counts_figure(readings: Readings, key: Group, cases: Sequence[Planned]) -> Figure | None:
    """The figure for a run without times; None if no counted quantity distinguishes variants."""
    found = counts_of(readings, cases)
    if found is None:
        return None
    rows = [
        [p.variant, *(_plain(answers[i]) for answers in found.answers)]
        for i, p in enumerate(cases)
    ]  # fmt: skip
    return render(
        readings.run.folder,
        _anchor("counts", key),
        "What each variant did",
        _subject(readings.run, key, cases[0].sizes, cold=False),
        f"All launches of a case together; waves of the main launch. Grey: the baseline. Dashed: "
        f"the ideal. {CAUTION}",
        partial(draw_counts, found),
        ["variant", *(q.title for q in found.quantities)],
        rows,
    )


def _plain(answer: Answer) -> str:
    return answer.reason if isinstance(answer, Missing) else fmt.compact(answer.value)


def roofline_figure(run: Run, chart: Roofline, best: str, subject: Subject) -> Figure:
    """The roofline chart, with the data of its points."""
    origins = list(dict.fromkeys(k.flops_from for k in chart.kernels))
    levels = [level for level in LEVELS if any(k.at(level) for k in chart.kernels)]
    caption = (
        "Each kernel at its best launch shape, from an empty L2 cache. "
        f"Flops: {' or '.join(origins)}. Rings: intensity by the bytes that the problem must move"
    )
    if levels:
        caption += (
            f"; filled: by those that crossed {', '.join(levels)}. The line from a ring to its "
            "DRAM point is traffic in excess, or where it runs the other way, traffic that a cache "
            "saved"
        )
    roofs = ", ".join(roof.label for roof in chart.roofs)
    caption += f". Roofs measured in this run: {roofs}." if roofs else ". No roof was measured."
    if len(chart.kernels) > MANY:
        caption += " Where names have no room, Explore tells them on hover."
    rows = [
        [
            k.planned.variant,
            fmt.three(k.rate.value / 1e9),
            *(fmt.three(x) if (x := k.at(level)) else "–" for level in ("compulsory", *LEVELS)),
            f"{fmt.three(k.excess)}×" if k.excess else k.missing.get("DRAM", "–"),
            k.flops_from,
        ]
        for k in chart.kernels
    ]
    columns = ["variant", "Gflop/s", "flop/byte, compulsory", *LEVELS]
    return render(
        run.folder, f"roofline-{chart.key}", chart.title, subject, caption,
        partial(draw_roofline, chart, best=best),
        [*columns, "DRAM over compulsory", "flops"], rows, explore.roofline(chart),
    )  # fmt: skip


def roofline_of(run: Run, ladder: Ladder, chart: Roofline) -> Figure:
    """The roofline of one size."""
    best = ladder.winner.short if ladder.winner else ""
    return roofline_figure(run, chart, best, _subject(run, ladder.key, ladder.sizes))


def roofline_of_all(run: Run, chart: Roofline) -> Figure:
    """The roofline of the fastest variant of each problem."""
    return roofline_figure(run, chart, "", Subject("the fastest of each problem, cold", card(run)))


def stall_figure(readings: Readings, key: Group, shown: Sequence[Planned]) -> Figure | None:
    """The figure of stall reasons; None if no stall counter was read."""
    found = stalls_of(readings, [p for p in shown if not p.is_library])
    if found is None:
        return None
    left = "".join(f" {variant}: {why}." for variant, why in found.missing.items())
    return render(
        readings.run.folder,
        _anchor("stalls", key),
        "What warps wait for",
        _subject(readings.run, key, shown[0].sizes, cold=False),
        "Each variant's main launch at its best launch shape: the parts of all waiting, which say "
        "nothing of how long a kernel takes. At the right, the cycles that a warp waits per "
        f"instruction. {found.explained}{left}",
        partial(draw_stalls, found),
        ["variant", *(f"{reason}, %" for reason in found.reasons), "cycles per instruction"],
        [
            [p.variant, *(fmt.three(100 * v) for v in row), fmt.three(total)]
            for p, row, total in zip(found.cases, found.shares, found.waiting, strict=True)
        ],
    )
