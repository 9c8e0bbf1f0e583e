"""Compare the emulator of this checkout with that of another one, kernel by kernel, in rounds.

    python scripts/benchmark_side_by_side.py OTHER [--rounds 5] [--engine auto --engine numpy]
    python scripts/benchmark_side_by_side.py OTHER --machine-code [--cubins FOLDER]

OTHER is a folder with another commit (`git worktree add OTHER COMMIT`). The speed of a shared
machine varies by a factor of two from hour to hour, so each round measures both, in processor time.
A cell has one number for each round: for the kernels of `make benchmark-emulator`, the median of
five launches in a process of its own, in millions of thread instructions per second; for small
launches, the minimum of 500, in µs. If OTHER has several engines, the fastest is used. With
`--machine-code`, the same launches run machine code. `--cubins` adds a row: the milliseconds that
it takes to read all cubins of a folder and prepare every kernel for launching. Both checkouts use
the same disassembler, so its listings are made beforehand and not timed.
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
from benchmark_emulator import EXECUTED, KERNELS, ROOT, WORKLOADS, Workload

from harness import emulator
from harness.compiler import compile as compiler
from harness.compiler.compile import Unit
from harness.emulator import sass

SMALL = 100_000
"""A launch with at most this many thread instructions is small: executing them is not its main
cost."""
SMALL_LAUNCHES = 500
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
ONE_OF_MACHINE_CODE = """
import pickle, sys, time
from pathlib import Path
root, job = sys.argv[1:]
sys.path.insert(0, root)
from harness.emulator import sass
cubin, kernel, grid, block, args, shared_bytes, engine, launches = pickle.load(open(job, "rb"))
code = sass.read(Path(cubin))
seconds = []
for _ in range(launches + 1):
    start = time.process_time()
    sass.launch_machine_code(code, kernel, grid, block, args, shared_bytes)
    seconds.append(time.process_time() - start)
print(*seconds[1:])
"""
READING = """
import sys, time
from pathlib import Path
root, cubins, listings = sys.argv[1:]
sys.path.insert(0, root)
from harness.emulator import sass
listed = {each: Path(listings, each.stem) for each in Path(cubins).glob("*.cubin")}
sass.keep_listings(listed)
def read_all():
    for cubin, listing in listed.items():
        code = sass.read(cubin, listing)
        for kernel in code.functions:
            try:
                sass.prepare(code, kernel)
            except sass.UnknownMachineInstruction:
                pass
read_all()
start = time.process_time()
read_all()
print(time.process_time() - start)
"""


def main(
    other: Annotated[Path, typer.Argument(help="A checkout of another commit.")],
    rounds: Annotated[int, typer.Option(min=1)] = 5,
    engine: Annotated[list[str], typer.Option(help="Of the other one. Repeatable.")] = ["auto"],  # noqa: B006
    machine_code: Annotated[bool, typer.Option(help="Launch machine code, not PTX.")] = False,
    cubins: Annotated[Path | None, typer.Option(help="A folder of cubins to read.")] = None,
) -> None:
    """Measure both checkouts, and print a table."""
    print("| kernel, checks on | there | here | faster, by medians |\n|---|--:|--:|--:|")
    for make in WORKLOADS:
        print(row(make(), other.resolve(), rounds, engine, machine_code), flush=True)
    if cubins:
        print(reading(cubins, other.resolve(), rounds), flush=True)


def row(
    work: Workload, other: Path, rounds: int, engines: list[str], machine_code: bool = False
) -> str:
    built = compiler.build(Unit(work.source, (KERNELS, work.source.parent), (), "sm_90"))
    launch = work.kernel, work.grid, work.block, work.args(), work.shared_bytes
    if machine_code:
        program, code = str(built.cubin), ONE_OF_MACHINE_CODE
        counts = sass.launch_machine_code(sass.read(built.cubin), *launch)
        executed = int(counts.counter(EXECUTED).value)
    else:
        program, code = built.ptx.read_text(), ONE
        executed = emulator.launch(emulator.parse(program), *launch).thread_instructions
    is_small = executed <= SMALL

    def measured(root: Path, engine: str) -> float:
        """Return microseconds per small launch, or millions of thread instructions per second."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(pickle.dumps((program, *launch, engine, SMALL_LAUNCHES if is_small else 5)))
            file.flush()
            seconds = _told(code, root, file.name)
        return min(seconds) * 1e6 if is_small else executed / statistics.median(seconds) / 1e6

    there: dict[str, list[float]] = {each: [] for each in engines}
    here: list[float] = []
    for _ in range(rounds):
        for each in engines:
            there[each].append(measured(other, each))
        here.append(measured(ROOT, "auto"))
    best = (min if is_small else max)(there.values(), key=statistics.median)
    return _cells(work.title + (", µs" if is_small else ""), best, here, is_small)


def reading(cubins: Path, other: Path, rounds: int) -> str:
    there: list[float] = []
    here: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, root, found in (("there", other, there), ("here", ROOT, here)):
                listings = Path(folder, name)
                listings.mkdir(exist_ok=True)
                found += [1e3 * each for each in _told(READING, root, str(cubins), str(listings))]
    count = len(list(cubins.glob("*.cubin")))
    return _cells(f"reading cubins ({count}), ms", there, here, is_time=True)


def _told(code: str, root: Path, *arguments: str) -> list[float]:
    """Run code in a checkout, in a process of its own, and return the numbers that it prints."""
    command = [sys.executable, "-c", code, str(root), *arguments]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(word) for word in said.stdout.split()]


def _cells(title: str, there: list[float], here: list[float], is_time: bool) -> str:
    ratio = statistics.median(here) / statistics.median(there)
    return (
        f"| {title} | {', '.join(f'{x:,.0f}' for x in there)} | "
        f"{', '.join(f'{x:,.0f}' for x in here)} | {1 / ratio if is_time else ratio:.2f}× |"
    )


if __name__ == "__main__":
    typer.run(main)
