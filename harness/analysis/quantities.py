"""What a case's counters come to: one number for each quantity, or the reason why there is none."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from harness.analysis.readings import (
    NOT_APPLICABLE,
    NOT_COLLECTED,
    Answer,
    Missing,
    Reading,
    Readings,
    ratio,
    weakest,
)
from harness.ncu.metrics import catalogue
from harness.records import Planned

SECTOR_BYTES, WARP = 32, 32
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

    def __reduce__(self) -> tuple[Callable[[str], Quantity], tuple[str]]:
        """It goes to another process by its key: how it is found is a function of this module."""
        return _of_key, (self.key,)


_LD, _ST = (f"l1tex__t_{{}}_pipe_lsu_mem_global_op_{op}" for op in ("ld", "st"))
_OPERATIONS = ("ld", "st", "red", "atom")
_SECTORS, _REQUESTS = (
    tuple(f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}" for op in _OPERATIONS)
    for what in ("sectors", "requests")
)
_ATOMICS = _REQUESTS[2:]
_INST = "smsp__inst_executed"
_WAVES, _IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
_BRANCHES = "smsp__sass_branch_targets"
_DISTINCT = "distinct_sectors_read", "distinct_sectors_written"
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active"


def element_bytes(dtype: str) -> int | None:
    """The size of one element, by the bits in its type's name; None where it has none."""
    bits = re.search(r"\d+", dtype)
    return int(bits[0]) // 8 if bits else 1 if dtype == "bool" else None


def _sum(*metrics: str, scale: float = 1) -> Find:
    def find(readings: Readings, p: Planned) -> Answer:
        total = readings.total(p.case, *metrics)
        if isinstance(total, Missing):
            return total
        return replace(total, value=scale * total.value)

    return find


def _atomic(space: str) -> tuple[str, str]:
    return f"{space}_atomic_lanes", f"{space}_atomic_addresses"


def _compulsory(readings: Readings, p: Planned) -> Answer:
    """The problem's own count, where counted sectors stand beside it."""
    counted = readings.total(p.case, *_DISTINCT)
    return counted if isinstance(counted, Missing) else Reading(p.bytes, "measured")


def _main(metric: str) -> Find:
    return lambda readings, p: readings.main(p.case, metric)


def _quotient(over: str | tuple[str, ...], under: str | tuple[str, ...], instead: str = "") -> Find:
    """Of two sums; where they were not collected, the main launch's own ratio."""
    overs, unders = ((x,) if isinstance(x, str) else x for x in (over, under))

    def find(readings: Readings, p: Planned) -> Answer:
        found = ratio(readings.total(p.case, *overs), readings.total(p.case, *unders))
        if isinstance(found, Missing) and instead:
            read = readings.main(p.case, instead)
            return read if isinstance(read, Reading) else found
        return found

    return find


def _per_compulsory(*metrics: str, scale: float) -> Find:
    def find(readings: Readings, p: Planned) -> Answer:
        total = readings.total(p.case, *metrics)
        if isinstance(total, Missing):
            return total
        if not p.bytes:
            return Missing(f"{NOT_APPLICABLE}: the problem moves no byte")
        return replace(total, value=total.value * scale / p.bytes)

    return find


def _load_width(readings: Readings, p: Planned) -> Answer:
    """Sectors per load, as elements for each of the 32 lanes."""
    sectors, size = _quotient(_LD.format("sectors"), _LD.format("requests"))(readings, p), None
    if isinstance(sectors, Missing):
        return sectors
    size = element_bytes(p.dtype)
    if size is None:
        return Missing(f"{NOT_APPLICABLE}: the size of a {p.dtype} is not known")
    return replace(sectors, value=sectors.value * SECTOR_BYTES / (WARP * size))


def _made(attribute: str) -> Find:
    def find(readings: Readings, p: Planned) -> Answer:
        made = readings.compiled(p.case)
        if made is None:
            ours = bool(p.kernels) and not p.is_library
            return Missing(NOT_COLLECTED if ours else f"{NOT_APPLICABLE}: not compiled by us")
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


def _last_wave(readings: Readings, p: Planned) -> Answer:
    """How full the waves are on average: 2.1 waves take the time of 3. One begun wave is full."""
    waves = _waves(readings, p)
    if isinstance(waves, Missing):
        return waves
    fill = waves.value / math.ceil(waves.value) if waves.value > 1 else 1.0
    return Reading(fill, waves.provenance)


def _filled(readings: Readings, p: Planned) -> Answer:
    waves = _waves(readings, p)
    return waves if isinstance(waves, Missing) else Reading(min(waves.value, 1), waves.provenance)


@cache
def stall_reasons() -> Mapping[str, str]:
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
        return ratio(own, Reading(sum(a.value for a in known), weakest(known)))

    return find


