"""Compare the causes found from emulated counters with those found from Nsight Compute's readings.

    python scripts/timing/emulated_causes.py [RUN …] [--card h100] [--own-size] [--jobs N] …

RUN: committed runs, by name or folder; by default all runs in reports/CARD/ that have ncu's
readings. The cases in their ladders' steps are counted on this machine, without a GPU, at the sizes
that harness/run/emulated/sizes.py allows, as `make profile` does where ncu is not permitted to read
counters. With --own-size, only cases within the limits are counted, in minutes instead of hours,
and the steps of larger cases keep their earlier rows. Then each step of each ladder is explained
with the same times: from the counters that were read (`read`), from the subset that the emulator
also has (`alone`), and from the emulator's (`emulated`). Writes one row per step to
reports/CARD/emulated_causes.csv; the rows of a size replace that size's earlier ones. Three columns
say whether the causes agree. `countable` covers causes that rest only on counters that both have:
it shows how well the emulator counts. `first` and `all` cover the first cause and every cause that
was read: they show what is lost without memory traffic and wait reasons, for which `alone` is the
upper bound. A kernel whose machine code differs from the timed code, because its source has
changed, is not counted.

Counts are cached in .cache/emulated_causes until that problem's kernels or the emulator change. The
same command therefore continues where an earlier one ended or ran out of time (--seconds), in which
case it exits with 3. A full comparison takes hours of processor time, on all cores.
"""

from __future__ import annotations

import csv
import hashlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from harness import tables
from harness.analysis.causes.why import Explainer, LadderStep
from harness.analysis.readings import JUDGES, Readings
from harness.cases import Case, Device
from harness.console.progress import console
from harness.journal.counter_records import Counted, Profiled, Uncounted
from harness.journal.file import Journal, read_journal
from harness.journal.records import Finished, Planned, Record
from harness.machine import environment
from harness.matrix import model, plan
from harness.matrix.written import Limits
from harness.problem import Problem
from harness.processes import stopping
from harness.processes.workers import Workers
from harness.run import compilation
from harness.run.emulated import sizes, stage
from harness.run.executor import LocalExecutor
from harness.run.journal_state import JournalState
from harness.run.task_runner import RunSettings
from harness.statistics.net_times import Group, group_of
from harness.tables import Run

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / "reports"
KEPT = ROOT / ".cache" / "emulated_causes"
NOT = "not counted"
INEXACT = f"{NOT} exactly: how threads meet, or too small a size, decides what one of them counts"
OTHER_CODE = "it is not the machine code that was timed"
TABLE = "emulated_causes.csv"
WHOLE = Finished("emulated causes")
NOT_ALL = 3
COLUMNS = (
    "problem", "dtype", "sizes", "step", "speedup", "counted_at", "read", "alone", "emulated",
    "first", "countable", "all",
)  # fmt: skip


def main(
    runs: Annotated[list[Path] | None, typer.Argument()] = None,
    card: Annotated[str, typer.Option(help="The folder of reports/ with the runs.")] = "h200",
    jobs: int = 0,
    own_size: Annotated[bool, typer.Option("--own-size", help="Count no larger case.")] = False,
    seconds: Annotated[float, typer.Option(help="Stop then; 0: when all is counted.")] = 0,
    out: Path | None = None,
) -> None:
    """Count, compare, and write the table after each run."""
    stopping.listen()
    if seconds:
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGTERM))
        timer.daemon = True
        timer.start()
    folder = REPORTS / card
    out = out or folder / TABLE
    left = [folder / each if (folder / each).is_dir() else each
            for each in runs or _committed(folder)]  # fmt: skip
    try:
        while left:
            begun, read = time.monotonic(), tables.load(left[0])
            if any(r.provenance == "ncu" for r in read.of(Counted)):
                counted = emulated(read, jobs or environment.cores(), own_size)
                new = list(compared(read, counted, groups(read, counted, own_size)))
                write(out, new)
                took = time.monotonic() - begun
                console.print(f"{left[0].name}, {took:.0f} s: {summary(new)}", markup=False)
            left.pop(0)
    except stopping.TOLD:
        names = " ".join(folder.name for folder in left)
        console.print(f"stopped; left: {names}\n  the same command goes on there", markup=False)
        sys.exit(NOT_ALL)
    console.print(f"in all: {summary(rows_of(out))}", markup=False)


