"""Break down a case's time by each unit's minimum time and by stall reason.

The module describes the time of a case in two ways:

- A unit's minimum time is its amount of work over its peak. The unit whose minimum time is the
  largest share of the kernel's time is the nearest roof ("Speed of Light" in Nsight Compute). A
  kernel far below every roof is limited by latency.
- Nsight Compute samples the stall reason of each resident warp. The kernel's time is divided among
  these reasons in the same proportion, so the saving of a step can be stated per reason in
  nanoseconds.

Sources: "Warp Stall Reasons" and "Pipelines" in the Nsight Compute Kernel Profiling Guide, for the
meaning of each reason. Peaks: harness/analysis/peaks.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.analysis.finders import STALL, evaluate
from harness.analysis.readings import Reading, Readings
from harness.journal.records import Planned
from harness.quantities import QUANTITIES
from harness.tables.roofs import arithmetic_limit

REASONS: Mapping[str, tuple[str, ...]] = {
    "memory": ("long_scoreboard",),
    "queue": ("lg_throttle", "tex_throttle"),
    "exit": ("drain",),
    "shared": ("mio_throttle", "short_scoreboard"),
    "barrier": ("barrier", "membar"),
    "pipe": ("math_pipe_throttle", "dispatch_stall"),
    "latency": ("wait",),
    "ready": ("selected", "not_selected"),
    "fetch": ("no_instruction", "branch_resolving", "imc_miss"),
    "other": ("sleeping", "misc", "gmma"),
}
"""Wait class → Nsight Compute's reasons: data from global memory; a slot in the memory queue;
stores still draining at exit; shared memory and special functions; barriers; a busy arithmetic
pipe; the fixed latency of the previous instruction; ready to issue; instruction and constant
fetches."""

WORDS: Mapping[str, str] = {
    "memory": "data from global memory", "queue": "the queue to global memory",
    "exit": "stores to end", "shared": "shared memory and special functions",
    "barrier": "barriers", "pipe": "an arithmetic pipe", "latency": "the instruction before",
    "ready": "their turn to issue", "fetch": "instructions and constants", "other": "other things",
}  # fmt: skip
"""Each wait class, in words that fit into a sentence."""

UNITS: Mapping[str, str] = {
    **{q.key: q.roof.of for q in QUANTITIES.values() if q.roof.of},
    "arithmetic": "the arithmetic units",
}
"""Quantity of work → the unit that does it. Arithmetic includes the flops of all types."""
TO_MEMORY = ("dram-bytes", "l2-bytes", "sectors", "requests")
NEAR = 0.8
"""The share of a unit's peak above which the unit may be the limit, in which case more work in
flight does not help."""
BUSIER = 1.05
"""The factor by which a unit must be busier in the other case to rule it out as the limit here."""

TENSOR = 0.03
"""A kernel counts as a matrix product if tensor-pipe instructions make up at least this share."""
_KNOWN = 0.9
"""The launches that were sampled must account for at least this share of the time."""


@dataclass(frozen=True)
class Spent:
    """A case's time in nanoseconds, by unit and stall reason; unknown entries are left out."""

    ns: float
    busy: Mapping[str, float] = field(default_factory=dict)
    """Quantity of `UNITS` → the minimum time of its unit."""
    waits: Mapping[str, float] = field(default_factory=dict)
    """Class of `REASONS` → its share of the time; empty if warps were not sampled."""

    def part(self, unit: str) -> float:
        """The fraction of its peak at which a unit runs."""
        return self.busy.get(unit, 0.0) / self.ns

    def held_by_memory(self, other: Spent) -> bool:
        """Return whether a unit on the memory path is near its peak, and is not much busier in the
        other case.
        """
        return any(
            self.part(unit) >= NEAR and other.part(unit) < BUSIER * self.part(unit)
            for unit in TO_MEMORY
        )

    @property
    def limit(self) -> tuple[str, float] | None:
        """The unit that comes closest to its roof, in words, and the fraction of the roof that it
        reaches."""
        return self._largest(self.busy, UNITS)

    @property
    def longest_wait(self) -> tuple[str, float] | None:
        """The wait class with the largest share of the time, in words, and that share."""
        return self._largest(self.waits, WORDS)

    def _largest(
        self, parts: Mapping[str, float], words: Mapping[str, str]
    ) -> tuple[str, float] | None:
        """The largest part of the time, described in words, and its share."""
        if not parts or not self.ns:
            return None
        name = max(parts, key=lambda each: parts[each])
        return words[name], parts[name] / self.ns


def spent(readings: Readings, p: Planned, peaks: Mapping[str, float]) -> Spent | None:
    """Break down a case's time; None for a case without a time."""
    time = readings.run.time(p.case)
    if time is None:
        return None
    busy = {}
    for key in UNITS.keys() & peaks.keys():
        work = evaluate(key, readings, p)
        if isinstance(work, Reading) and work.judges:
            busy[key] = work.value / peaks[key]
    if least := _arithmetic(readings, p):
        busy["arithmetic"] = least
    shares = _shares(readings, p)
    return Spent(time.value, busy, {name: time.value * part for name, part in shares.items()})


def _arithmetic(readings: Readings, p: Planned) -> float:
    """The minimum time for the flops counted, each type at its measured rate. For tensor cores,
    whose flops are not counted, the problem's own count is used. 0 if neither is known."""
    ceilings, least = readings.run.ceilings, 0.0
    on_tensor_cores = evaluate("tensor-share", readings, p)
    if isinstance(on_tensor_cores, Reading) and on_tensor_cores.value >= TENSOR:
        limit = arithmetic_limit(readings.run, p)
        return 1e9 * p.flops / limit.value if limit else 0.0
    for kind in ("fp32", "fp64", "fp16"):
        flops, rate = readings.total(p.case, f"flops_{kind}"), ceilings.get(f"{kind}_rate")
        if isinstance(flops, Reading) and flops.judges and rate:
            least += 1e9 * flops.value / rate.value
    return least


def _shares(readings: Readings, p: Planned) -> Mapping[str, float]:
    """The share of the time spent in each wait class: the mean over launches, by duration."""
    found, known, every = dict.fromkeys(REASONS, 0.0), 0.0, 0.0
    steps = readings.steps(p.case)
    for step in steps:
        lasted = readings.at(p.case, step, "gpu__time_duration")
        weight = lasted.value if isinstance(lasted, Reading) else 1.0 if len(steps) == 1 else 0.0
        every += weight
        waiting = {name: _waiting(readings, p.case, step, each) for name, each in REASONS.items()}
        total = sum(waiting.values())
        if total:
            known += weight
            for name, value in waiting.items():
                found[name] += weight * value / total
    if not known or known < _KNOWN * every:
        return {}
    return {name: value / known for name, value in found.items()}


def _waiting(readings: Readings, case: str, step: int, reasons: tuple[str, ...]) -> float:
    """Warps stalled for these reasons per instruction issued; 0 if they were not sampled."""
    read = [readings.at(case, step, STALL.format(reason)) for reason in reasons]
    return sum(each.value for each in read if isinstance(each, Reading) and each.judges)
