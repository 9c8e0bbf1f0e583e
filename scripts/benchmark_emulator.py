"""Measure the emulator's speed and memory use on kernels of several kinds.

    python scripts/benchmark_emulator.py [--runs 5]

Prints the table of docs/emulator/speed.md. A thread instruction is one instruction executed by one
thread with its predicate on: a PTX instruction or, in the machine-code column, a machine
instruction. Every result is compared with NumPy's before a rate is printed. Each row and setting of
the checks is measured in a process of its own; its memory is the peak resident memory during its
first launch, minus the memory that was resident before the launch: the interpreter, the compiled
PTX and the kernel's buffers, all of which had already been written to.
"""

from __future__ import annotations

import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from harness import emulator
from harness.backends.emulated import EmulatorBackend
from harness.backends.emulated_device import emulated_device
from harness.backends.machine_code import MachineCodeWorkspace
from harness.compiler import compile as compiler
from harness.compiler.compile import Unit
from harness.emulator import sass
from harness.machine.environment import cores, describe
from harness.matrix import model, plan
from harness.problem import loading
from harness.worker.inputs import Inputs

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "kernels"
OWN = Path(__file__).parent / "benchmarks"
EXECUTED = "smsp__thread_inst_executed_pred_on.sum"

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Workload:
    """A launch, and a check of its results."""

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