def _committed(card: Path) -> list[Path]:
    """The committed runs, the smallest first, so that most are done when time runs out."""
    folders = [path.parent for path in card.glob("*/results.csv")]
    return sorted(folders, key=lambda folder: (folder / "journal.jsonl.gz").stat().st_size)


def rows_of(out: Path) -> list[dict[str, str]]:
    if not out.exists():
        return []
    with out.open(newline="") as file:
        return list(csv.DictReader(file))


def write(out: Path, new: Sequence[dict[str, str]]) -> None:
    same = {(row["problem"], row["sizes"]) for row in new}
    kept = [row for row in rows_of(out) if (row["problem"], row["sizes"]) not in same]
    rows = [*kept, *new]
    rows.sort(key=lambda row: (row["problem"], row["dtype"]))
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def emulated(read: Run, jobs: int, own_size: bool = False) -> Run:
    """Return the run with the emulator's counts instead of ncu's readings."""
    bench = model.load(ROOT / "bench.yaml")
    info = read.info
    timing = bench.timing.model_copy(update={"choosing": info["timing"]["choosing"]})
    device = _device(info["device"])
    found = plan.resolve(bench, device, "cuda", info["choice"]["only"])
    records: list[Record] = [
        r for r in read.records if not isinstance(r, Counted | Uncounted | Profiled)
    ]
    known = JournalState({case.id: case.group for case in found.cases})
    for record in records:
        known.note(record)
    KEPT.mkdir(parents=True, exist_ok=True)
    state = _state(bench.kernels, {c.problem for c in found.cases})
    which = "own-size-" if own_size else ""
    path = KEPT / f"{read.folder.parent.name}-{read.folder.name}-{which}{state}.jsonl"
    with Journal(path) as kept:
        for record in read_journal(path):
            records.append(record)
            known.note(record)

        def keep(record: Record) -> None:
            records.append(record)
            known.note(record)
            kept.append(record)

        if WHOLE not in records:
            setting = RunSettings("cuda", device, bench.kernels, bench.limits, timing)
            chosen = shown(read)
            sound = [c for c in found.cases if c.id in chosen and _is_sound(read, c)]
            if own_size:
                sound = [c for c in sound if _is_within(c, found.problems, bench.limits)]
            stage.count(
                stage.TimedRun(
                    setting, bench, found.problems, LocalExecutor(jobs), known, Workers(), keep,
                ),
                as_timed(read, sound, setting),
            )  # fmt: skip
            keep(WHOLE)
    return Run(read.folder, info, records)


def shown(read: Run) -> set[str]:
    """The cases that the ladders' steps compare: each variant at the launch shape at which it is
    shown."""
    return {p.case for group in read.groups() for p in read.timings.shown(group)}


def _state(kernels: Path, problems: Iterable[str]) -> str:
    """A hash of everything that affects the counts: the kernels, and the code that executes
    them."""
    folders = [*(kernels / name for name in ("common", *sorted(problems))),
               ROOT / "harness/emulator", ROOT / "harness/run/emulated"]  # fmt: skip
    files = [path for folder in folders for path in sorted(folder.rglob("*"))
             if path.is_file() and "__pycache__" not in path.parts]  # fmt: skip
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def as_timed(read: Run, sound: Sequence[Case], setting: RunSettings) -> list[Case]:
    """Return the cases whose kernels still compile to the machine code that was timed. The counters
    of any other code would not explain the times."""
    device = setting.device
    made = compilation.compile_all(sound, setting.kernels, device.arch).built
    return [
        case for case in sound
        if case.id in made and _code(compilation.described(case, made[case.id], device)[0])
        == _code(read.compiled.get(case.id, []))
    ]  # fmt: skip


def _code(steps: Sequence[Any]) -> list[tuple[str, str]]:
    return [(step.kernel, step.sass_sha256) for step in steps]


def _device(said: dict[str, Any]) -> Device:
    names = set(Device.__dataclass_fields__) - {"own_limits", "room"}
    return Device(**{
        key: tuple(value) if isinstance(value, list) else value
        for key, value in said.items() if key in names
    })  # fmt: skip


