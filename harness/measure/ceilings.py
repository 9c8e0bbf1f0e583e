"""The machine's best rates, measured in the same run by small kernels of the harness.

The ceiling kernels are ordinary cases with buffers of their own, so they are timed in the same kind
of rounds as the kernels that are compared with them. A ceiling is the best of several launch
shapes. Kernels that write are first verified on a few numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from harness.backends.base import Array, Backend, TimingBackend
from harness.cases import Case, Device, Step
from harness.compiler import compile as compiler
from harness.compiler.compile import Built, Unit
from harness.errors import HarnessError
from harness.journal.records import Ceiling, Round
from harness.measure.rounds import Entry, measure
from harness.problem import Buffer
from harness.statistics.intervals import Interval, Key, batch_time, time_of
from harness.statistics.mixes import MIXES

SOURCE = Path(__file__).with_suffix(".cu")
MIXED = Path(__file__).with_name("ceiling_mixes.cu")
WGMMA = Path(__file__).with_name("ceiling_wgmma.cu")
"""The source of the kernels that are compiled for sm_90a, whose code only compute capability 9.0
runs."""

ROUNDS, BATCH = 11, 5
L2_MULTIPLE = 16
"""The buffers are this many times the L2 cache, so that hardly any of them can stay in it."""

FMA_ITERATIONS, FMA_CHAINS = 8192, 8
"""fma_rate does iterations × chains fused multiply-adds per thread, 2 flops each."""

FP64_ITERATIONS = 2048
"""Fewer than for FP32, because on a gaming GPU the FP64 rate is 1/64 of the FP32 rate."""

L2_PASSES, L2_IN_FLIGHT = 256, 4
"""l2_bandwidth reads its buffer this many times, 4 float4 per thread at a time."""

SHARED_ITERATIONS, SHARED_LOADS = 1024, 4
TENSOR_ITERATIONS, TENSOR_CHAINS, TENSOR_FLOPS = 2048, 4, 2 * 16 * 8 * 16
"""tensor_rate does iterations × chains matrix multiply-adds of 16 × 8 × 16 per warp."""

EXPONENTIAL_ITERATIONS = 512
"""exponential_rate does iterations × chains exponentials per thread, at a quarter of the rate of
multiply-adds or less."""

WGMMA_ITERATIONS, WGMMA_CHAIN, WGMMA_FLOPS = 512, 8, 2 * 64 * 128 * 16
"""wgmma_rate does iterations × chain matrix multiply-adds of 64 × 128 × 16 per warpgroup."""

TF32_SHARE = 2
"""A TF32 matrix multiply-add has half the depth of an FP16 one, and so half its flops."""

ONES = 0x3C003C00
"""Two half-precision ones as operands; zero bits would draw less power than real data."""

PROBLEM = "ceilings"


def buffers(device: Device) -> list[Buffer]:
    """The buffers: two arrays far larger than the L2 cache, and a word that is never written."""
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
    "copy_once": "copy_bandwidth",
    "mix_4_1": "mix_4_1_bandwidth",
    "mix_2_1": "mix_2_1_bandwidth",
    "mix_1_4": "mix_1_4_bandwidth",
    "write_once": "write_bandwidth",
    "l2_bandwidth": "l2_bandwidth",
    "shared_bandwidth": "shared_bandwidth",
    "fma_rate": "fp32_rate",
    "fp64_rate": "fp64_rate",
    "fp16_rate": "fp16_rate",
    "tensor_rate": "tensor_rate",
    "wgmma_rate": "tensor_rate",
    "tensor_bf16_rate": "bf16_tensor_rate",
    "wgmma_bf16_rate": "bf16_tensor_rate",
    "tensor_tf32_rate": "tf32_rate",
    "wgmma_tf32_rate": "tf32_rate",
    "exponential_rate": "exponential_rate",
}
"""Kernel → the ceiling that it measures."""

STREAMS: Mapping[str, tuple[int, int]] = {
    "copy_bandwidth": (1, 1), "copy_once": (1, 1), "mix_4_1": (4, 1), "mix_2_1": (2, 1),
    "mix_1_4": (1, 4), "write_once": (0, 1),
}  # fmt: skip
"""Kernel that writes → how many streams of equal length it reads, and how many it writes."""

FEW_BLOCKS = (128, 256)
"""A kernel with one thread per element was always fastest at one of these block sizes."""


def cases(device: Device) -> list[tuple[Case, float]]:
    """Each ceiling kernel at several launch shapes, with the work of a launch.

    The work is in bytes for the bandwidths, in flops or exponentials for the rates, and 1 for the
    empty kernel.
    """
    nbytes = buffers(device)[0].nbytes
    vectors = nbytes // 16
    found: list[tuple[Case, float]] = [(_case("empty", 1, 1, ()), 1)]
    for block in (128, 256, 512, 1024):
        resident = device.sm_count * (device.limits.max_threads_per_sm // block)
        half = device.sm_count * max(1024 // block, 1)
        for waves in (1, 4):
            found += [
                (_case("read_4_in_flight", waves * resident, block,
                       ("input", vectors, "sink")), nbytes),
                (_case("read_8_in_flight", waves * half, block,
                       ("input", vectors, "sink")), nbytes),
                (_case("copy_bandwidth", waves * resident, block,
                       ("input", "copy", vectors)), 2 * nbytes),
            ]  # fmt: skip
        found.append((_case("copy_once", -(-vectors // block), block,
                            ("input", "copy", vectors)), 2 * nbytes))  # fmt: skip
        flops = 2 * FMA_ITERATIONS * FMA_CHAINS * resident * block
        found.append((_case("fma_rate", resident, block,
                            ("sink", FMA_ITERATIONS, 1, 1)), flops))  # fmt: skip
        found += _roofline_cases(device, block, vectors)
    return found + list(_mixed_cases(vectors)) + list(_further_rates(device))


def _mixed_cases(vectors: int) -> Iterator[tuple[Case, float]]:
    """Cases with other read/write ratios, each over the largest part of the buffers that divides
    evenly."""
    for kernel in ("mix_4_1", "mix_2_1", "mix_1_4", "write_once"):
        reads, writes = STREAMS[kernel]
        count = vectors // max(reads, writes)
        for block in FEW_BLOCKS:
            case = _case(kernel, -(-count // block), block, _streamed(kernel, count), source=MIXED)
            yield case, 16 * count * (reads + writes)


def _streamed(kernel: str, count: int) -> tuple[str | int, ...]:
    """The arguments of a kernel that writes; one that only writes takes no input."""
    reads, _ = STREAMS[kernel]
    return ("input", "copy", count) if reads else ("copy", count)


def _further_rates(device: Device) -> Iterator[tuple[Case, float]]:
    """The cases for rates that hardly depend on the launch shape, at two shapes each."""
    for block in (256, 1024):
        grid = device.sm_count * (device.limits.max_threads_per_sm // block)
        yield (
            _case("exponential_rate", grid, block, ("sink", EXPONENTIAL_ITERATIONS, 1)),
            grid * block * EXPONENTIAL_ITERATIONS * FMA_CHAINS,
        )
        if device.compute_capability >= (8, 0) and device.compute_capability != (9, 0):
            yield (
                _case("tensor_bf16_rate", grid, block, ("sink", TENSOR_ITERATIONS, ONES, ONES)),
                grid * block // 32 * TENSOR_ITERATIONS * TENSOR_CHAINS * TENSOR_FLOPS,
            )
    if device.compute_capability == (9, 0):
        for block in FEW_BLOCKS:
            some = device.sm_count * (1024 // block)
            args = ("sink", WGMMA_ITERATIONS, ONES)
            yield (
                _case("wgmma_bf16_rate", some, block, args, source=WGMMA),
                some * block // 128 * WGMMA_ITERATIONS * WGMMA_CHAIN * WGMMA_FLOPS,
            )


def _roofline_cases(device: Device, block: int, vectors: int) -> Iterator[tuple[Case, float]]:
    """The cases for a roofline's additional memory levels and rates, at one block size."""
    grid = device.sm_count * (device.limits.max_threads_per_sm // block)
    threads = grid * block
    for parts in (1, 2):
        # As many float4 as fit in a quarter of the cache, in whole tiles; at least one tile.
        some = grid // parts
        tile = L2_IN_FLIGHT * some * block
        count = min(max(device.l2_bytes // 4 // 16 // tile, 1) * tile, vectors // tile * tile)
        if 0 < 16 * count <= device.l2_bytes // 2:
            yield (
                _case("l2_bandwidth", some, block, ("input", count, L2_PASSES, "sink")),
                16 * count * L2_PASSES,
            )
    yield (
        _case("shared_bandwidth", grid, block, ("sink", SHARED_ITERATIONS), 16 * block),
        threads * SHARED_ITERATIONS * SHARED_LOADS * 16,
    )
    yield (
        _case("fp64_rate", grid, block, ("sink", FP64_ITERATIONS, 1, 1)),
        threads * FP64_ITERATIONS * FMA_CHAINS * 2,
    )
    yield (
        _case("fp16_rate", grid, block, ("sink", FMA_ITERATIONS, 1, 1)),
        threads * FMA_ITERATIONS * FMA_CHAINS * 4,
    )
    capability = device.compute_capability
    if capability == (9, 0):
        for parts in (1, 2):
            some = device.sm_count * max(512 // block, 1) * parts
            flops = some * block // 128 * WGMMA_ITERATIONS * WGMMA_CHAIN * WGMMA_FLOPS
            args = ("sink", WGMMA_ITERATIONS, ONES)
            yield _case("wgmma_rate", some, block, args, source=WGMMA), flops
            yield _case("wgmma_tf32_rate", some, block, args, source=WGMMA), flops // TF32_SHARE
    if capability >= (8, 0):
        work = threads // 32 * TENSOR_ITERATIONS * TENSOR_CHAINS * TENSOR_FLOPS
        operands = ("sink", TENSOR_ITERATIONS, ONES, ONES)
        yield _case("tensor_rate", grid, block, operands), work
        yield _case("tensor_tf32_rate", grid, block, operands), work // TF32_SHARE


def _case(
    kernel: str,
    grid: int,
    block: int,
    args: tuple[str | int, ...],
    shared: int = 0,
    source: Path = SOURCE,
) -> Case:
    step = Step(kernel, (grid, 1, 1), (block, 1, 1), shared, args)
    shape = {"grid": grid, "block": block}
    return Case(PROBLEM, kernel, "float32", {}, shape, source.name, steps=(step,))


def measure_ceilings(backend: TimingBackend, rng: np.random.Generator) -> Iterator[Ceiling]:
    """Measure every ceiling by launches on this device."""
    work = {case.id: (case, amount) for case, amount in cases(backend.device)}
    built = _built(backend.device, [case for case, _ in work.values()])
    _check(backend, built)
    entries = [
        Entry(case, built[case.source])
        for case, _ in work.values()
        if _fits(backend.device, case, built[case.source])
    ]
    rounds: dict[str, list[Round]] = defaultdict(list)
    with backend.workspace(None, buffers(backend.device), {}) as workspace:
        workspace.noise("input")
        for records in measure(workspace, entries, ROUNDS, BATCH, rng, caches=("cold",)):
            for record in records:
                if isinstance(record, Round):
                    rounds[record.case].append(record)
    for name in dict.fromkeys(CEILING_OF.values()):
        tries = [
            (work[case_id], found)
            for case_id, found in rounds.items()
            if CEILING_OF[work[case_id][0].variant] == name
        ]
        if tries:  # an older GPU has no such tensor instruction
            yield _best(name, tries)


PROBED = tuple(mix.ceiling for mix in MIXES)
"""The ceilings that are measured again in every placement, because memory ceilings depend on the
buffers' addresses."""


def probe(backend: TimingBackend, ids: Sequence[str], placement: int) -> Iterator[Round]:
    """Time a batch of each named ceiling case, in this process's memory."""
    chosen = [case for case, _ in cases(backend.device) if case.id in ids]
    built = _built(backend.device, chosen)
    with backend.workspace(None, buffers(backend.device), {}) as workspace:
        workspace.noise("input")
        for case in chosen:
            workspace.time(case, built[case.source], "cold", 2)
            batch = workspace.time(case, built[case.source], "cold", 2 * BATCH)
            samples = tuple(round(ns, 1) for [ns] in batch.times_ns)
            yield Round(case.id, "cold", 0, False, samples, placement=placement)


def _built(device: Device, wanted: Sequence[Case]) -> dict[str, Built]:
    """Source name → its compiled unit."""
    names = {case.source for case in wanted}
    return {
        source.name: compiler.build(Unit(source, (), (), arch))
        for source, arch in ((SOURCE, device.arch), (MIXED, device.arch), (WGMMA, "sm_90a"))
        if source.name in names
    }


CHECKED = 1000
"""The number of float4 per stream in a check. It is a multiple neither of the block size nor of the
number of loads that a thread has in flight."""


def written(kernel: str, count: int, values: Array) -> Array:
    """The expected float32 output of a writing kernel for streams of `count` float4."""
    reads, writes = STREAMS[kernel]
    total = np.repeat(np.arange(count, dtype=np.float32), 4)
    if reads:
        first, *others = values.reshape(reads, 4 * count)
        total = first.copy()
        for stream in others:  # in the kernel's order, so that each rounding is the same
            total += stream
    return np.tile(total, writes)


def _check(backend: Backend, built: Mapping[str, Built]) -> None:
    """Run every writing kernel once, on a few numbers. Raises HarnessError for a wrong result."""
    for kernel, (reads, writes) in STREAMS.items():
        source = SOURCE if kernel.startswith("copy") else MIXED
        values = np.random.default_rng(1).random(4 * CHECKED * max(reads, 1), dtype=np.float32)
        needed = [
            Buffer("input", "input", "float32", values.size),
            Buffer("copy", "output", "float32", 4 * CHECKED * writes),
        ]
        case = _case(kernel, -(-CHECKED // 128), 128, _streamed(kernel, CHECKED), source=source)
        with backend.workspace(None, needed, {"input": values}) as workspace:
            found = workspace.run(case, built[source.name])
        right = np.array_equal(found.outputs["copy"], written(kernel, CHECKED, values))
        if found.faults or not right:
            why = "; ".join(found.faults) or "it writes other numbers than it should"
            raise HarnessError(f"{source.name}: {kernel} is no ceiling: {why}")


def _fits(device: Device, case: Case, built: Built) -> bool:
    """Return whether a multiprocessor of this device has enough registers and shared memory for a
    block."""
    step = case.steps[0]
    occupancy = compiler.occupancy(built.kernels[step.kernel], step, device.limits)
    return occupancy.blocks_per_sm > 0


def _best(name: str, found: Sequence[tuple[tuple[Case, float], list[Round]]]) -> Ceiling:
    """The rate (or time) of the best launch shape, with the interval of its median over rounds."""
    shapes: list[tuple[Interval, Case, float, list[float]]] = []
    for (case, amount), rounds in found:
        times: dict[Key, float] = {(r.placement, r.round): batch_time(r.samples_ns) for r in rounds}
        rates = times if name == "empty_kernel" else {
            at: amount / (ns * 1e-9) for at, ns in times.items()
        }  # fmt: skip
        found_one = time_of(rates)
        if found_one:
            shapes.append((found_one.interval(0.95), case, amount, [*rates.values()]))
    if not shapes:
        raise HarnessError(f"the ceiling {name} could not be measured: no launch was timed")
    interval, case, amount, values = max(shapes, key=lambda shape: shape[0].value)
    step = case.steps[0]
    how = f"{step.kernel}, grid {step.grid[0]}, block {step.block[0]}; best of {len(shapes)}"
    return Ceiling(name, interval.value, interval.low, interval.high, unit_of(name), how,
                   tuple(round(value, 3) for value in values), case.id, amount)  # fmt: skip


def unit_of(name: str) -> str:
    """The unit of a ceiling's value."""
    if name == "empty_kernel":
        return "ns"
    if name == "exponential_rate":
        return "exp/s"
    return "flop/s" if name.endswith("_rate") else "byte/s"
