"""Write docs/generated/targets.md: what the ladders are meant to reach, what they reached, and what
the counters of the fastest variant say; or check it.

    python scripts/committed_runs/targets.py            write the page
    python scripts/committed_runs/targets.py --check    exit 1 if it is out of date

targets.yaml has the targets. Everything else is read from the runs committed in reports/.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pandas as pd
import yaml

from harness import load
from harness.analysis.ladder import Ladder, Rung, ladders
from harness.report import format as fmt
from harness.statistics.timings import Comparison
from harness.tables import Run

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pages"))
from yardsticks import is_older

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).with_name("targets.yaml")
PAGE = ROOT / "docs" / "generated" / "targets.md"
CARDS = {"H200": ROOT / "reports" / "h200", "H100": ROOT / "reports" / "h100"}
HEAD = """\
# What the ladders are meant to reach

<!-- written by scripts/committed_runs/targets.py; do not edit -->

Each family has a target: against the fastest library of the same run, or against the lowest roof
that applies, or a time. Times have a cold L2 cache, and the ratio is that of the fastest variant.
✓ is reached, ✗ is not, and ≈ is the same within 1 %. † marks runs from before the present inputs or
libraries; the other card then has a later one. The last columns have the fastest variant and what
Nsight Compute read for its longest launch: the share of the peak DRAM throughput, the theoretical
occupancy, and the two reasons for which its warps waited most, as shares of all waiting.

| problem | size | wanted | on an H200 | on an H100 | fastest | its counters |
|---|---|---|---|---|---|---|
"""
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
DRAM = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
OCCUPANCY = "sm__maximum_warps_per_active_cycle_pct"
DURATION = "gpu__time_duration.sum"
OLDER = "†"


@dataclass(frozen=True)
class Target:
    """What is wanted of a problem's fastest variant; one of `library`, `roof` and `time_us`."""

    problem: str
    dtype: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    every: bool = False
    library: float | None = None
    against: str = ""
    roof: float | None = None
    time_us: float | None = None
    limit: str = ""
    note: str = ""

    @property
    def words(self) -> str:
        if self.library is not None:
            return f"≥ {self.library:g}× {self.against or 'library'}"
        return f"≥ {self.roof:.0%} of its roof" if self.roof else f"≤ {self.time_us:,g} µs"

    def chosen(self, every: Sequence[Ladder]) -> list[Ladder]:
        """The ladders of the target's size and type; the largest size if it names none."""
        own = [
            x for x in every
            if x.problem == self.problem and x.winner and self.dtype in ("", x.dtype)
            and self.sizes.items() <= x.sizes.items()
        ]  # fmt: skip
        if self.every or self.sizes:
            return own
        return [x for x in own if x.extent == max(y.extent for y in own if y.dtype == x.dtype)]

    def reached(self, ladder: Ladder) -> float | None:
        """The speed-up, share or time (µs) of the fastest variant."""
        assert ladder.winner is not None
        if self.time_us is not None:
            return ladder.winner.time.value / 1000
        if self.roof is not None:
            return None if ladder.winner.percent is None else ladder.winner.percent / 100
        versus = self.versus(ladder)
        return 1 / versus.ratio.value if versus and versus.ratio else None

    def versus(self, ladder: Ladder) -> Comparison | None:
        """The library against the fastest variant."""
        named = [x for x in ladder.libraries if self.against in ("", x.planned.variant)]
        return named[0].versus_winner if named else None

    def mark(self, value: float, ladder: Ladder) -> str:
        versus = self.versus(ladder) if self.library == 1 else None
        if versus and versus.verdict == "same":
            return "≈"
        if self.time_us is not None:
            return "✓" if value <= self.time_us else "✗"
        return (
            "✓" if value >= (self.library if self.library is not None else self.roof or 0) else "✗"
        )

    def written(self, value: float) -> str:
        if self.time_us is not None:
            return f"{value:,.0f} µs"
        return f"{value:.3g}×" if self.library is not None else f"{value:.1%}"

    def worst(self, found: Sequence[Ladder]) -> Ladder | None:
        valued = [(x, v) for x in found if (v := self.reached(x)) is not None]
        if not valued:
            return None
        sign = -1 if self.time_us is not None else 1
        return min(valued, key=lambda each: sign * each[1])[0]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    options = parser.parse_args(arguments)
    text = page([Target(**each) for each in yaml.safe_load(DATA.read_text())["targets"]])
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        print(f"{PAGE} is out of date: python {Path(__file__).relative_to(ROOT)}", file=sys.stderr)
        return 1
    return 0


