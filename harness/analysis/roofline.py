"""Each kernel's position under the machine's roofs. The module computes data;
harness/report/figures draws the chart.

A kernel's rate is its flops over its time. Its intensity at a memory level is its flops over the
bytes that crossed that level. All levels use the same flops, so a kernel's points are at the same
height. The distance from the compulsory intensity (what the problem needs) to the measured one
(what the kernel moved) is its excess traffic.

Method: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 52 (2009); by level: Yang, Kurth and Williams, "Hierarchical Roofline
analysis for GPUs", Concurrency and Computation 32 (2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from harness.analysis.finders import matrix_products
from harness.analysis.readings import Answer, Missing, Reading, Readings, weakest
from harness.journal.records import Planned
from harness.silicon.architectures import SECTOR_BYTES
from harness.statistics.intervals import Interval
from harness.statistics.mixes import MIXES
from harness.tables import Run
from harness.tables.roofs import roofs_of

Level = Literal["compulsory", "DRAM", "L2", "L1"]
LEVELS: Sequence[Level] = ("DRAM", "L2", "L1")

_DRAM: Level = "DRAM"
_MEMORY: Mapping[str, tuple[str, Level]] = {
    "read_bandwidth": ("DRAM read", "DRAM"),
    "copy_bandwidth": ("DRAM copy", "DRAM"),
    "l2_bandwidth": ("L2", "L2"),
    "shared_bandwidth": ("shared memory", "L1"),
}
_RATES: Mapping[str, str] = {
    "fp32_rate": "FP32", "fp64_rate": "FP64", "fp16_rate": "FP16", "tensor_rate": "tensor",
    "bf16_tensor_rate": "BF16 tensor", "tf32_rate": "TF32 tensor",
}  # fmt: skip
_OF_ARITHMETIC: Mapping[str, tuple[str, ...]] = {
    "float32": ("fp32_rate",), "float64": ("fp64_rate",), "tf32": ("fp32_rate", "tf32_rate"),
    "3 tf32": ("fp32_rate", "tf32_rate"),
    "float16": ("fp16_rate", "tensor_rate"), "bfloat16": ("fp16_rate", "bf16_tensor_rate"),
}  # fmt: skip


@dataclass(frozen=True)
class Roof:
    """A ceiling of this run: bytes per second at one memory level, or flops per second."""

    name: str
    label: str
    value: Interval
    level: Level | None
    """The memory level; None for an arithmetic rate."""


@dataclass(frozen=True)
class Spot:
    """One kernel at one memory level."""

    level: Level
    intensity: float
    source: str
    """The origin of the bytes, in words."""


@dataclass(frozen=True)
class Kernel:
    """A case at its fastest launch shape: its rate, and its intensity at every known level."""

    planned: Planned
    short: str
    rate: Interval
    """Flops per second."""
    flops: float
    flops_from: str
    spots: Sequence[Spot]
    missing: Mapping[Level, str] = field(default_factory=dict)
    above: Sequence[str] = ()
    """Sentences about roofs that the kernel seems to exceed; exceeding one indicates a measurement
    error."""

    def at(self, level: Level) -> float | None:
        return next((s.intensity for s in self.spots if s.level == level), None)

    @property
    def excess(self) -> float | None:
        """DRAM traffic over the compulsory traffic, from the intensities."""
        compulsory, measured = self.at("compulsory"), self.at("DRAM")
        return compulsory / measured if compulsory and measured else None


@dataclass(frozen=True)
class Roofline:
    """One chart: its roofs, its kernels, and why other kernels are missing."""

    title: str
    key: str
    roofs: Sequence[Roof]
    kernels: Sequence[Kernel]
    absent: Mapping[str, str] = field(default_factory=dict)

    @property
    def errors(self) -> list[str]:
        return [sentence for kernel in self.kernels for sentence in kernel.above]


def roofs(run: Run, cases: Sequence[Planned]) -> list[Roof]:
    """The roofs for memory and for the cases' traffic and arithmetic, as measured in this run."""
    found = []
    traffic = {roof.name for p in cases for roof in roofs_of(run, p) if roof.is_traffic}
    mixed = {m.ceiling: (f"DRAM {m.name}", _DRAM) for m in MIXES if m.name in traffic}
    for name, (label, level) in (mixed | dict(_MEMORY)).items():
        if c := run.ceilings.get(name):
            found.append(Roof(name, label, Interval(c.value, c.low, c.high), level))
    arithmetic = dict.fromkeys(run.arithmetic(p) for p in cases)
    wanted = {name for kind in arithmetic for name in _OF_ARITHMETIC.get(kind, ())}
    for name, label in _RATES.items():
        if (c := run.ceilings.get(name)) and name in wanted:
            found.append(Roof(name, label, Interval(c.value, c.low, c.high), None))
    return found


