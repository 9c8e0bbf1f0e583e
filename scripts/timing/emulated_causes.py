"""Are the causes named from emulated counters those that were named from Nsight Compute's?

    python scripts/timing/emulated_causes.py [RUN …] [--jobs N] [--out FILE]

RUN: folders of committed runs, by default all of reports/h200/ that ncu read. Their kernels are
counted here, without a GPU, as `make profile` does where ncu may not read: at the sizes that
harness/run/emulated/sizes.py allows. Then each step of each ladder is explained twice, with the
same times: from the counters that were read, and from these. Writes a row a step to
reports/h200/emulated_causes.csv; a problem's rows take the place of its earlier ones. Whether the
same is said: `first`, of the cause that is named first; `countable`, of all causes but those that
rest on what the emulator does not count (the memory's traffic, waiting); `all`, of every cause.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from harness import tables
from harness.analysis.readings import Readings
from harness.analysis.why import Explainer, Step
from harness.cases import Case, Device
from harness.matrix import model, plan
from harness.progress import console
from harness.records import Counted, Planned, Profiled, Record, Uncounted
from harness.run import machine
from harness.run.emulated import stage
from harness.run.hands import OwnCores
from harness.run.known import Known
from harness.run.processes import Workers
from harness.run.site import Setting
from harness.tables import Run

ROOT = Path(__file__).resolve().parents[2]
RUNS = ROOT / "reports" / "h200"
NOT = "not counted"
TABLE = RUNS / "emulated_causes.csv"
COLUMNS = (
    "problem", "dtype", "sizes", "step", "speedup", "counted_at", "read", "emulated", "first",
    "countable", "all",
)  # fmt: skip


def main(
    runs: Annotated[list[Path] | None, typer.Argument()] = None,
    jobs: int = 0,
    out: Path = TABLE,
) -> None:
    """Count, compare, and write the table after each run."""
    rows = []
    if out.exists():
        with out.open(newline="") as file:
            rows = list(csv.DictReader(file))
    for folder in runs or sorted(path.parent for path in RUNS.glob("*/results.csv")):
        read = tables.load(folder)
        if not any(r.provenance == "ncu" for r in read.of(Counted)):
            continue
        new = list(compared(read, emulated(read, jobs or machine.cores())))
        problems = {row["problem"] for row in new}
        rows = [row for row in rows if row["problem"] not in problems] + new
        rows.sort(key=lambda row: (row["problem"], row["dtype"]))
        with out.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        console.print(f"{folder.name}: {summary(new)}", markup=False)
    console.print(f"in all: {summary(rows)}", markup=False)


def emulated(read: Run, jobs: int) -> Run:
    """The same run with what the emulator counts in the place of what ncu read."""
    bench = model.load(ROOT / "bench.yaml")
    info = read.info
    timing = bench.timing.model_copy(update={"choosing": info["timing"]["choosing"]})
    device = _device(info["device"])
    found = plan.resolve(bench, device, "cuda", info["choice"]["only"])
    records: list[Record] = [
        r for r in read.records if not isinstance(r, Counted | Uncounted | Profiled)
    ]
    known = Known({case.id: case.group for case in found.cases})
    for record in records:
        known.note(record)

    def keep(record: Record) -> None:
        records.append(record)
        known.note(record)

    sound = [c for c in found.cases if c.id in read.planned and _is_sound(read, c)]
    setting = Setting("cuda", device, bench.kernels, bench.limits, timing)
    stage.count(
        stage.Surroundings(
            setting, bench, found.problems, OwnCores(jobs), known, Workers(), keep
        ),
        sound,
    )  # fmt: skip
    return Run(read.folder, info, records)


def _device(said: dict[str, Any]) -> Device:
    names = set(Device.__dataclass_fields__) - {"own_limits", "room"}
    return Device(**{
        key: tuple(value) if isinstance(value, list) else value
        for key, value in said.items() if key in names
    })  # fmt: skip


def _is_sound(read: Run, case: Case) -> bool:
    return read.outcomes[case.id].status == "ok"


def compared(read: Run, counted: Run) -> Iterator[dict[str, str]]:
    """A row for each step whose difference is certain."""
    readings = Readings(counted)
    explain = Explainer(Readings(read)), Explainer(readings)
    for group in read.groups():
        both = [{_name(s): s for s in each.steps(group)} for each in explain]
        for name, step in both[0].items():
            if step.speed is None or step.speed.ratio is None or name not in both[1]:
                continue
            if step.finding.verdict == "nothing":
                continue
            other = both[1][name]
            was, now = _causes(step), _causes(other)
            known = [c.text for c in step.finding.causes if _is_known(other, c.quantity)]
            yield {
                "problem": group[0], "dtype": group[1], "sizes": group[2], "step": name,
                "speedup": f"{step.speed.ratio.value:.4g}",
                "counted_at": _at(counted, readings, step.after),
                "read": "; ".join(was), "emulated": "; ".join(now),
                "first": _yes(was[0] == now[0]),
                "countable": _yes(set(known or was) == set(now)),
                "all": _yes(set(was) == set(now)),
            }  # fmt: skip


def _name(step: Step) -> str:
    return f"{step.before.variant} → {step.after.variant}"


def _causes(step: Step) -> list[str]:
    return [cause.text for cause in step.finding.causes] or [step.finding.verdict]


def _is_known(step: Step, quantity: str) -> bool:
    """Whether the emulator tells it of both: not what the memory moved or warps waited for."""
    change = step.change(quantity)
    return change is not None and change.pair is not None


def _at(counted: Run, readings: Readings, p: Planned) -> str:
    found = counted.emulated.get(p.case)
    if found is None:
        return f"{NOT}: its kernels are not of our making"
    if not found.counted:
        return f"{NOT}: {found.reason.splitlines()[0]}"
    return readings.counted_at(p.case) or "its own size"


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"


def summary(rows: Sequence[dict[str, str]]) -> str:
    """`20 steps, 19 of them counted: the first cause is the same in 18 (90 %), …`."""
    if not rows:
        return "no step"
    counted = sum(not row["counted_at"].startswith(NOT) for row in rows)

    def part(name: str) -> str:
        same = sum(row[name] == "yes" for row in rows)
        return f"{same} ({same / len(rows):.0%})"

    return (
        f"{len(rows)} steps, {counted} of them counted: the first cause is the same in "
        f"{part('first')}, all that the emulator can tell in {part('countable')}, all in "
        f"{part('all')}"
    )


if __name__ == "__main__":
    sys.exit(typer.run(main))
