"""Compare the emulator of this checkout with that of another one, kernel by kernel, in rounds.

    python scripts/benchmark_side_by_side.py OTHER [--rounds 5] [--engine auto --engine numpy]

OTHER is a folder with another commit (`git worktree add OTHER COMMIT`). The speed of a shared
machine varies by a factor of two from hour to hour, so each round measures both, in processor time.
A cell has one number for each round: for the kernels of `make benchmark-emulator`, the median of
five launches in a process of its own, in million thread instructions per second; for small
launches, the minimum of 500, in µs. If OTHER has several engines, the fastest is used.
"""

from __future__ import annotations

import pickle
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from benchmark_emulator import KERNELS, ROOT, WORKLOADS, Workload

from harness import emulator
from harness.compiler import compile as compiler
from harness.compiler.compile import Unit

SMALL = 100_000
"""Thread instructions up to which a launch is small: its cost is not that of its instructions."""
ONE = """
import pickle, sys, time
root, job = sys.argv[1:]
sys.path.insert(0, root)
from harness import emulator
ptx, kernel, grid, block, args, shared_bytes, engine, launches = pickle.load(open(job, "rb"))
module = emulator.parse(ptx)
seconds = []
for _ in range(launches + 1):
    start = time.process_time()
    emulator.launch(module, kernel, grid, block, args, shared_bytes, engine=engine)
    seconds.append(time.process_time() - start)
print(*seconds[1:])
"""


def main(
    other: Annotated[Path, typer.Argument(help="A checkout of another commit.")],
    rounds: Annotated[int, typer.Option(min=1)] = 5,
    engine: Annotated[list[str], typer.Option(help="Of the other one. Repeatable.")] = ["auto"],  # noqa: B006
) -> None:
    """Measure both, and print a table."""
    print("| kernel, checks on | there | here | faster, by medians |\n|---|--:|--:|--:|")
    for make in WORKLOADS:
        print(row(make(), other.resolve(), rounds, engine), flush=True)


def row(work: Workload, other: Path, rounds: int, engines: list[str]) -> str:
    built = compiler.build(Unit(work.source, (KERNELS, work.source.parent), (), "sm_90"))
    ptx, args = built.ptx.read_text(), work.args()
    report = emulator.launch(
        emulator.parse(ptx), work.kernel, work.grid, work.block, args, work.shared_bytes
    )
    executed = report.thread_instructions
    is_small = executed <= SMALL

    def measured(root: Path, engine: str) -> float:
        """Microseconds per small launch, or million thread instructions per second."""
        job = (ptx, work.kernel, work.grid, work.block, args, work.shared_bytes, engine,
               500 if is_small else 5)  # fmt: skip
        with tempfile.NamedTemporaryFile() as file:
            file.write(pickle.dumps(job))
            file.flush()
            command = [sys.executable, "-c", ONE, str(root), file.name]
            said = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds = [float(word) for word in said.stdout.split()]
        return min(seconds) * 1e6 if is_small else executed / statistics.median(seconds) / 1e6

    there: dict[str, list[float]] = {each: [] for each in engines}
    here: list[float] = []
    for _ in range(rounds):
        for each in engines:
            there[each].append(measured(other, each))
        here.append(measured(ROOT, "auto"))
    best = (min if is_small else max)(there.values(), key=statistics.median)
    ratio = statistics.median(here) / statistics.median(best)
    title = work.title + (", µs" if is_small else "")
    return (
        f"| {title} | {', '.join(f'{x:,.0f}' for x in best)} | "
        f"{', '.join(f'{x:,.0f}' for x in here)} | {1 / ratio if is_small else ratio:.1f}× |"
    )


if __name__ == "__main__":
    typer.run(main)
