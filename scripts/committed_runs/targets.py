"""Write docs/generated/targets.md: what the ladders are meant to reach, what they reached, and what
the fastest variant's counters say; or check it.

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

import yaml

from harness import load
from harness.analysis.ladder import Ladder, Rung, inverse, ladders
from harness.analysis.readings import Reading, Readings
from harness.report import format as fmt
from harness.report.figures.stalls import stalls_of
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
COUNTERS = {"DRAM": "dram__throughput", "occupancy": "sm__maximum_warps_per_active_cycle_pct"}
"""Counters whose values are shares of 1, by the words that describe them."""
OLDER = "†"


@dataclass(frozen=True)
class Target:
    """The target for a problem's fastest variant: one of `library`, `roof` and `time_us`."""

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
        if self.roof is not None:
            return f"≥ {fmt.share(100 * self.roof, 'its roof')}"
        return f"≤ {self.time_us:,g} µs"

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

    def over(self, ladder: Ladder) -> float | None:
        """What the fastest variant reached, divided by the target: 1 or more meets it. None if that
        was not measured."""
        assert ladder.winner is not None
        if self.time_us is not None:
            return 1000 * self.time_us / ladder.winner.time.value
        if self.roof is not None:
            percent = ladder.winner.percent
            return None if percent is None else percent / (100 * self.roof)
        versus = self.versus(ladder)
        assert self.library is not None
        return versus.ratio.value / self.library if versus and versus.ratio else None

    def versus(self, ladder: Ladder) -> Comparison | None:
        """The comparison of the fastest variant with the library; None if there is no library."""
        named = [x for x in ladder.libraries if self.against in ("", x.planned.variant)]
        return inverse(named[0].versus_winner) if named else None

    def mark(self, ladder: Ladder) -> str:
        versus = self.versus(ladder) if self.library == 1 else None
        if versus and versus.verdict == "same":
            return "≈"
        return "✓" if (self.over(ladder) or 0) >= 1 else "✗"

    def written(self, ladder: Ladder) -> str:
        """Format the fastest variant's figure: its time, its share of the roof, or a ratio."""
        assert ladder.winner is not None
        if self.time_us is not None:
            return fmt.time(ladder.winner.time.value)
        if self.roof is not None:
            return fmt.share(ladder.winner.percent or 0)
        versus = self.versus(ladder)
        return fmt.times(versus.ratio) if versus and versus.ratio else "–"

    def worst(self, found: Sequence[Ladder]) -> Ladder | None:
        """The measured ladder that is furthest from the target."""
        known = {n: over for n, x in enumerate(found) if (over := self.over(x)) is not None}
        return found[min(known, key=known.__getitem__)] if known else None


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
    rows = {n: list(of_types(target)) for n, target in enumerate(targets)}
    short = [target for n, target in enumerate(targets) if any("✗" in row for row in rows[n])]
    return (
        HEAD
        + "\n".join([*(row for own in rows.values() for row in own), "", *missed(short)])
        + "\n"
    )


def of_types(target: Target) -> Iterator[str]:
    """Yield a row for each of the problem's types."""
    types = dict.fromkeys(
        x.dtype for card in CARDS for x in target.chosen(_ladders(card, target.problem))
    )
    for dtype in types:
        yield _row(target, dtype, several=len(types) > 1 or bool(target.dtype))


def _row(target: Target, dtype: str, several: bool) -> str:
    cells = []
    shown: list[tuple[bool, Run, Ladder]] = []  # with the cards whose runs are older last
    for card in CARDS:
        found = [x for x in target.chosen(_ladders(card, target.problem)) if x.dtype == dtype]
        run, worst = _run(card, target.problem), target.worst(found)
        if run is None or worst is None:
            cells.append("–")
            continue
        older = is_older(run, target.problem)
        at = f" at {fmt.assignments(worst.sizes)}" if target.every else ""
        cells.append(f"{target.written(worst)}{OLDER if older else f' {target.mark(worst)}'}{at}")
        shown.append((older, run, worst))
    _, run, ladder = min(shown, key=lambda each: each[0])
    assert ladder.winner is not None
    name = f"{target.problem} {dtype}" if several else target.problem
    size = "the worst of all" if target.every else fmt.assignments(ladder.sizes)
    wanted = f"{target.words}, {target.note}" if target.note else target.words
    return "| " + " | ".join((
        name, size, wanted, *cells, f"`{ladder.winner.planned.variant}`",
        counters(run, ladder.winner),
    )) + " |"  # fmt: skip


def counters(run: Run, rung: Rung) -> str:
    """Describe the readings of a variant's longest launch, and say on which card they were made."""
    readings, p = _readings(run), rung.planned
    answers = {words: readings.main(p.case, metric) for words, metric in COUNTERS.items()}
    parts = {words: x.value for words, x in answers.items() if isinstance(x, Reading)}
    if stalls := stalls_of(readings, [p]):
        parts |= dict(zip(stalls.reasons[:2], stalls.shares[0], strict=False))
    said = ", ".join(f"{words} {fmt.percent(100 * part)}" for words, part in parts.items())
    return f"{said} ({run.info['device']['name'].removeprefix('NVIDIA ')})" if said else "not read"


def missed(targets: Sequence[Target]) -> Iterator[str]:
    """Yield the lines that say what limits the families that fall short of their target."""
    yield "What limits those that fall short:"
    yield ""
    for target in targets:
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
def _readings(run: Run) -> Readings:
    return Readings(run)


if __name__ == "__main__":
    sys.exit(main())
