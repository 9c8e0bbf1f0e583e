"""Write reports/h200/causes.csv: the gain of each step of the committed runs, and its causes.

    python scripts/pages/causes.py            write the file, and say how many steps are explained
    python scripts/pages/causes.py --check    exit 1 if it is out of date

Reads the counters of Nsight Compute from the journals, so no GPU is needed. If the H200's run has
no counters for a step, the H100's run is used instead; `card` says which. The ideas come from the
current bench.yaml, because the runs predate the key `idea`. `agrees` states how the causes relate
to the idea: yes, no, outweighed (the stated quantity improved, but the variant is slower for
another reason), no gain, or against (it is slower because the stated quantity got worse).
"""

from __future__ import annotations

import argparse
import csv
import io
import math
import random
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness import load
from harness.analysis.causes.why import Explainer, LadderStep
from harness.analysis.ladder import short_names
from harness.analysis.readings import Readings
from harness.journal.records import Planned
from harness.matrix import model
from harness.matrix.variants import Problem
from harness.report import format as fmt
from harness.tables import Run

ROOT = Path(__file__).resolve().parents[2]
RUNS = ROOT / "reports" / "h200"
TABLE = RUNS / "causes.csv"
COLUMNS = ("problem", "dtype", "size", "step", "speedup", "idea", "causes", "agrees", "card")
OTHER_RUNS = ROOT / "reports" / "h100"
WORTH_SAYING = 1.05
"""Rates cover only steps that changed the time by at least this factor."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    options = parser.parse_args(arguments)
    problems = model.load(ROOT / "bench.yaml", ROOT / "kernels").problems
    steps = [
        step
        for path in sorted(RUNS.glob("*/results.csv"))
        for step in counted_steps(path.parent.name, problems)
    ]
    wanted = table(steps)
    if options.check:
        if TABLE.exists() and TABLE.read_text(encoding="utf-8") == wanted:
            return 0
        print(f"{TABLE} is out of date: make causes", file=sys.stderr)
        return 1
    TABLE.write_text(wanted, encoding="utf-8")
    print("\n".join(rates([step for _, step in steps])))
    return 0


def counted_steps(
    problem: str, problems: Mapping[str, Problem]
) -> Iterator[tuple[str, LadderStep]]:
    """Yield each step on an H200 or, if it has no counters there, on an H100; each is preceded by
    its card's name."""
    of_other: dict[tuple[str, ...], LadderStep] = {}
    for step in steps_of(with_ideas(load(RUNS / problem), problems)):
        if step.finding.verdict != "uncounted":
            yield "H200", step
            continue
        if not of_other and (OTHER_RUNS / problem / "results.csv").exists():
            run = with_ideas(load(OTHER_RUNS / problem), problems)
            of_other = {which(s): s for s in steps_of(run) if s.finding.verdict != "uncounted"}
        other = of_other.get(which(step))
        yield ("H100", other) if other else ("H200", step)


def with_ideas(run: Run, problems: Mapping[str, Problem]) -> Run:
    """Return the run with its cases' ideas taken from the current variants."""
    records = []
    for record in run.records:
        if isinstance(record, Planned) and record.problem in problems:
            said = problems[record.problem].variants.get(record.variant)
            if said:
                record = replace(record, idea=said.idea, is_trap=said.is_trap)  # noqa: PLW2901
        records.append(record)
    return Run(run.folder, run.info, records)


def steps_of(run: Run) -> list[LadderStep]:
    """Return the steps for which a difference in time is certain."""
    explainer = Explainer(Readings(run))
    found = [step for group in run.groups() for step in explainer.steps(group)]
    return [s for s in found if s.speed and s.speed.verdict in ("faster", "slower")]


def which(step: LadderStep) -> tuple[str, ...]:
    """Return the columns that identify a step: problem, type, size and the two variants."""
    after = step.after
    names = short_names([step.before.variant, after.variant])
    return (
        after.problem, after.dtype, fmt.assignments(after.sizes),
        f"{names[step.before.variant]} → {names[after.variant]}",
    )  # fmt: skip


def table(steps: Iterable[tuple[str, LadderStep]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for card, step in steps:
        writer.writerow([
            *which(step), f"{speedup(step):.4g}",
            f"spoils {step.idea}" if step.after.is_trap else step.idea,
            "; ".join(cause.text for cause in step.finding.causes), step.agrees, card,
        ])  # fmt: skip
    return text.getvalue()


def speedup(step: LadderStep) -> float:
    assert step.speed is not None
    assert step.speed.ratio is not None
    return step.speed.ratio.value


def rates(steps: Sequence[LadderStep]) -> Iterator[str]:
    """Sentences on how many steps are explained, how often by the stated idea, and which causes
    contradict an idea."""
    large = [s for s in steps if abs(math.log(speedup(s))) >= math.log(WORTH_SAYING)]
    stated = [s for s in large if s.idea not in ("", "none")]
    gained = [s for s in stated if (speedup(s) > 1) != s.after.is_trap]
    against = [s for s in stated if s.agrees == "against"]
    outweighed = sum(s.agrees == "outweighed" for s in stated)
    agree = sum(s.agrees == "yes" for s in gained)
    yield f"steps of {WORTH_SAYING - 1:.0%} and more: {len(large)}"
    yield f"explained: {part(sum(bool(s.finding.causes) for s in large), len(large))}"
    yield (
        f"the idea is among the causes: {part(agree, len(gained))} of the steps that went the way "
        f"that was meant ({by_chance(gained):.0%} if the ideas are dealt out at random); "
        f"{part(agree, len(stated))} of all that state one, and in {outweighed} more it is better "
        "at it and slower by something else"
    )
    yield f"a cause contradicts the idea: {len(against)}"
    yield from (f"  {described(step)}" for step in against)
    yield "not explained:"
    yield from (f"  {described(step)}" for step in large if not step.finding.causes)


def by_chance(steps: Sequence[LadderStep], draws: int = 200) -> float:
    """Assign random ideas to the steps; return the share of steps whose causes include theirs."""
    chance = random.Random(1)
    ideas, hits = [step.idea for step in steps], 0
    for _ in range(draws):
        chance.shuffle(ideas)
        hits += sum(
            any(idea in cause.ideas for cause in step.finding.causes)
            for idea, step in zip(ideas, steps, strict=True)
        )
    return hits / (draws * len(steps)) if steps else 0.0


def part(count: int, of: int) -> str:
    return f"{count} of {of} ({count / of:.1%})" if of else "0 of 0"


def described(step: LadderStep) -> str:
    p = step.after
    sizes = fmt.assignments(p.sizes)
    return f"{p.problem} {p.dtype}, {sizes}: {p.builds_on} → {p.variant}, {speedup(step):.3g}×"


if __name__ == "__main__":
    sys.exit(main())
