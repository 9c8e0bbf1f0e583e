"""What the machine can do at best, measured in the same run by small kernels of ours.

They are ordinary cases over buffers of their own, so they go through the same rounds as what they
are compared with. A ceiling is the best of several launch shapes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from harness import compile as compiler
from harness.backends.base import Backend, TimedWorkspace
from harness.compile import Unit
from harness.errors import HarnessError
from harness.measure.rounds import Entry, measure
from harness.measure.statistics import Interval, median_interval
from harness.plan import Case, Device, Step
from harness.problem import Buffer
from harness.records import Ceiling, Round

FOLDER = Path(__file__).parent
ROUNDS, BATCH = 11, 5
L2_MULTIPLE = 16
"""The buffers are this many times the L2 cache, so that hardly any of them can stay in it."""

FMA_ITERATIONS, FMA_CHAINS = 8192, 8
"""fma_rate does iterations × chains fused multiply-adds a thread, 2 flops each."""

PROBLEM = "ceilings"


def buffers(device: Device) -> list[Buffer]:
    """Two arrays far larger than the L2 cache, and a word that is never written."""
    count = min(L2_MULTIPLE * device.l2_bytes, device.memory_bytes // 8) // 4
    return [
        Buffer("input", "input", "float32", count),
        Buffer("copy", "scratch", "float32", count),
        Buffer("sink", "scratch", "float32", 1),
    ]


CEILING_OF = {
    "empty": "empty_kernel",
    "read_4_in_flight": "read_bandwidth",
    "read_8_in_flight": "read_bandwidth",
    "copy_bandwidth": "copy_bandwidth",
    "fma_rate": "fp32_rate",
}
"""Kernel → the ceiling that it is a try at."""


def cases(device: Device) -> list[tuple[Case, float]]:
    """Each ceiling kernel at several launch shapes, with the work of a launch.

    The work is in bytes for the bandwidths, in flops for the rate, and 1 for the empty kernel.
    """
    nbytes = buffers(device)[0].nbytes
    vectors = nbytes // 16
    found: list[tuple[Case, float]] = [(_case("stream_control.cu", "empty", 1, 1, ()), 1)]
    for block in (256, 512, 1024):
        resident = device.sm_count * (2048 // block)
        half = device.sm_count * max(1024 // block, 1)
        for waves in (1, 4):
            found += [
                (_case("ceilings.cu", "read_4_in_flight", waves * resident, block,
                       ("input", vectors, "sink")), nbytes),
                (_case("ceilings.cu", "read_8_in_flight", waves * half, block,
                       ("input", vectors, "sink")), nbytes),
                (_case("ceilings.cu", "copy_bandwidth", waves * resident, block,
                       ("input", "copy", vectors)), 2 * nbytes),
            ]  # fmt: skip
        flops = 2 * FMA_ITERATIONS * FMA_CHAINS * resident * block
        found.append((_case("ceilings.cu", "fma_rate", resident, block,
                            ("sink", FMA_ITERATIONS, 1, 1)), flops))  # fmt: skip
    return found


def _case(source: str, kernel: str, grid: int, block: int, args: tuple[str | int, ...]) -> Case:
    step = Step(kernel, (grid, 1, 1), (block, 1, 1), 0, args)
    shape = {"grid": grid, "block": block}
    return Case(PROBLEM, kernel, "float32", {}, shape, source, steps=(step,))


def measure_ceilings(backend: Backend, rng: np.random.Generator) -> Iterator[Ceiling]:
    """Every ceiling, from launches of this moment on this device."""
    work = {case.id: (case, amount) for case, amount in cases(backend.device)}
    built = {
        source: compiler.build(Unit(FOLDER / source, (), (), backend.device.arch))
        for source in ("ceilings.cu", "stream_control.cu")
    }
    entries = [Entry(case, built[case.source]) for case, _ in work.values()]
    needed = buffers(backend.device)
    values = {"input": rng.random(needed[0].count, dtype=np.float32)}
    rounds: dict[str, list[Round]] = defaultdict(list)
    with backend.workspace(needed, values) as workspace:
        timed: TimedWorkspace = workspace  # type: ignore[assignment]
        for record in measure(timed, entries, ROUNDS, BATCH, rng):
            if isinstance(record, Round) and record.cache == "cold":
                rounds[record.case].append(record)
    for name in dict.fromkeys(CEILING_OF.values()):
        tries = [
            (work[case_id], found)
            for case_id, found in rounds.items()
            if CEILING_OF[work[case_id][0].variant] == name
        ]
        yield _best(name, tries)


def _best(name: str, found: Sequence[tuple[tuple[Case, float], list[Round]]]) -> Ceiling:
    """The best launch shape's figure, with the interval of its median over rounds."""
    shapes: list[tuple[Interval, Case, list[float]]] = []
    for (case, amount), rounds in found:
        times = [float(np.median(record.samples_ns)) for record in rounds]
        values = times if name == "empty_kernel" else [amount / (ns * 1e-9) for ns in times]
        interval = median_interval(values, 0.95)
        if interval:
            shapes.append((interval, case, values))
    if not shapes:
        raise HarnessError(f"the ceiling {name} could not be measured: no launch was timed")
    interval, case, values = max(shapes, key=lambda shape: shape[0].median)
    unit = {"fp32_rate": "flop/s", "empty_kernel": "ns"}.get(name, "byte/s")
    step = case.steps[0]
    how = f"{step.kernel}, grid {step.grid[0]}, block {step.block[0]}; best of {len(shapes)}"
    return Ceiling(name, interval.median, interval.low, interval.high, unit, how,
                   tuple(round(value, 3) for value in values))  # fmt: skip
