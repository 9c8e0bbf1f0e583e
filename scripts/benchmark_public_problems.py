"""Judge public problems unmodified: whether each can be read, and the verdicts on its kernels.

    python scripts/benchmark_public_problems.py KERNELBENCH/level1 DEFINITIONS --csv FILE

The folders hold other people's problems (.py for KernelBench, .json for FlashInfer-Bench or
SOL-ExecBench), which users fetch themselves. The script needs torch, but no GPU. A problem keeps
its own sizes if they can be judged within a minute; otherwise its sizes are reduced, and the table
lists the reduced sizes. Axes for which a definition sets no size get 1, 7 and 34. Every problem
gets a kernel that does nothing, and must not pass; problems whose operation is in KERNELS also get
a correct kernel, and one that omits the last element. The kernels are the harness's own, because
public solutions launch their kernels from host code.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from harness.errors import HarnessError
from harness.judge import Kernel, Problem, Submission
from harness.judge.judge import Judge
from harness.judge.public import read

CAPS = (64, 32, 16, 8, 128, 256)
"""Caps on the sizes, in the order in which they are tried. The first one with which a problem can
be judged is used."""

KERNELS = {
    "ReLU": "x > 0 ? x : 0", "LeakyReLU": "x > 0 ? x : 0.01f * x", "Sigmoid": "1 / (1 + expf(-x))",
    "Tanh": "tanhf(x)", "Swish": "x / (1 + expf(-x))", "GELU_": "x * normcdff(x)",
    "SELU_": "1.0507009873554805f * (x > 0 ? x : 1.6732632423543772f * expm1f(x))",
    "HardSigmoid": "fminf(fmaxf((x + 3) / 6, 0), 1)",
    "Softplus": "fmaxf(x, 0) + log1pf(expf(-fabsf(x)))",
    "Softsign": "x / (1 + fabsf(x))", "ELU": "x > 0 ? x : expm1f(x)",
    "HardTanh": "fminf(fmaxf(x, -1), 1)",
    "MinGPTNewGelu": "0.5f * x * (1 + tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x)))",
}  # fmt: skip
"""Operation, as named in a problem's file → the expression for its value at x."""

COLUMNS = ("problem", "suite", "read", "sizes", "reduced", "seconds", "empty kernel",
           "right kernel", "short kernel", "why not")  # fmt: skip
"""The columns of the table. reduced: the sizes that are not the problem's own. seconds: wall time
until the last verdict."""

SECONDS = 60
LATE = "not done within"
"""The beginning of a verdict that was not reached in time."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--csv", type=Path, required=True)
    options = parser.parse_args()
    found = [file for folder in options.folders for file in folder.rglob("*")]
    files = sorted((f for f in found if f.suffix in (".py", ".json")), key=_number)
    passed = 0
    with Judge(jobs=1) as judge, options.csv.open("w", newline="") as file:
        rows = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        rows.writeheader()
        for path in files:
            row = judged(judge, path)
            rows.writerow(row)
            file.flush()
            passed += row["empty kernel"] in ("right", "") and row["read"] == "yes"
            print(*row.values(), flush=True)
    return min(passed, 1)


def _number(file: Path) -> tuple[str, str, int, str]:
    number = file.name.partition("_")[0]
    return file.suffix, file.parent.name, int(number) if number.isdigit() else 0, file.name


def judged(judge: Judge, path: Path) -> dict[str, str]:
    """Judge one problem at the first of several sizes at which it can be read and judged in time;
    return its row."""
    suite = "KernelBench" if path.suffix == ".py" else "definition"
    name = f"{path.parent.name}/{path.stem}" if suite == "KernelBench" else path.stem
    row = dict.fromkeys(COLUMNS, "") | {"problem": name, "suite": suite, "read": "no"}
    whys = []
    for sizes in sizes_to_try(path):
        try:
            problem = read(path, eps=1e-5) if suite == "definition" else read(path, sizes)
        except HarnessError as error:
            whys.append(str(error).splitlines()[0].partition(": ")[2])
            continue
        row |= {"read": "yes", "sizes": "; ".join(f"{k} = {v}" for k, v in problem.test.items())}
        row["reduced"] = ", ".join(f"{size} to {value}" for size, value in sizes.items())
        begun = time.monotonic()
        found = verdicts(judge, problem, path.stem.partition("_")[2])
        row |= {"seconds": f"{time.monotonic() - begun:.0f}"}
        if sizes or not found["why not"].startswith(LATE):
            return row | found
    return row | found if row["read"] == "yes" else {**row, "why not": whys[0]}


def verdicts(judge: Judge, problem: Problem, operation: str) -> dict[str, str]:
    """Judge each kernel for a problem; return the cells, and the reason if a verdict is not the
    expected one."""
    row = {"why not": ""}
    for column, kernel in kernels(problem, operation):
        try:
            verdict = judge.check(Submission((kernel,), problem, seconds=SECONDS))
            row[column] = verdict.verdict
            if verdict.verdict == "cannot-tell" or (
                column == "right kernel" and not verdict.is_right
            ):
                row["why not"] = (verdict.message or verdict.cause).splitlines()[0]
        except HarnessError as error:
            row |= {column: "refused", "why not": str(error).splitlines()[0]}
        if row["why not"].startswith(LATE):
            break
    return row


def sizes_to_try(path: Path) -> Iterator[dict[str, int]]:
    """Yield sizes that replace the problem's own: first no sizes, then smaller and smaller ones."""
    yield {}
    if path.suffix == ".py":
        yield from (found for cap in CAPS if (found := smaller(path, cap)))


def smaller(path: Path, cap: int) -> dict[str, int]:
    from harness.problem.model_file import ModelFile

    return {name: cap for name, value in ModelFile(path.read_text()).sizes.items() if value > cap}


def kernels(problem: Problem, operation: str) -> Iterator[tuple[str, Kernel]]:
    arrays = [*problem.inputs, *problem.outputs]
    taken = ", ".join(f"void* a{n}" for n in range(len(arrays)))
    yield (
        "empty kernel",
        Kernel(
            f"__global__ void empty({taken}) {{}}\n",
            entry="empty",
            grid=1,
            block=32,
            args=tuple(arrays),
        ),
    )
    value = KERNELS.get(operation)
    if value is None or len(arrays) != 2:
        return
    n = " * ".join(f"({extent})" for extent in problem.arrays[arrays[1]])
    for column, short in (("right kernel", 0), ("short kernel", 1)):
        source = (
            "__global__ void each(const float* in, float* out, int n) {\n"
            "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"    if (i < n - {short}) {{ const float x = in[i]; out[i] = {value}; }}\n}}\n"
        )
        yield column, Kernel(source, entry="each", grid=f"ceil_div({n}, 256)", block=256,
                             args=(*arrays, n))  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
