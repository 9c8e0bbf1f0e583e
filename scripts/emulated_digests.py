"""Write hashes of the emulator's results and counts on this machine, to compare two hosts.

There is one row per operation of the warp machine (on the operands of its tests) and per case, at
its test sizes and, with --bench, at the size of a quick run. A row has hashes of the inputs, of the
outputs' bits, and of all counts, for PTX and for machine code.

With --most N, there are only N cases of each problem, from variants spread over its ladder, each at
a small test size; every problem's first case comes before any problem's second.

    python scripts/emulated_digests.py FILE [--only PROBLEM]... [--most N] [--bench]
        [--no-operations]
"""

from __future__ import annotations

import csv
import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from harness.backends.base import Execution
from harness.backends.emulated_device import emulated_device
from harness.cases import Case
from harness.errors import CompileError
from harness.matrix import filters, model
from harness.problem import loading
from harness.run import planning
from harness.run.emulated.emulate import by_front_end
from harness.run.runner import Runner
from harness.worker.inputs import Inputs

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = ("what", "front_end", "inputs", "outputs", "counts")
ARCH = "sm_90"
NOTHING = "–"

Row = tuple[str, str, str, str, str]


def main(
    out: Path,
    only: list[str] = [],  # noqa: B006
    bench: Annotated[bool, typer.Option("--bench", help="Also at a quick run's size.")] = False,
    most: Annotated[int, typer.Option(help="Cases of a problem; 0: all.")] = 0,
    operations: bool = True,
) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for row in chain(of_operations() if operations else (), of_cases(only, bench, most)):
            table.writerow(row)
            file.flush()


def of_operations() -> Iterator[Row]:
    """One row for each group of instructions in the tests that compare the engine with NumPy."""
    sys.path[:0] = [str(ROOT / "tests/emulator"), str(ROOT / "tests/emulator/engine/native")]
    from machine_cases import GROUPS
    from operation_kernels import BLOCKS, kernel, operands, size_of

    from harness.emulator import launch

    for group in GROUPS:
        given = operands(group)
        size = max(size_of(group.result), 2)
        results = [np.full(group.count, 0xA5, f"u{size}") for _ in group.instructions]
        report = launch(kernel(group), "k", BLOCKS, group.threads, [*given, *results])
        counts = [(c.name, c.value, c.provenance) for c in report.counters]
        yield group.name, "ptx", hashed(given), hashed(results), hashed(counts)


def of_cases(only: list[str], bench_sizes: bool, most: int = 0) -> Iterator[Row]:
    whole = model.load(ROOT / "bench.yaml")
    bench = filters.narrowed(whole, filters.Choice(tuple(only), quick=True), "emulator")
    run = Runner(bench, emulated_device(ARCH), "emulator", only, ROOT)
    counted = [case for case in run.cases if not planning.over_budget(case, bench, run.plan)]
    every = [case for case in (*run.tests, *(counted if bench_sizes else ()))
             if not (case.skip or case.refusal or case.is_library)]  # fmt: skip
    for case in few(every, most, bench.kernels) if most else every:
        yield from of_case(bench, case)


def few(cases: Sequence[Case], most: int, kernels: Path) -> list[Case]:
    """Choose a small case for each of `most` variants of each problem, in turn: all problems' first
    cases come before any second one."""
    by_problem: dict[str, dict[str, list[Case]]] = {}
    for case in cases:
        by_problem.setdefault(case.problem, {}).setdefault(case.variant, []).append(case)
    turns = [
        [small(of, kernels) for of in spread([*variants.values()], most)]
        for variants in by_problem.values()
    ]
    return [case for turn in zip_longest(*turns) for case in turn if case]


def spread(among: Sequence[list[Case]], most: int) -> list[list[Case]]:
    """Choose `most` of them: the first, the last, and evenly spaced ones in between."""
    last = len(among) - 1
    if most > last:
        return [*among]
    return [among[round(i * last / max(1, most - 1))] for i in range(most)]


def small(cases: Sequence[Case], kernels: Path) -> Case:
    """Choose the case that has more work than a third of the others; the smallest one would run a
    single thread."""

    def work(case: Case) -> tuple[float, float]:
        found = loading.load(kernels / case.problem).work(case.sizes, case.dtype)
        return found.flops, found.bytes

    return sorted(cases, key=work)[len(cases) // 3]


def of_case(bench: model.Bench, case: Case) -> Iterator[Row]:
    try:
        ptx, machine = by_front_end(bench, case, ARCH)
    except CompileError:
        return  # the other host fails to compile it too
    found = loading.load(bench.kernels / case.problem)
    inputs = hashed(Inputs(found, case, bench.timing.seed, 0).values.values())
    yield case.id, "ptx", inputs, *of_execution(ptx)
    if isinstance(machine, str):
        yield case.id, "machine code", inputs, machine, NOTHING
    else:
        yield case.id, "machine code", inputs, *of_execution(machine)


def of_execution(found: Execution) -> tuple[str, str]:
    outputs = hashed(array for _, array in sorted(found.outputs.items()))
    return outputs, hashed([found.faults, found.counts, found.lines, found.machine_code])


def hashed(parts: Iterable[object]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    typer.run(main)
