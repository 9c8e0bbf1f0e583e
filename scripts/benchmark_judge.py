"""Measure the judge's verdicts per second on one core, for every kernel of this repository or for
other people's kernels.

    python scripts/benchmark_judge.py [--jobs N] [--out reports/benchmarks/judge.csv] [PROBLEM …]
    python scripts/benchmark_judge.py --solutions PAIRS [--right 60] --out FILE

Each kernel is submitted twice, as text only. The second submission, whose cost is reported, finds
the files already compiled and disassembled. It covers a whole verdict:
verification of every test size on two sets of inputs, the search for shortcuts, and exact counters
at the largest test size. Seconds are processor time of all the judge's processes, so the figure
hardly depends on the machine's other load; `load` is the number of processes that competed for the
cores at that time.

PAIRS lists others' solutions to KernelBench's problems, as for benchmark_public_solutions.py, in
the order in which they are tried. Refused solutions are left out, and the script stops after
`--right` correct ones. Determining their launches from host code is not part of a verdict, and is
not measured.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from harness.errors import HarnessError
from harness.judge import ProblemFolder, Submission, Text
from harness.judge.judge import Judge
from harness.machine import devices
from harness.matrix import model, plan

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "reports" / "benchmarks" / "judge.csv"
COLUMNS = (
    "problem", "kernel", "verdict", "launches", "counted_at", "processor_s",
    "verdicts_per_second_and_core", "seconds", "first_seconds", "load", "cause",
)  # fmt: skip
SECONDS = 300.0
_TICK = os.sysconf("SC_CLK_TCK")
_CPU = slice(11, 15)
"""The fields of /proc/PID/stat, counted from the state, with the processor time of a process and
its ended children."""


@dataclass(frozen=True)
class Measured:
    """A submission, and the names in its row."""

    problem: str
    kernel: str
    submission: Submission


def submissions(problems: list[str]) -> Iterator[Measured]:
    """Every kernel of this repository, as a text in its problem's folder, counted at the largest
    test size that it supports."""
    bench = model.load(ROOT / "bench.yaml")
    device = devices.emulated(None)
    for name in problems or sorted(bench.problems):
        problem, folder = bench.problems[name], ROOT / "kernels" / name
        meant = [c for c in plan.cases_at(bench, device, name, problem.sizes.test) if not c.skip]
        for variant in problem.variants.values():
            sizes = [case.sizes for case in meant if case.variant == variant.name]
            if variant.kind == "kernel" and sizes:
                text = Text((folder / variant.source).read_text(), variant.name)
                largest = max(sizes, key=lambda each: math.prod(each.values()))
                like = ProblemFolder(str(folder), variant.name, counted=_row(largest))
                submission = Submission((text,), like, seconds=SECONDS)
                yield Measured(name, variant.name, submission)


def solutions(pairs: Path) -> Iterator[Measured]:
    """Others' solutions, in the order of a file, if their launches can be determined."""
    from benchmark_public_solutions import traced  # needs torch

    for line in pairs.read_text().splitlines():
        problem, solution = map(Path, line.split()[:2])
        try:
            submission, _ = traced(problem, solution)
        except HarnessError as error:
            print(problem.stem, solution.stem[:8], "refused:", str(error).splitlines()[0][:120])
            continue
        yield Measured(problem.stem, solution.stem[:8], submission)


def _row(sizes: Mapping[str, int]) -> dict[str, list[list[int]]]:
    return {", ".join(sizes): [list(sizes.values())]}


def processor_seconds(pid: int) -> float:
    """The processor time of a process and its descendants, including finished ones."""
    parents: dict[int, list[int]] = {}
    took: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents.setdefault(int(fields[1]), []).append(int(path.name))
        took[int(path.name)] = sum(map(int, fields[_CPU])) / _TICK
    found, todo = 0.0, [pid]
    while todo:
        one = todo.pop()
        found += took.get(one, 0.0)
        todo += parents.get(one, [])
    return found


def measured(judge: Judge, one: Measured) -> list[object]:
    """Measure one row of the table, with a judge whose processes serve no other row."""
    submission, names = one.submission, [one.problem, one.kernel]
    try:
        began = time.monotonic()
        judge.judge(submission)
        first = time.monotonic() - began
        cpu, began = processor_seconds(judge.pids[0]), time.monotonic()
        [verdict] = judge.judge(submission).verdicts
    except HarnessError as error:
        return [*names, "refused", 0, *[""] * 6, str(error).splitlines()[0]]
    seconds = time.monotonic() - began
    took = processor_seconds(judge.pids[0]) - cpu
    sizes = " ".join(f"{name}={value}" for name, value in verdict.counted_at.items())
    return [
        *names, verdict.verdict, verdict.verified, sizes, f"{took:.2f}",
        f"{1 / took:.2f}" if took else "", f"{seconds:.2f}", f"{first:.2f}",
        f"{os.getloadavg()[0]:.1f}",
        (verdict.message or verdict.cause).partition("\n")[0],
    ]  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--solutions", type=Path, metavar="PAIRS")
    parser.add_argument("--right", type=int, default=60, help="solutions that are enough")
    options = parser.parse_args(arguments)
    found = solutions(options.solutions) if options.solutions else submissions(options.problems)
    judges = [Judge(jobs=1) for _ in range(options.jobs)]
    try:
        free = list(judges)

        def one(each: Measured) -> list[object]:
            judge = free.pop()
            try:
                row = measured(judge, each)
            finally:
                free.append(judge)
            print(*row[:3], row[6], flush=True)
            return row

        rows = []
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with (
            ThreadPoolExecutor(max_workers=options.jobs) as pool,
            options.out.open("w", newline="") as file,
        ):
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            # A pool would take all solutions at once, rather than only as many as needed.
            at_once = options.jobs if options.solutions else None
            while batch := list(islice(found, at_once)):
                for row in pool.map(one, batch):
                    writer.writerow(row)
                    file.flush()  # a stopped benchmark keeps its results so far
                    rows.append(row)
                if options.solutions and sum(r[2] == "right" for r in rows) >= options.right:
                    break
    finally:
        for judge in judges:
            judge.close()
    rates = [float(str(row[6])) for row in rows if row[2] == "right" and row[6]]
    if rates:
        print(f"{len(rates)} right kernels: the median is {statistics.median(rates):.2f} verdicts "
              f"per second and core, the least {min(rates):.2f}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
