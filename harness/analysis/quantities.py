"""What a case's counters come to: one number for each quantity, or the reason why there is none.

A case may have several launches. Amounts (bytes, instructions) are summed over them, and a ratio of
amounts is formed from the sums, never averaged. What is neither, such as occupancy, is that of the
case's main launch: the longest, or without times the one of most instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from harness.ncu.metrics import base, catalogue
from harness.records import Compiled, Counted, Planned, Provenance, Uncounted
from harness.tables import Run

NOT_COLLECTED, NOT_APPLICABLE = "not collected", "not applicable"
SECTOR_BYTES = 32


@dataclass(frozen=True)
class Reading:
    """A value in base units and where it came from."""

    value: float
    provenance: Provenance


@dataclass(frozen=True)
class Missing:
    """Why there is no value; the words before a colon are one of the three kinds of absence."""

    reason: str

    @property
    def short(self) -> str:
        return self.reason.partition(":")[0]


Answer = Reading | Missing


class Readings:
    """A run's counters by case, step and base name."""

    def __init__(self, run: Run) -> None:
        self.run = run
        # Where a counter was both read and emulated, what was read stands.
        ranked = sorted(run.of(Counted), key=lambda r: r.provenance == "ncu")
        self._values = {(r.case, r.step, base(r.metric)): r for r in ranked}
        self._reasons = {(r.case, r.step, base(r.metric)): r.reason for r in run.of(Uncounted)}
        self._main: dict[str, int] = {}
        self._names = {(r.case, r.step): r.kernel for r in ranked}

    @cached_property
    def counted(self) -> set[str]:
        """The cases that have a counter, or a reason why they lack one."""
        return {case for case, _, _ in [*self._values, *self._reasons]}

    @cached_property
    def _steps(self) -> dict[str, list[int]]:
        found: dict[str, set[int]] = {}
        for case, step, _ in [*self._values, *self._reasons]:
            found.setdefault(case, set()).add(step)
        return {case: sorted(steps) for case, steps in found.items()}

    def steps(self, case: str) -> list[int]:
        """The launches that anything is known of."""
        return self._steps.get(case) or [c.step for c in self.run.compiled.get(case, [])]

    def kernel(self, case: str, step: int) -> str:
        """What a launch's kernel is called; empty where nothing says so."""
        names = self._names.get((case, step))
        if names:
            return names
        made = self.run.compiled.get(case, [])
        return next((c.kernel for c in made if c.step == step), "")

    def metrics(self, cases: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Every counter that these cases have or lack a value of: its name → unit, provenance."""
        wanted = set(cases)
        found: dict[str, tuple[str, str]] = {
            r.metric: (r.unit, r.provenance)
            for (case, _, _), r in self._values.items()
            if case in wanted
        }
        known = {base(metric) for metric in found}
        units = {base(m.name): m.unit for m in catalogue().metrics.values()}
        for case, _, metric in self._reasons:
            if case in wanted and metric not in known:
                known.add(metric)
                found[metric] = (units.get(metric, ""), "")
        return found

    def at(self, case: str, step: int, metric: str) -> Answer:
        """One counter of one launch."""
        found = self._values.get((case, step, metric))
        if found:
            return Reading(found.value, found.provenance)
        return Missing(self._reasons.get((case, step, metric), NOT_COLLECTED))

    def total(self, case: str, *metrics: str) -> Answer:
        """The sum over a case's launches, and over the counters named."""
        answers = [self.at(case, step, m) for step in self.steps(case) for m in metrics]
        missing = next((a for a in answers if isinstance(a, Missing)), None)
        if missing or not answers:
            return missing or Missing(NOT_COLLECTED)
        read = [a for a in answers if isinstance(a, Reading)]
        return Reading(sum(a.value for a in read), read[0].provenance)

    def main(self, case: str, metric: str) -> Answer:
        """A counter of the case's main launch."""
        return self.at(case, self.main_step(case), metric)

    def main_step(self, case: str) -> int:
        """The longest launch; without times the one with most instructions; else the first."""
        if case not in self._main:
            self._main[case] = self._longest(case)
        return self._main[case]

    def _longest(self, case: str) -> int:
        times = self.run.timings.step_times(case, "cold")
        if times:
            return max(range(len(times)), key=times.__getitem__)
        for metric in ("gpu__time_duration", "smsp__inst_executed"):
            values = {s: self.at(case, s, metric) for s in self.steps(case)}
            known = {s: a.value for s, a in values.items() if isinstance(a, Reading)}
            if known:
                return max(known, key=known.__getitem__)
        return 0

    def compiled(self, case: str) -> Compiled | None:
        """What the compiler made for the main launch."""
        records = self.run.compiled.get(case, [])
        step = self.main_step(case)
        return next((c for c in records if c.step == step), None)


def ratio(over: Answer, under: Answer) -> Answer:
    """One sum over another; with nothing to divide by, it does not apply."""
    for answer in (over, under):
        if isinstance(answer, Missing):
            return answer
    assert isinstance(over, Reading)
    assert isinstance(under, Reading)
    if not under.value:
        return Missing(NOT_APPLICABLE)
    return Reading(over.value / under.value, over.provenance)


Kind = Literal["cause", "extent", "consequence"]
Find = Callable[[Readings, Planned], Answer]


@dataclass(frozen=True)
class Quantity:
    """Something that is compared between cases.

    kind: a cause may explain a time; an extent (registers, launches) says what was built; a
    consequence, such as throughput, follows from the time and explains nothing.
    words: what stands in a sentence, as in "<words> fell from 3.3× to 1.0×".
    family: of those that say nearly the same, only one is told.
    """

    key: str
    title: str
    words: str
    unit: str
    text: str
    good: Literal["lower", "higher", "neutral"]
    kind: Kind
    find: Find
    family: str = ""
    ideal: float | None = None
    least: float = 0.0
    """A difference below this is not told, however many times it is."""


_LD, _ST = (f"l1tex__t_{{}}_pipe_lsu_mem_global_op_{op}" for op in ("ld", "st"))
_OPERATIONS = ("ld", "st", "red", "atom")
_INST = "smsp__inst_executed"
_WAVES, _IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
_BRANCHES = "smsp__sass_branch_targets"
_DISTINCT = "distinct_sectors_read", "distinct_sectors_written"
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active"


def _sum(*metrics: str, scale: float = 1) -> Find:
    def find(readings: Readings, p: Planned) -> Answer:
        total = readings.total(p.case, *metrics)
        if isinstance(total, Missing):
            return total
        return Reading(scale * total.value, total.provenance)

    return find


def _atomic(space: str) -> tuple[str, str]:
    return f"{space}_atomic_lanes", f"{space}_atomic_addresses"


def _compulsory(readings: Readings, p: Planned) -> Answer:
    """The problem's own count, where counted sectors stand beside it."""
    counted = readings.total(p.case, *_DISTINCT)
    return counted if isinstance(counted, Missing) else Reading(p.bytes, "measured")


def _main(metric: str) -> Find:
    return lambda readings, p: readings.main(p.case, metric)


def _quotient(over: str, under: str, otherwise: str = "") -> Find:
    """Of two sums; where they were not collected, the main launch's own ratio."""

    def find(readings: Readings, p: Planned) -> Answer:
        found = ratio(readings.total(p.case, over), readings.total(p.case, under))
        if isinstance(found, Missing) and otherwise:
            read = readings.main(p.case, otherwise)
            return read if isinstance(read, Reading) else found
        return found

    return find


def _per_compulsory(*metrics: str, scale: float) -> Find:
    def find(readings: Readings, p: Planned) -> Answer:
        total = readings.total(p.case, *metrics)
        known = isinstance(total, Reading) and p.bytes
        return Reading(total.value * scale / p.bytes, total.provenance) if known else total  # type: ignore[union-attr]

    return find


def _made(attribute: str) -> Find:
    def find(readings: Readings, p: Planned) -> Answer:
        made = readings.compiled(p.case)
        if made is None:
            return Missing(
                f"{NOT_APPLICABLE}: not compiled by us" if p.is_library else NOT_COLLECTED
            )
        return Reading(float(getattr(made, attribute)), "measured")

    return find


def _launches(readings: Readings, p: Planned) -> Answer:
    steps = len(p.kernels) or len(readings.run.compiled.get(p.case, []))
    return Reading(steps, "measured") if steps else Missing(NOT_COLLECTED)


def _waves(readings: Readings, p: Planned) -> Answer:
    """As ncu says, or else as follows from registers, shared memory and the shape of the launch."""
    told = readings.main(p.case, "launch__waves_per_multiprocessor")
    made = readings.compiled(p.case)
    if isinstance(told, Reading) or made is None or made.waves is None:
        return told
    return Reading(made.waves, "measured")


def _tail(readings: Readings, p: Planned) -> Answer:
    """How full the waves are on average: 2.1 waves take the time of 3."""
    waves = _waves(readings, p)
    if isinstance(waves, Missing) or not waves.value:
        return waves
    return Reading(waves.value / -(-waves.value // 1), waves.provenance)


def stall_reasons() -> dict[str, str]:
    """Counter → what it is called, for every reason but issuing itself."""
    prefix, suffix = _STALL.split("{}")
    return {
        key: metric.title
        for key, metric in catalogue().metrics.items()
        if key.startswith(prefix) and key.endswith(suffix) and key != _STALL.format("selected")
    }


def _stall_share(reason: str) -> Find:
    """The part of all waiting that is for one reason, in the main launch."""

    def find(readings: Readings, p: Planned) -> Answer:
        answers = [readings.main(p.case, metric) for metric in stall_reasons()]
        known = [a for a in answers if isinstance(a, Reading)]
        own = readings.main(p.case, _STALL.format(reason))
        if isinstance(own, Missing):
            return own
        return ratio(own, Reading(sum(a.value for a in known), own.provenance))

    return find


QUANTITIES: Sequence[Quantity] = (
    Quantity("wavefronts-over-ideal", "Shared-memory wavefronts over ideal",
             "shared-memory wavefronts over the ideal", "× ideal",
             "How many times the passes that conflict-free accesses need; 1 means no bank "
             "conflict.",
             "lower", "cause", _quotient(_WAVES, _IDEAL), "shared", 1.0),
    Quantity("wavefronts", "Shared-memory wavefronts", "shared-memory wavefronts", "",
             "Passes that shared memory needed.", "lower", "cause", _sum(_WAVES), "shared"),
    Quantity("sectors-per-load", "Sectors per global load request",
             "sectors per global load request", "sectors",
             "32-byte sectors that a warp's load touches: 4 when 32 neighbouring floats are read "
             "one each, 16 when four each, 32 when all are scattered.",
             "neutral", "extent", _quotient(_LD.format("sectors"), _LD.format("requests"))),
    Quantity("sectors-over-compulsory", "Touched sectors over compulsory bytes",
             "bytes of touched global sectors over the compulsory bytes", "×",
             "The 32-byte sectors that global loads, stores and atomics touched, in bytes, over "
             "what any implementation must move; 1 means nothing was fetched in vain or twice.",
             "lower", "cause",
             _per_compulsory(*(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}"
                               for op in _OPERATIONS), scale=SECTOR_BYTES), "sectors", 1.0),
    Quantity("compulsory-bytes", "Compulsory bytes", "compulsory bytes", "byte",
             "What any implementation must move, by the problem's own count.", "neutral", "extent",
             _compulsory),
    Quantity("distinct-bytes", "Distinct sectors of global memory",
             "bytes of distinct global sectors", "byte",
             "The 32-byte sectors that a launch read, and those that it wrote, each once however "
             "often, in bytes and summed over launches: what the device's memory moves if the "
             "caches are empty at first and lose nothing.", "lower", "extent",
             _sum(*_DISTINCT, scale=SECTOR_BYTES)),
    Quantity("distinct-over-compulsory", "Distinct sectors over compulsory bytes",
             "bytes of distinct global sectors over the compulsory bytes", "×",
             "Above 1, the launches need memory beside the problem's own, fetch parts of sectors "
             "or hand data from one to the next; below 1, they do not touch all of it.",
             "lower", "extent", _per_compulsory(*_DISTINCT, scale=SECTOR_BYTES), "", 1.0),
    Quantity("load-requests", "Global load requests", "global load requests", "",
             "Warp instructions that loaded from global memory: fewer, for the same bytes, are "
             "wider.", "lower", "cause", _sum(_LD.format("requests"))),
    Quantity("dram-over-compulsory", "Device memory traffic over compulsory bytes",
             "device memory traffic over the compulsory bytes", "×",
             "Bytes read from and written to the device's memory, over what any implementation "
             "must move; below 1 a cache had some of it.", "lower", "cause",
             _per_compulsory("dram__bytes_read", "dram__bytes_write", scale=1), "dram", 1.0),
    Quantity("dram-bytes", "Device memory traffic", "device memory traffic", "byte",
             "Bytes read from and written to the device's memory.", "lower", "cause",
             _sum("dram__bytes_read", "dram__bytes_write"), "dram"),
    Quantity("instructions", "Warp instructions", "warp instructions", "",
             "Instructions executed, one for each warp.", "lower", "cause", _sum(_INST),
             "instructions"),
    Quantity("instructions-per-kib", "Warp instructions per KiB of compulsory traffic",
             "warp instructions per KiB", "instructions",
             "Work done for each 1,024 bytes that any implementation must move.", "lower",
             "cause", _per_compulsory(_INST, scale=1024), "instructions"),
    Quantity("acting-threads", "Acting threads per warp instruction",
             "acting threads per warp instruction", "threads",
             "Of 32; fewer means that threads wait while others of their warp work.", "higher",
             "cause", _quotient("smsp__thread_inst_executed_pred_on", _INST,
                                "smsp__thread_inst_executed_pred_on_per_inst_executed"),
             "threads", 32.0),
    Quantity("active-threads", "Active threads per warp instruction",
             "active threads per warp instruction", "threads",
             "Of 32, counting threads that a predicate keeps from acting.", "higher", "cause",
             _quotient("smsp__thread_inst_executed", _INST,
                       "smsp__thread_inst_executed_per_inst_executed"), "threads", 32.0),
    Quantity("branch-uniformity", "Branch uniformity", "uniform branches", "ratio",
             "Branches at which all threads of a warp went the same way, of all branches.",
             "higher", "extent", _quotient(f"{_BRANCHES}_threads_uniform", _BRANCHES), "", 1.0),
    Quantity("global-lanes-per-address", "Lanes an address, global atomics",
             "lanes of a warp's global atomic on one address", "lanes",
             "Threads of a warp whose atomics meet on an address of global memory, on average.",
             "lower", "extent", _quotient(*_atomic("global")), "", 1.0),
    Quantity("shared-lanes-per-address", "Lanes an address, shared atomics",
             "lanes of a warp's shared atomic on one address", "lanes",
             "Threads of a warp whose atomics meet on an address of shared memory, on average.",
             "lower", "extent", _quotient(*_atomic("shared")), "", 1.0),
    Quantity("barriers", "Barrier instructions", "barrier instructions", "",
             "Barriers executed, one for each warp.", "lower", "cause",
             _sum("barrier_instructions")),
    Quantity("barrier-stalls", "Waiting at barriers", "warps waiting at a barrier per issue",
             "warps", "Warps of a scheduler that wait at a barrier in an average cycle that issues "
             "an instruction, in the main launch.", "lower", "cause",
             _main(_STALL.format("barrier")), "barrier", least=0.5),
    Quantity("barrier-share", "Waiting at barriers, of all waiting", "waiting at barriers", "ratio",
             "The part of all waiting that is at barriers, in the main launch.", "lower", "cause",
             _stall_share("barrier"), "barrier", least=0.05),
    Quantity("memory-share", "Waiting for memory, of all waiting",
             "waiting for global memory", "ratio",
             "The part of all waiting that is for data from global memory (long scoreboard), in "
             "the main launch.", "neutral", "consequence", _stall_share("long_scoreboard")),
    Quantity("achieved-occupancy", "Achieved occupancy", "achieved occupancy", "ratio",
             "Resident warps on average, of the most that fit a multiprocessor, in the main "
             "launch.", "higher", "cause", _main("sm__warps_active"), "occupancy"),
    Quantity("theoretical-occupancy", "Theoretical occupancy", "theoretical occupancy", "ratio",
             "Resident warps that registers, shared memory and block size allow, in the main "
             "launch.", "higher", "cause", _made("occupancy"), "occupancy"),
    Quantity("waves", "Waves", "waves of blocks", "waves",
             "How many times the machine is filled with blocks, in the main launch.", "neutral",
             "extent", _waves, "waves"),
    Quantity("wave-fill", "Fill of the waves", "fill of the waves", "ratio",
             "The waves over the next whole number: how much of the machine's block slots, over "
             "all waves, has a block.", "higher", "cause", _tail, "waves"),
    Quantity("launches", "Launches", "launches", "", "Kernels that one call launches.", "lower",
             "cause", _launches),
    Quantity("registers", "Registers", "registers per thread", "", "Of the main launch.",
             "neutral", "extent", _made("registers")),
    Quantity("shared", "Shared memory", "shared memory per block", "byte",
             "Of the main launch, static and dynamic.", "neutral", "extent",
             _made("shared_bytes")),
    Quantity("spills", "Spills", "spilled bytes per thread", "byte",
             "What did not fit registers, in the main launch.", "lower", "cause",
             _made("spill_bytes")),
    Quantity("dram-throughput", "Device memory throughput", "device memory throughput", "ratio",
             "Of the peak that Nsight Compute assumes, in the main launch.", "higher",
             "consequence", _main("dram__throughput")),
    Quantity("l1-hits", "L1 hit rate", "L1 hit rate", "ratio", "Of the main launch.", "neutral",
             "extent", _main("l1tex__t_sector_hit_rate"), least=0.05),
    Quantity("l2-hits", "L2 hit rate", "L2 hit rate", "ratio", "Of the main launch.", "neutral",
             "extent", _main("lts__t_sector_hit_rate"), least=0.05),
)  # fmt: skip
BY_KEY = {quantity.key: quantity for quantity in QUANTITIES}