def _is_within(case: Case, problems: Mapping[str, Problem], limits: Limits) -> bool:
    return sizes.is_within(problems[case.problem].work(case.sizes, case.dtype), limits)


def _is_sound(read: Run, case: Case) -> bool:
    return read.outcomes[case.id].status == "ok"


def groups(read: Run, counted: Run, own_size: bool) -> list[Group]:
    """The groups to compare: all, or those in which a case was counted."""
    there = {group_of(read.planned[case]) for case in counted.emulated}
    return [group for group in read.groups() if not own_size or group in there]


def compared(
    read: Run, counted: Run, among: Sequence[Group] | None = None
) -> Iterator[dict[str, str]]:
    """One row for each step whose difference is certain."""
    readings = Readings(counted)
    explain = [Explainer(Readings(read)), Explainer(Readings(alone(read, counted))),
               Explainer(readings)]  # fmt: skip
    for group in read.groups() if among is None else among:
        steps, *others = [{_name(s): s for s in each.steps(group)} for each in explain]
        for name, step in steps.items():
            if step.speed is None or step.speed.ratio is None:
                continue
            if step.finding.verdict == "nothing" or any(name not in each for each in others):
                continue
            own, ours = (each[name] for each in others)
            was, least, now = map(_causes, (step, own, ours))
            at = _at(counted, readings, step.before, step.after)
            if not at.startswith(NOT) and ours.finding.verdict == "uncounted":
                at = INEXACT
            both = [c.text for c in ours.finding.causes if _is_known(own, c.quantity)]
            yield {
                "problem": group[0], "dtype": group[1], "sizes": group[2], "step": name,
                "speedup": f"{step.speed.ratio.value:.4g}",
                "counted_at": at,
                "read": "; ".join(was), "alone": "; ".join(least), "emulated": "; ".join(now),
                "first": _yes(was[0] == now[0]),
                "countable": _yes(set(least) == set(both or now)),
                "all": _yes(set(was) == set(now)),
            }  # fmt: skip


def alone(read: Run, counted: Run) -> Run:
    """Return the run with only those ncu readings whose counters causes may also use in the
    emulated run."""
    ours = {r.metric for r in counted.of(Counted) if r.provenance in JUDGES}
    records: list[Record] = [
        r for r in read.records if not isinstance(r, Counted) or r.metric in ours
    ]
    return Run(read.folder, read.info, records)


def _name(step: LadderStep) -> str:
    return f"{step.before.variant} → {step.after.variant}"


def _causes(step: LadderStep) -> list[str]:
    return [cause.text for cause in step.finding.causes] or [step.finding.verdict]


def _is_known(step: LadderStep, quantity: str) -> bool:
    change = step.change(quantity)
    return change is not None and change.pair is not None


def _at(counted: Run, readings: Readings, *both: Planned) -> str:
    """The size at which a step's cases were counted, or the reason why one of them was not."""
    for p in both:
        found = counted.emulated.get(p.case)
        if found is None:
            return f"{NOT}: {OTHER_CODE if p.kernels else 'its kernels are not of our making'}"
        if not found.counted:
            return f"{NOT}: {found.reason.splitlines()[0]}"
    return readings.counted_at(both[-1].case) or "its own size"


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"


def summary(rows: Sequence[dict[str, str]]) -> str:
    """Sentences such as `20 steps, 19 of them counted. The same is said in … of these`."""
    known = [row for row in rows if not row["counted_at"].startswith(NOT)]
    if not known:
        return f"{len(rows)} steps, none of them counted"
    named = [[row[which].split("; ") for which in ("read", "alone")] for row in known]

    def part(same: Sequence[bool]) -> str:
        return f"{sum(same)} ({sum(same) / len(same):.0%})"

    first, countable, every = (
        part([row[which] == "yes" for row in known]) for which in ("first", "countable", "all")
    )
    return (
        f"{len(rows)} steps, {len(known)} of them counted. Of these the same is named as from "
        f"ncu's readings of the same counters in {countable}; of all that ncu read, the first "
        f"cause in {first}, every cause in {every}, where those readings themselves name "
        f"{part([was[0] == least[0] for was, least in named])} and "
        f"{part([set(was) == set(least) for was, least in named])}"
    )


if __name__ == "__main__":
    sys.exit(typer.run(main))