QUANTITIES: Sequence[Quantity] = (
    Quantity("wavefronts-over-ideal", "Shared-memory wavefronts over ideal",
             "shared-memory wavefronts over the ideal", "× ideal",
             "How many times the passes that conflict-free accesses need; 1 means no bank "
             "conflict.",
             "lower", "cause", _quotient(_WAVES, _IDEAL), "shared", 1.0),
    Quantity("wavefronts", "Shared-memory wavefronts", "shared-memory wavefronts", "",
             "Passes that shared memory needed.", "lower", "cause", _sum(_WAVES), "shared"),
    Quantity("wavefronts-ideal", "Ideal shared-memory wavefronts",
             "ideal shared-memory wavefronts", "",
             "Passes that shared memory would have needed without bank conflicts.", "lower",
             "cause", _sum(_IDEAL), "shared"),
    Quantity("sectors-per-load", "Sectors per global load request",
             "sectors per global load request", "sectors",
             "32-byte sectors that a warp's load touches: 4 when 32 neighbouring floats are read "
             "one each, 16 when four each, 32 when all are scattered.",
             "neutral", "extent", _quotient(_LD.format("sectors"), _LD.format("requests"))),
    Quantity("load-width", "Elements per thread and load, by sectors",
             "elements per thread and load", "elements",
             "The sectors of a warp's load as elements for each of its 32 threads. More than 1 "
             "means loads wider than an element (float4 has 4), or sectors that are little used.",
             "neutral", "extent", _load_width),
    Quantity("load-sectors", "Sectors of global loads", "sectors of global loads", "",
             "32-byte sectors that global loads touched, each as often as it was.", "lower",
             "extent", _sum(_LD.format("sectors"))),
    Quantity("sectors-per-store", "Sectors per global store request",
             "sectors per global store request", "sectors",
             "32-byte sectors that a warp's store touches: 4 when 32 neighbouring floats are "
             "written, 32 when they are scattered.",
             "neutral", "extent", _quotient(_ST.format("sectors"), _ST.format("requests"))),
    Quantity("sectors-per-request", "Sectors per global request",
             "sectors per global memory request", "sectors",
             "Of loads, stores and atomics together.", "lower", "cause",
             _quotient(_SECTORS, _REQUESTS), "sectors"),
    Quantity("sectors", "Sectors of global memory", "sectors of global memory", "",
             "32-byte sectors that loads, stores and atomics touched, each as often as it was.",
             "lower", "cause", _sum(*_SECTORS), "sectors"),
    Quantity("requests", "Global requests", "global memory requests", "",
             "Warp instructions that went to global memory.", "lower", "extent",
             _sum(*_REQUESTS)),
    Quantity("sectors-over-compulsory", "Touched sectors over compulsory bytes",
             "bytes of touched global sectors over the compulsory bytes", "×",
             "The 32-byte sectors that global loads, stores and atomics touched, in bytes, over "
             "what any implementation must move; 1 means nothing was fetched in vain or twice.",
             "lower", "cause", _per_compulsory(*_SECTORS, scale=SECTOR_BYTES), "sectors", 1.0),
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
             "wider.", "lower", "extent", _sum(_LD.format("requests"))),
    Quantity("global-atomics", "Global atomic requests", "global atomic requests", "",
             "Warp instructions that updated global memory atomically.", "lower", "cause",
             _sum(*_ATOMICS)),
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
             "threads", float(WARP)),
    Quantity("active-threads", "Active threads per warp instruction",
             "active threads per warp instruction", "threads",
             "Of 32, counting threads that a predicate keeps from acting.", "higher", "cause",
             _quotient("smsp__thread_inst_executed", _INST,
                       "smsp__thread_inst_executed_per_inst_executed"), "threads",
             float(WARP)),
    Quantity("branch-uniformity", "Branch uniformity", "uniform branches", "ratio",
             "Branches at which all threads of a warp went the same way, of all branches.",
             "higher", "extent", _quotient(f"{_BRANCHES}_threads_uniform", _BRANCHES), "", 1.0),
    Quantity("global-lanes-per-address", "Lanes per address, global atomics",
             "lanes of a warp's global atomic on one address", "lanes",
             "Threads of a warp whose atomics meet on an address of global memory, on average.",
             "lower", "cause", _quotient(*_atomic("global")), "", 1.0),
    Quantity("shared-lanes-per-address", "Lanes per address, shared atomics",
             "lanes of a warp's shared atomic on one address", "lanes",
             "Threads of a warp whose atomics meet on an address of shared memory, on average.",
             "lower", "cause", _quotient(*_atomic("shared")), "", 1.0),
    Quantity("barriers", "Barrier instructions", "barrier instructions", "",
             "Barriers executed, one for each warp.", "lower", "cause",
             _sum("barrier_instructions"), "barrier"),
    Quantity("barrier-density", "Barriers per warp instruction", "barriers per warp instruction",
             "ratio", "The part of all warp instructions that are barriers.", "lower", "extent",
             _quotient("barrier_instructions", _INST), "barrier"),
    Quantity("barrier-stalls", "Waiting at barriers",
             "waiting at barriers, in cycles per instruction", "cycles",
             "Cycles that warps wait at barriers, per instruction issued in the main launch.",
             "lower", "cause",
             _main(_STALL.format("barrier")), "barrier", least=0.5),
    Quantity("barrier-share", "Waiting at barriers, of all waiting", "waiting at barriers", "ratio",
             "The part of all waiting that is at barriers, in the main launch.", "lower", "cause",
             _stall_share("barrier"), "barrier", least=0.05),
    Quantity("dispatch-share", "Waiting to be dispatched, of all waiting",
             "waiting to be dispatched", "ratio",
             "The part of all waiting in which an instruction is chosen and not dispatched, as "
             "where its registers lie in one bank, in the main launch.", "lower", "cause",
             _stall_share("dispatch_stall"), "dispatch", least=0.05),
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
             "Of more than one wave: the waves over the next whole number, which is how much of "
             "the machine's block slots, over all waves, has a block.", "higher", "cause",
             _last_wave, "waves", 1.0),
    Quantity("machine-fill", "Fill of the machine", "part of the machine that the grid fills",
             "ratio", "The block slots of the machine that the grid fills, where it is no more "
             "than one wave.", "higher", "cause", _filled, "waves", 1.0),
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


def _of_key(key: str) -> Quantity:
    return BY_KEY[key]
