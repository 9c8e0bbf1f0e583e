"""Emulate the matrix for each architecture in turn, in full or at small sizes.

    python scripts/benchmark_architectures.py [sm_75 sm_80 …] [--measure whole] [--every N]

Writes reports/emulated/architectures.csv: for each architecture, the cases and their outcomes, how
many were counted in machine code, how many of those give results that are bit-identical to their
PTX's, and which differ. Clock readings are not compared. `small` (the default) launches each
variant and type once, at a size at which it is verified; `--every 4` takes one variant in four.
`whole` is a run with --quick, which does not keep results to compare. A row replaces the earlier
one of the same measure and sampling, so a few architectures can be run at a time. Exits with 1 if a
case failed or a run did not end. Deadlines are generous, because the outcome must not depend on how
busy this machine is.
"""

from __future__ import annotations

import csv
import math
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from harness import tables
from harness.backends.base import Execution
from harness.backends.emulated import EmulatorBackend
from harness.backends.emulated_device import emulated_device
from harness.backends.machine_code import MachineCodeWorkspace, list_together
from harness.cases import Case
from harness.compiler import compile as compiler
from harness.compiler.compile import Built
from harness.errors import CompileError
from harness.matrix import model, plan
from harness.problem import loading
from harness.worker.inputs import Inputs

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "reports" / "emulated" / "architectures.csv"
ALL = ["sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110",
       "sm_120", "sm_121"]  # fmt: skip
DEADLINE_S = 3600
TOGETHER = 24
"""The number of cubins that the disassembler lists in one call."""
MOST_ELEMENTS = 1 << 16
"""The largest product of a small case's sizes, if there is a test that small."""
COLUMNS = (
    "arch", "measured", "cases", "ok", "skipped", "failed", "counted_in_machine_code", "percent",
    "equal_to_ptx", "differ",
)  # fmt: skip
Row = dict[str, str]


class Measure(str, Enum):
    small = "small"
    whole = "whole"


def main(
    arches: Annotated[list[str] | None, typer.Argument()] = None,
    measure: Measure = Measure.small,
    every: Annotated[int, typer.Option(min=1)] = 1,
    out: Path = TABLE,
) -> None:
    """Run each architecture, and write its row afterwards."""
    rows: dict[tuple[str, str], Row] = {}
    if out.exists():
        with out.open(newline="") as file:
            rows = {(row["arch"], row["measured"]): row for row in csv.DictReader(file)}
    bad = False
    for arch in arches or ALL:
        kind = measure.value + (f", 1 of {every}" if every > 1 else "")
        found = small(arch, every) if measure is Measure.small else whole(arch)
        row = {"arch": arch, "measured": kind} | {k: str(v) for k, v in found.items()}
        if kind == measure.value:  # a full measurement replaces samples of it
            rows = {key: old for key, old in rows.items() if not _is_sample(key, arch, kind)}
        rows[arch, kind] = row
        bad |= row["failed"] != "0"
        _write(out, list(rows.values()))
        print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    sys.exit(bad)


def _is_sample(key: tuple[str, str], arch: str, whole: str) -> bool:
    return key[0] == arch and key[1].startswith(f"{whole}, ")


def _write(out: Path, rows: Sequence[Row]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda r: (int(r["arch"][3:]), r["measured"])))


def whole(arch: str) -> dict[str, Any]:
    """Run the matrix with --quick, and return the row of its results."""
    with tempfile.TemporaryDirectory() as folder:
        matrix = yaml.safe_load((ROOT / "bench.yaml").read_text())
        matrix["limits"]["qualify_s"] = DEADLINE_S
        patient = Path(folder, "bench.yaml")
        patient.write_text(yaml.safe_dump(matrix))
        command = [sys.executable, "-m", "harness", "run", "--quick", "--backend", "emulator",
                   "--arch", arch, "--out", folder + "/run",
                   "--config", str(patient), "--kernels", str(ROOT / "kernels")]  # fmt: skip
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        results = Path(folder, "run", "results.csv")
        if ended.returncode not in (0, 1) or not results.exists():
            sys.exit(f"{arch}: the run ended with {ended.returncode}\n{ended.stderr[-2000:]}")
        with results.open(newline="") as file:
            cases = list(csv.DictReader(file))
        counted = tables.load(results.parent).machine_code
    status = Counter(case["status"] for case in cases)
    return _row(status["ok"], status["skipped"], status["failed"], len(counted))