def page(targets: Sequence[Target]) -> str:
    rows = [row for target in targets for row in of_types(target)]
    return HEAD + "\n".join([*rows, "", *missed(targets)]) + "\n"


def of_types(target: Target) -> Iterator[str]:
    """Yield a row for each of the problem's types."""
    types = dict.fromkeys(
        x.dtype for card in CARDS for x in target.chosen(_ladders(card, target.problem))
    )
    for dtype in types:
        yield _row(target, dtype, several=len(types) > 1 or bool(target.dtype))


def _row(target: Target, dtype: str, several: bool) -> str:
    cells: dict[str, str] = {}
    shown: tuple[str, Ladder] | None = None
    for card in CARDS:
        found = [x for x in target.chosen(_ladders(card, target.problem)) if x.dtype == dtype]
        worst = target.worst(found)
        if worst is None or (run := _run(card, target.problem)) is None:
            cells[card] = "–"
            continue
        value = target.reached(worst)
        assert value is not None
        older = is_older(run, target.problem)
        at = f" at {fmt.assignments(worst.sizes)}" if target.every else ""
        cells[card] = (
            f"{target.written(value)}{OLDER if older else f' {target.mark(value, worst)}'}{at}"
        )
        if shown is None or is_older(_run(shown[0], target.problem), target.problem):  # type: ignore[arg-type]
            shown = card, worst
    assert shown is not None
    card, ladder = shown
    assert ladder.winner is not None
    name = f"{target.problem} {dtype}" if several else target.problem
    size = "the worst of all" if target.every else fmt.assignments(ladder.sizes)
    wanted = f"{target.words}, {target.note}" if target.note else target.words
    return "| " + " | ".join((
        name, size, wanted, *cells.values(), f"`{ladder.winner.planned.variant}`",
        counters(card, ladder.winner),
    )) + " |"  # fmt: skip


def counters(card: str, rung: Rung) -> str:
    """Describe the readings of a variant's longest launch; empty if there are none."""
    table = _readings(card, rung.planned.problem)
    own = table[table.case == rung.planned.case] if not table.empty else table
    times = own[own.metric == DURATION]
    if own.empty or times.empty:
        return "not read"
    longest = times.loc[times.value.idxmax(), "step"]
    values = own[own.step == longest].set_index("metric").value.dropna()
    said = [f"DRAM {values[DRAM]:.0%}"] if DRAM in values else []
    said += [f"occupancy {values[OCCUPANCY]:.0%}"] if OCCUPANCY in values else []
    prefix, suffix = STALL.split("{}")
    waits = {
        name.removeprefix(prefix).removesuffix(suffix).replace("_", " "): value
        for name, value in values.items()
        if name.startswith(prefix) and name.endswith(suffix) and "selected" not in name
    }
    total = sum(waits.values())
    most = sorted(waits.items(), key=lambda each: -each[1])[:2] if total else []
    said += [f"{name} {value / total:.0%}" for name, value in most]
    return f"{', '.join(said)} ({card})"


def missed(targets: Sequence[Target]) -> Iterator[str]:
    """Yield what limits the families that are short of their target."""
    yield "What limits those that fall short:"
    yield ""
    for target in targets:
        if target.limit:
            at = f" at {fmt.assignments(dict(target.sizes))}" if target.sizes else ""
            dtype = f" {target.dtype}" if target.dtype else ""
            yield f"- `{target.problem}`{dtype}{at} ({target.words}): {target.limit}."


@cache
def _run(card: str, problem: str) -> Run | None:
    folder = CARDS[card] / problem
    return load(folder) if (folder / "results.csv").is_file() else None


@cache
def _ladders(card: str, problem: str) -> tuple[Ladder, ...]:
    run = _run(card, problem)
    return tuple(ladders(run)) if run else ()


@cache
def _readings(card: str, problem: str) -> pd.DataFrame:
    run = _run(card, problem)
    table = run.counters if run else pd.DataFrame()
    return table if table.empty else table[table.provenance == "ncu"]


if __name__ == "__main__":
    sys.exit(main())
