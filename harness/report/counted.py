"""Counters as a person compares them: ratios of a whole case, a row a case, and small bar figures.

Ratios are formed from sums over a case's steps, never averaged. One that cannot be formed is
"not collected" (no counter) or "not applicable" (nothing to divide by), never 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure as Canvas

from harness.records import Counted, Planned
from harness.report import format as fmt
from harness.report.anchors import short_names
from harness.report.glossary import base_name
from harness.report.style import LIGHT, Layout, canvas, grid, text_width
from harness.tables import Run

NOT_COLLECTED, NOT_APPLICABLE = "not collected", "not applicable"
Sums = dict[str, float]


@dataclass(frozen=True)
class Derived:
    """A quantity per case, formed from its counters."""

    key: str
    title: str
    unit: str
    text: str
    over: str
    """Counter in the numerator."""
    under: str
    """Counter in the denominator; empty for a plain count, `bytes` for compulsory KiB."""
    ideal: float | None = None
    """Where a line marks what is ideal."""
    figure: bool = False


_LD = "l1tex__t_{}_pipe_lsu_mem_global_op_ld"
_INST, _ON = "smsp__inst_executed", "smsp__thread_inst_executed_pred_on"
DERIVED = (
    Derived(
        "shared-over-ideal", "Shared-memory wavefronts over ideal", "× ideal",
        "How many times the passes that conflict-free accesses need; 1 means no bank conflict.",
        "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal", 1.0, True,
    ),
    Derived(
        "sectors-per-load", "Sectors per global load request", "sectors",
        "32-byte sectors that a warp's load touches: 4 when 32 neighbouring floats are read one "
        "each, 16 when four each, 32 when all are scattered.",
        _LD.format("sectors"), _LD.format("requests"), None, True,
    ),
    Derived(
        "acting-threads", "Acting threads per warp instruction", "threads",
        "Of 32; fewer means that threads wait while others of their warp work.",
        _ON, _INST, 32.0, True,
    ),
    Derived(
        "active-threads", "Active threads per warp instruction", "threads",
        "Of 32, counting threads that a predicate keeps from acting.",
        "smsp__thread_inst_executed", _INST, 32.0,
    ),
    Derived(
        "instructions-per-kib", "Warp instructions per KiB of compulsory traffic", "instructions",
        "Work done for each 1,024 bytes that any implementation must move.",
        _INST, "bytes", None, True,
    ),
    Derived("wavefronts", "Shared-memory wavefronts", "",
            "Passes that shared memory needed.", "memory_l1_wavefronts_shared", ""),
    Derived("instructions", "Warp instructions", "",
            "Instructions executed, one for each warp.", _INST, ""),
)  # fmt: skip


@dataclass(frozen=True)
class Group:
    """The counted cases of one problem, dtype and size, with the sums of their counters."""

    key: tuple[str, str, str]
    cases: list[Planned]
    sums: dict[str, Sums]

    def value(self, derived: Derived, p: Planned) -> float | str:
        """The quantity, or why there is none."""
        sums = self.sums[p.case]
        if derived.over not in sums:
            return NOT_COLLECTED
        if not derived.under:
            return sums[derived.over]
        under = p.bytes / 1024 if derived.under == "bytes" else sums.get(derived.under)
        if under is None:
            return NOT_COLLECTED
        return sums[derived.over] / under if under else NOT_APPLICABLE

    def known(self) -> list[Derived]:
        """The quantities that at least one case has."""
        return [
            d for d in DERIVED if any(not isinstance(self.value(d, p), str) for p in self.cases)
        ]


def groups(run: Run) -> list[Group]:
    """Every group with a counter, the largest size first."""
    sums: dict[str, Sums] = defaultdict(lambda: defaultdict(float))
    for record in run.of(Counted):
        if not record.metric.endswith(".ratio"):
            sums[record.case][base_name(record.metric)] += record.value
    found = [
        Group(key, counted, {p.case: dict(sums[p.case]) for p in counted})
        for key, cases in run.groups().items()
        if (counted := [p for p in cases if p.case in sums])
    ]
    return sorted(found, key=lambda g: (g.key[:2], -g.cases[0].bytes))


def representative(group: Group) -> list[Planned]:
    """A variant each for the figures: its middle launch shape, as planned."""
    by_variant: dict[str, list[Planned]] = defaultdict(list)
    for p in group.cases:
        by_variant[p.variant].append(p)
    return [shapes[(len(shapes) - 1) // 2] for shapes in by_variant.values()]


def bars(group: Group, derived: Derived) -> Callable[[Layout], Canvas]:
    """Draws one quantity for every variant that has it; the rest say why they have no bar."""
    shown = representative(group)
    shorts = short_names([p.variant for p in shown])

    def draw(layout: Layout) -> Canvas:
        labels = [shorts[p.variant] if layout.narrow else p.variant for p in shown]
        left = text_width(max(labels, key=len)) + 0.15
        figure, axes = canvas(layout, len(shown) * 0.22 + 0.8, left, 0.55, 0.25, 0.5)
        values = [group.value(derived, p) for p in shown]
        most = max([v for v in values if not isinstance(v, str)] + [derived.ideal or 0])
        axes.set_xlim(0, most * 1.02)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        grid(axes)
        for row, (p, value) in enumerate(zip(shown, values, strict=True)):
            if isinstance(value, str):
                axes.text(most * 0.008, row, value, va="center", color=LIGHT["muted"], fontsize=8)
                continue
            role = "baseline" if p.is_baseline else "counted"
            axes.barh(row, value, 0.68, color=LIGHT[role])
            axes.text(value + most * 0.008, row, fmt.three(value), va="center", fontsize=8,
                      clip_on=False, bbox={"facecolor": LIGHT["panel"], "edgecolor": "none",
                                           "pad": 0.6, "alpha": 0.9})  # fmt: skip
        if derived.ideal is not None:
            axes.axvline(derived.ideal, color=LIGHT["muted"], linestyle=(0, (4, 3)), linewidth=1.1,
                         zorder=0.9)  # fmt: skip
            axes.annotate(f"ideal {derived.ideal:g}", (derived.ideal, 1), xytext=(0, 2),
                          xycoords=("data", "axes fraction"), textcoords="offset points",
                          ha="center", va="bottom", color=LIGHT["muted"], fontsize=8)  # fmt: skip
        axes.set_yticks(range(len(shown)), labels)
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.set_xlabel(derived.unit if layout.narrow else f"{derived.title}, {derived.unit}")
        return figure

    return draw
