"""How fast the emulator is: thread instructions a second on kernels of several kinds.

    python scripts/benchmark_emulator.py [--runs 5]

A thread instruction is one PTX instruction executed by one thread with its predicate on. Every
result is compared with NumPy's before a rate is printed.
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.table import Table

from harness import compile as compiler
from harness import emulator
from harness.compile import Unit
from harness.machine import describe
from harness.progress import console

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "kernels"
OWN = Path(__file__).parent / "benchmarks"

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Workload:
    """A launch, and whether what it left behind is right."""

    title: str
    source: Path
    kernel: str
    grid: tuple[int, ...]
    block: int
    args: Callable[[], list[Any]]
    right: Callable[[list[Any]], bool]
    shared_bytes: int = 0


def reduction(log2_n: int, block: int) -> Workload:
    n = 2**log2_n
    values = np.random.default_rng(1).random(n, dtype=np.float32)
    exact = values.sum(dtype=np.float64)
    grid = -(-n // block)
    return Workload(
        f"reduction in shared memory, n = 2^{log2_n}, {grid:,} blocks of {block}",
        KERNELS / "reduce_sum" / "v3_no_bank_conflict.cu",
        "block_sums",
        (grid,),
        block,
        lambda: [values, np.full(grid, np.nan, np.float32), n],
        lambda args: bool(abs(args[1].sum(dtype=np.float64) - exact) < 1e-6 * exact),
        4 * block,
    )


def sgemm(n: int) -> Workload:
    rng = np.random.default_rng(2)
    a, b = (rng.random((n, n), dtype=np.float32) for _ in range(2))
    exact = a.astype(np.float64) @ b
    return Workload(
        f"tiled sgemm with float4, {n} × {n}",
        OWN / "sgemm_tiled.cu",
        "sgemm",
        (n // 64, n // 64),
        256,
        lambda: [a, b, np.full((n, n), np.nan, np.float32), n],
        lambda args: bool(np.all(np.abs(args[2] - exact) < 1e-5 * exact)),
    )


def divergent_loop(log2_n: int) -> Workload:
    n = 2**log2_n
    start = np.random.default_rng(3).integers(1, 100_000, n, dtype=np.uint32)
    x, exact = start.astype(np.uint64), np.zeros(n, np.uint32)
    while np.any(x > 1):
        exact += x > 1
        x = np.where(x > 1, np.where(x % 2 == 0, x // 2, 3 * x + 1), x)
    return Workload(
        f"divergent loop, n = 2^{log2_n}",
        OWN / "divergent_loop.cu",
        "collatz",
        (n // 256,),
        256,
        lambda: [start, np.zeros(n, np.uint32), n],
        lambda args: bool(np.array_equal(args[1], exact)),
    )


def histogram(log2_n: int) -> Workload:
    n = 2**log2_n
    values = np.random.default_rng(4).integers(0, 256, n, dtype=np.uint8)
    exact = np.bincount(values, minlength=256)
    return Workload(
        f"histogram with shared atomics, n = 2^{log2_n}",
        OWN / "histogram_shared.cu",
        "histogram",
        (256,),
        256,
        lambda: [values, np.zeros(256, np.uint32), n],
        lambda args: bool(np.array_equal(args[1], exact)),
    )


WORKLOADS = [
    lambda: reduction(16, 256),
    lambda: reduction(20, 256),
    lambda: reduction(22, 256),
    lambda: reduction(24, 256),
    lambda: reduction(10, 1024),
    lambda: reduction(8, 64),
    lambda: sgemm(512),
    lambda: divergent_loop(18),
    lambda: histogram(20),
]


def rates(work: Workload, runs: int, checks: bool) -> tuple[int, list[float]]:
    """Thread instructions of a launch, and of each run the millions a second."""
    unit = Unit(work.source, (KERNELS, work.source.parent), (), "sm_90")
    module = emulator.parse(compiler.build(unit).ptx.read_text())
    executed, found = 0, []
    for _ in range(runs + 1):
        args = work.args()
        start = time.perf_counter()
        report = emulator.launch(
            module, work.kernel, work.grid, work.block, args, work.shared_bytes, checks=checks
        )
        seconds = time.perf_counter() - start
        if report.faults or not work.right(args):
            raise SystemExit(f"{work.title}: wrong: {report.faults or 'the result'}")
        executed = report.thread_instructions
        found.append(executed / seconds / 1e6)
    return executed, found[1:]  # the first run also translates the kernel


def main(runs: Annotated[int, typer.Option(help="Runs of each, after one more.")] = 5) -> None:
    console.print(
        f"{describe()['cpu']}, Python {platform.python_version()}, NumPy {np.__version__}"
    )
    table = Table("kernel", title="million thread instructions a second: median (least to most)")
    for column in ("thread instructions", "checks on", "checks off"):
        table.add_column(column, justify="right")
    for make in WORKLOADS:
        work, cells = make(), []
        for checks in (True, False):
            executed, found = rates(work, runs, checks)
            cells.append(f"{statistics.median(found):,.0f} ({min(found):,.0f}–{max(found):,.0f})")
        table.add_row(work.title, f"{executed:,}", *cells)
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