def roofline(
    readings: Readings, title: str, key: str, cases: Sequence[Planned], shorts: Mapping[str, str]
) -> Roofline:
    """The chart of the given cases, each a variant at the launch shape at which it is shown.

    `shorts`: the label of each case's point.
    """
    above = roofs(readings.run, cases)
    kernels, absent = [], {}
    for p in cases:
        found = _kernel(readings, p, shorts[p.case], above)
        if isinstance(found, str):
            absent[shorts[p.case]] = found
        else:
            kernels.append(found)
    return Roofline(title, key, above, kernels, absent)


def counted_flops(readings: Readings, p: Planned) -> Answer:
    """Flops of all types according to the counters; missing if tensor cores were used, whose flops
    ncu does not count."""
    tensor = matrix_products(readings, p)
    if isinstance(tensor, Reading) and tensor.value:
        return Missing("not applicable: tensor cores worked, whose flops are not counted")
    kinds = ("fp16", "fp32", "fp64", "tensor")
    answers = [readings.total(p.case, f"flops_{kind}") for kind in kinds]
    known = [a for a in answers if isinstance(a, Reading)]
    if not known:
        return answers[1]
    return Reading(sum(a.value for a in known), weakest(known), known[0].counted_at)


def level_bytes(readings: Readings, p: Planned, level: Level) -> tuple[Answer, str]:
    """The bytes that crossed a level, and a phrase that says where they crossed it."""
    if level == "DRAM":
        return (
            readings.total(p.case, "dram__bytes_read", "dram__bytes_write"),
            "read from and written to the device's memory",
        )
    if level == "L2":
        return readings.total(p.case, "lts__t_bytes"), "through the L2 cache"
    found = readings.total(p.case, "l1tex__t_bytes")
    if isinstance(found, Reading):
        return found, "through the L1 cache"
    sectors = [
        readings.total(p.case, f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}")
        for op in ("ld", "st")
    ]
    known = [s for s in sectors if isinstance(s, Reading)]
    if len(known) < len(sectors):
        return found, ""
    total = SECTOR_BYTES * sum(s.value for s in known)
    return Reading(
        total, weakest(known), known[0].counted_at
    ), "sectors that global accesses touched × 32"


def _kernel(readings: Readings, p: Planned, short: str, above: Sequence[Roof]) -> Kernel | str:
    time = readings.run.time(p.case)
    if time is None:
        return "not timed"
    counted = counted_flops(readings, p)
    flops, origin = float(p.flops), "the problem's own count"
    if isinstance(counted, Reading) and counted.value:
        flops, origin = counted.value, "counted by Nsight Compute"
        if counted.provenance != "ncu":
            origin = "counted in PTX by the emulator"
    if not flops:
        return "it computes nothing in floating point: no intensity"
    rate = Interval(*(1e9 * flops / ns for ns in (time.value, time.high, time.low)))
    spots = [Spot("compulsory", flops / p.bytes, "what the problem must move")] if p.bytes else []
    missing: dict[Level, str] = {}
    for level in LEVELS:
        found, source = level_bytes(readings, p, level)
        if isinstance(found, Missing):
            missing[level] = found.reason
        elif found.value:
            spots.append(Spot(level, flops / found.value, source))
        else:
            missing[level] = "not applicable: no byte crossed it"
    if not spots:
        return "no bytes are known that it moves: no intensity"
    return Kernel(p, short, rate, flops, origin, spots, missing, _above(short, rate, spots, above))


def _above(short: str, rate: Interval, spots: Sequence[Spot], above: Sequence[Roof]) -> list[str]:
    """Describe each roof whose interval is entirely below the rate's interval.

    If a level has two roofs, such as reading and copying, only the higher one applies. A problem's
    compulsory bytes are compared with the device's memory, from which a cold run loads them.
    """
    found = []
    for spot in spots:
        level: Level = "DRAM" if spot.level == "compulsory" else spot.level
        binding = max(
            (r for r in above if r.level == level), key=lambda r: r.value.high, default=None
        )
        bandwidth = rate.low / spot.intensity
        if binding and bandwidth > binding.value.high:
            found.append(
                f"{short} moves {spot.level} bytes at {bandwidth / binding.value.value:.3g} times "
                f"the {binding.label} roof"
            )
    peak = max((r for r in above if r.level is None), key=lambda r: r.value.high, default=None)
    if peak and rate.low > peak.value.high:
        found.append(f"{short} computes at {rate.low / peak.value.value:.3g} times {peak.label}")
    return found