def shared_reads(kernel: str, what: str, rounds: int) -> Workload:
    blocks = 64
    values = np.random.default_rng(6).random((blocks, 32, 32), dtype=np.float32)
    tiles = values.astype(np.float64)
    # The sums that a block's 32 lanes compute: each lane sums its own row, or all lanes sum one row
    # after another.
    exact = (
        tiles.sum(2) * rounds
        if kernel == "of_columns"
        else np.repeat(tiles[:, np.arange(rounds) % 32].sum((1, 2))[:, None], 32, 1)
    )
    return Workload(
        f"shared memory, {what}, {blocks} blocks of 256",
        OWN / "shared_reads.cu",
        kernel,
        (blocks,),
        256,
        lambda: [values, np.full((blocks, 8, 32), np.nan, np.float32), rounds],
        lambda args: bool(np.allclose(args[1], exact[:, None], rtol=1e-4)),
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


def mbarrier_reversal(log2_n: int) -> Workload:
    n = 2**log2_n
    values = np.random.default_rng(7).random(n, dtype=np.float32)
    exact = values.reshape(-1, 256)[:, ::-1].reshape(-1)
    return Workload(
        f"reversal through an mbarrier, n = 2^{log2_n}, {n // 256:,} blocks of 256",
        OWN / "mbarrier_reversal.cu",
        "reverse",
        (n // 256,),
        256,
        lambda: [values, np.full(n, np.nan, np.float32)],
        lambda args: bool(np.array_equal(args[1], exact)),
    )


def addition(log2_n: int) -> Workload:
    n = 2**log2_n
    a, b = np.random.default_rng(5).random((2, n), dtype=np.float32)
    return Workload(
        f"vector addition, n = 2^{log2_n}, 3 buffers of {n // 2**18} MiB",
        OWN / "vector_add.cu",
        "add",
        (n // 256,),
        256,
        lambda: [a, b, np.full(n, np.nan, np.float32), n],
        lambda args: bool(np.array_equal(args[2], a + b)),
    )


def doubling(log2_n: int) -> Workload:
    n = 2**log2_n

    def values() -> Array:
        return np.random.default_rng(6).random(n, dtype=np.float32)

    return Workload(
        f"doubling in place, n = 2^{log2_n}, a buffer of {n // 2**18} MiB",
        OWN / "double_in_place.cu",
        "double_in_place",
        (n // 256,),
        256,
        lambda: [values(), n],
        lambda args: bool(np.array_equal(args[0], values() * 2)),
    )


WORKLOADS = [
    lambda: reduction(16, 256),
    lambda: reduction(20, 256),
    lambda: reduction(22, 256),
    lambda: reduction(24, 256),
    lambda: reduction(10, 1024),
    lambda: reduction(8, 64),
    lambda: sgemm(512),
    lambda: shared_reads("of_columns", "a column of a tile", 64),
    lambda: shared_reads("of_one_word", "one word for all lanes", 64),
    lambda: divergent_loop(18),
    lambda: histogram(20),
    lambda: addition(24),
    lambda: mbarrier_reversal(21),
]
SHARED_OUT = (3, 6, 9)  # positions of the workloads that are also measured on several cores
LARGE = [lambda: addition(26), lambda: addition(28), lambda: doubling(28)]
"""The workloads whose memory is measured."""
PRODUCTS, PRODUCTS_DRAW = ("v5_wide_tiles", "v8_tensor_memory_stores"), 1
"""Kernels that use TMA and warpgroup products, and the draw of inputs whose sums are exact."""


class Peak:
    """The peak resident memory within a `with` block, in excess of the initial amount, in bytes."""

    def __enter__(self) -> Peak:
        self.before, self.above = self._resident("VmRSS"), 0
        try:
            Path("/proc/self/clear_refs").write_text("5")  # reset the peak
        except OSError:  # not Linux, or not permitted: start from the peak so far
            self.before = self._resident("VmHWM")
        return self

    def __exit__(self, *_: object) -> None:
        self.above = self._resident("VmHWM") - self.before

    @staticmethod
    def _resident(what: str) -> int:
        status = Path("/proc/self/status")
        if not status.exists():
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            return most if sys.platform == "darwin" else most * 1024
        (line,) = (each for each in status.read_text().splitlines() if each.startswith(what))
        return int(line.split()[1]) * 1024


@dataclass(frozen=True)
class Measured:
    """A workload's thread instructions per launch, the seconds of each run, and its peak memory in
    bytes."""

    title: str
    executed: int
    seconds: list[float]
    peak: int

    @property
    def cell(self) -> str:
        """Millions of thread instructions per second: the median and the range."""
        middle, most, least = (
            self.executed / of(self.seconds) / 1e6 for of in (statistics.median, min, max)
        )
        return f"{middle:,.0f} ({least:,.0f}–{most:,.0f})"


@dataclass(frozen=True)
class Way:
    """The launch parameters of a workload."""

    checks: bool = True
    engine: str = "auto"
    jobs: int = 1
    machine_code: bool = False


def measure(work: Workload, runs: int, way: Way) -> Measured:
    built = compiler.build(Unit(work.source, (KERNELS, work.source.parent), (), "sm_90"))
    module = emulator.parse(built.ptx.read_text())
    code = sass.read(built.cubin) if way.machine_code else None
    asked = {name: value for name, value in vars(way).items() if name != "machine_code"}

    def launch(args: list[Any]) -> emulator.LaunchReport | sass.MachineReport:
        shape = work.grid, work.block, args, work.shared_bytes
        if code:
            return sass.launch_machine_code(code, work.kernel, *shape)
        return emulator.launch(module, work.kernel, *shape, **asked)

    args = work.args()
    with Peak() as memory:
        launch(args)
    executed, taken = 0, []
    for _ in range(runs):  # the first launch also translated the kernel
        args = work.args()
        start = time.perf_counter()
        report = launch(args)
        seconds = time.perf_counter() - start
        if report.faults or not work.right(args):
            raise SystemExit(f"{work.title}: wrong: {report.faults or 'the result'}")
        executed = int(report.counter(EXECUTED).value)
        taken.append(seconds)
    return Measured(work.title, executed, taken, memory.above)


def apart(number: int, runs: int, way: Way) -> Measured:
    """Measure a workload in a process of its own. `number`: its position; large ones come last."""
    command = [sys.executable, __file__, "--runs", str(runs), "--one", str(number)]
    done = subprocess.run(
        [*command, "--way", json.dumps(vars(way))], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.returncode)
    return Measured(**json.loads(done.stdout))


def on_one_core(runs: int) -> None:
    print(
        "| kernel | thread instructions | checks on | checks off | by the judge | machine code "
        "| its time over PTX's | MiB, on | off |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    ways = Way(), Way(checks=False), Way(engine="judge"), Way(machine_code=True)
    for number in range(len(WORKLOADS)):
        on, off, judged, machine = (apart(number, runs, way) for way in ways)
        longer = statistics.median(machine.seconds) / statistics.median(on.seconds)
        rates = f"{on.cell} | {off.cell} | {judged.cell} | {machine.cell} | {longer:.1f}×"
        memory = " | ".join(f"{each.peak / 2**20:,.0f}" for each in (on, off))
        print(f"| {on.title} | {on.executed:,} | {rates} | {memory} |", flush=True)


def on_several_cores(runs: int) -> None:
    counts = [jobs for jobs in (1, 2, 4, 8, 16, 32) if jobs <= cores()]
    if len(counts) < 2:
        return
    print(f"\n| kernel, checks on, by jobs | {' | '.join(map(str, counts))} |")
    print(f"|---|{'--:|' * len(counts)}")
    for number in SHARED_OUT:
        found = [apart(number, runs, Way(jobs=jobs)) for jobs in counts]
        print(f"| {found[0].title} | {' | '.join(each.cell for each in found)} |", flush=True)


def of_large_buffers() -> None:
    print("\n| kernel | checks on | MiB, on | off |")
    print("|---|--:|--:|--:|")
    for number in range(len(WORKLOADS), len(WORKLOADS) + len(LARGE)):
        on, off = (apart(number, 1, way) for way in (Way(), Way(checks=False)))
        memory = " | ".join(f"{each.peak / 2**20:,.0f}" for each in (on, off))
        print(f"| {on.title} | {statistics.median(on.seconds):.1f} s | {memory} |", flush=True)


def of_warpgroup_products() -> None:
    """Print the time of a matrix product whose tiles are moved by TMA, from PTX and from machine
    code."""
    print("\n| kernel of gemm_bf16, 1,024³, bfloat16, checks on | PTX | machine code |")
    print("|---|--:|--:|")
    bench = model.load(ROOT / "bench.yaml")
    device, sizes = emulated_device("sm_90"), dict.fromkeys("mnk", 1024)
    problem = loading.load(bench.kernels / "gemm_bf16")
    for case in plan.cases_at(bench, device, "gemm_bf16", [sizes]):
        if case.dtype != "bfloat16" or case.variant not in PRODUCTS:
            continue
        given = Inputs(problem, case, bench.timing.seed, PRODUCTS_DRAW).values
        exact = problem.reference(case.sizes, case.dtype, given)["c"]
        bound = problem.tolerance(case.sizes, case.dtype, given)["c"]
        buffers = problem.buffers(case.sizes, case.dtype)
        built = compiler.build(compiler.unit(case, bench.kernels, "sm_90"))
        cells = []
        for workspace in (
            EmulatorBackend("sm_90").workspace(problem, buffers, given),
            MachineCodeWorkspace(buffers, given),
        ):
            with workspace as launched:
                start = time.perf_counter()
                found = launched.run(case, built)
                cells.append(f"{time.perf_counter() - start:.1f} s")
            wrong = np.abs(found.outputs["c"].astype(np.float64).reshape(exact.shape) - exact)
            if found.faults or not np.all(wrong <= bound):
                raise SystemExit(f"{case.variant}: wrong: {found.faults or 'the result'}")
        print(f"| {case.variant} | {' | '.join(cells)} |", flush=True)


def main(
    runs: Annotated[int, typer.Option(help="Runs of each, after one more.", min=1)] = 5,
    one: Annotated[int | None, typer.Option(hidden=True)] = None,
    way: Annotated[str, typer.Option(hidden=True)] = "{}",
) -> None:
    if one is not None:
        print(json.dumps(vars(measure([*WORKLOADS, *LARGE][one](), runs, Way(**json.loads(way))))))
        return
    print(f"{describe()['cpu']}, Python {platform.python_version()}, NumPy {np.__version__}\n")
    on_one_core(runs)
    on_several_cores(runs)
    of_large_buffers()
    of_warpgroup_products()


if __name__ == "__main__":
    typer.run(main)