def _row(
    ok: int, skipped: int, failed: int, counted: int, equal: object = "", differ: str = ""
) -> dict[str, Any]:
    percent = f"{100 * counted / (ok + failed):.1f}" if ok + failed else ""
    return {
        "cases": ok + skipped + failed, "ok": ok, "skipped": skipped, "failed": failed,
        "counted_in_machine_code": counted, "percent": percent, "equal_to_ptx": equal,
        "differ": differ,
    }  # fmt: skip


def small(arch: str, every: int) -> dict[str, Any]:
    """Launch each variant and type once at a small size, as PTX and as machine code; return the
    row."""
    bench = model.load(ROOT / "bench.yaml")
    kinds: dict[tuple[str, str, str], list[Case]] = {}
    for test in plan.resolve(bench, emulated_device(arch), "emulator").tests:
        if test.kind == "kernel":
            kinds.setdefault((test.problem, test.variant, test.dtype), []).append(test)
    chosen = [_chosen(tests) for tests in list(kinds.values())[::every]]
    cases = [case for case in chosen if not case.skip]
    found, differ = Counter[str](), dict[str, None]()
    for at in range(0, len(cases), TOGETHER):
        for case, built in _built(bench, cases[at : at + TOGETHER], arch):
            how, why = _launched(bench, case, built, arch)
            found.update(how)
            if "counted" in how and "equal" not in how:
                differ[f"{case.problem}/{case.variant}"] = None
            if why:
                print(f"{arch} {case.id}: {why}", flush=True)
    failed = len(cases) - found["ok"]
    skipped = len(chosen) - len(cases)
    return _row(found["ok"], skipped, failed, found["counted"], found["equal"], " ".join(differ))


def _chosen(tests: Sequence[Case]) -> Case:
    """The largest small test that is not skipped."""
    able = [test for test in tests if not test.skip] or list(tests)
    able.sort(key=_elements)
    return next((test for test in reversed(able) if _elements(test) <= MOST_ELEMENTS), able[0])


def _elements(test: Case) -> int:
    return math.prod(test.sizes.values())


def _built(
    bench: model.Bench, cases: Sequence[Case], arch: str
) -> Iterator[tuple[Case, Built | str]]:
    made: list[tuple[Case, Built | str]] = []
    for case in cases:
        try:
            made.append((case, compiler.build(compiler.unit(case, bench.kernels, arch))))
        except CompileError as error:
            made.append((case, str(error)))
    list_together(built for _, built in made if isinstance(built, Built))
    yield from made


def _launched(
    bench: model.Bench, case: Case, built: Built | str, arch: str
) -> tuple[set[str], str]:
    """Launch a case; return which of "ok", "counted" and "equal" hold, and the reason if one does
    not."""
    if isinstance(built, str):
        return set(), built
    problem = loading.load(bench.kernels / case.problem)
    inputs = Inputs(problem, case, bench.timing.seed, problem.timed_draw)
    buffers = problem.buffers(case.sizes, case.dtype)
    with (
        EmulatorBackend(arch).workspace(problem, buffers, inputs.values) as ptx,
        MachineCodeWorkspace(buffers, inputs.values) as machine,
    ):
        verified, one = inputs.verify(ptx, case, built, "before")
        if not verified.ok:
            return set(), f"from PTX: {verified.reason}"
        if refusal := machine.refusal(case, built):
            return {"ok"}, refusal
        verified, other = inputs.verify(machine, case, built, "before")
        if not verified.ok:
            return {"counted"}, f"from machine code: {verified.reason}"
        if not _are_equal(one, other, problem.readings):
            return {"ok", "counted"}, "other bits than from PTX, within the tolerance"
    return {"ok", "counted", "equal"}, ""


def _are_equal(one: Execution, other: Execution, readings: Container[str]) -> bool:
    return all(
        array.tobytes() == other.outputs[name].tobytes()
        for name, array in one.outputs.items()
        if name not in readings
    )


if __name__ == "__main__":
    typer.run(main)
