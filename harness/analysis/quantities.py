"""Quantities computed from a case's counters: one number each, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.analysis.causes import finders
from harness.analysis.causes.finders import (
    ATOMICS,
    BRANCHES,
    DISTINCT,
    IDEAL,
    INST,
    LD,
    REQUESTS,
    SECTORS,
    ST,
    STALL,
    WAVES,
    Find,
    atomic,
    made,
    main,
    per_compulsory,
    quotient,
    stall_share,
    total,
)
from harness.silicon.architectures import SECTOR_BYTES, WARP_SIZE

Kind = Literal["cause", "extent", "consequence"]


@dataclass(frozen=True)
class Quantity:
    """A quantity that is compared between cases.

    kind: a cause may explain a time; an extent (registers, launches) describes what was built; a
    consequence, such as throughput, follows from the time and explains nothing.
    words: the phrase used in a sentence, as in "<words> fell from 3.3× to 1.0×".
    family: quantities that say nearly the same thing; only one of them is reported.
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
    """A difference below this is not reported, whatever its factor."""

    def __reduce__(self) -> tuple[Callable[[str], Quantity], tuple[str]]:
        """Pickle it by its key, because its finder is a function of this module."""
        return _of_key, (self.key,)


SHARED = finders.either(
    total("smsp__inst_executed_op_shared_ld", "smsp__inst_executed_op_shared_st"),
    total("shared_ld_instructions", "shared_st_instructions"),
)

QUANTITIES: Sequence[Quantity] = (
    Quantity("wavefronts-over-ideal", "Shared-memory wavefronts over ideal",
             "shared-memory wavefronts over the ideal", "× ideal",
             "How many times the passes that conflict-free accesses need; 1 means no bank "
             "conflict.",
             "lower", "cause", quotient(WAVES, IDEAL), "shared", 1.0),
    Quantity("wavefronts", "Shared-memory wavefronts", "shared-memory wavefronts", "",
             "Passes that shared memory needed.", "lower", "cause", total(WAVES), "shared"),
    Quantity("wavefronts-ideal", "Ideal shared-memory wavefronts",
             "ideal shared-memory wavefronts", "",
             "Passes that shared memory would have needed without bank conflicts.", "lower",
             "cause", total(IDEAL), "shared"),
    Quantity("shared-requests", "Shared-memory requests", "shared-memory requests", "",
             "Warp instructions that loaded from shared memory or stored to it.", "lower",
             "extent", SHARED),
    Quantity("shared-width", "Ideal wavefronts per shared-memory request",
             "ideal wavefronts per shared-memory request", "wavefronts",
             "1 where 32 lanes take a 4-byte word each, 4 where each takes 16 bytes.",
             "neutral", "extent", finders.over(total(IDEAL), SHARED)),
    Quantity("sectors-per-load", "Sectors per global load request",
             "sectors per global load request", "sectors",
             "32-byte sectors that a warp's load touches: 4 when 32 neighbouring floats are read "
             "one each, 16 when four each, 32 when all are scattered.",
             "neutral", "extent", quotient(LD.format("sectors"), LD.format("requests"))),
    Quantity("load-width", "Elements per thread and load, by sectors",
             "elements per thread and load", "elements",
             "The sectors of a warp's load as elements for each of its 32 threads. More than 1 "
             "means loads wider than an element (float4 has 4), or sectors that are little used.",
             "neutral", "extent", finders.width(LD)),
    Quantity("load-sectors", "Sectors of global loads", "sectors of global loads", "",
             "32-byte sectors that global loads touched, each as often as it was.", "lower",
             "extent", total(LD.format("sectors"))),
    Quantity("sectors-per-store", "Sectors per global store request",
             "sectors per global store request", "sectors",
             "32-byte sectors that a warp's store touches: 4 when 32 neighbouring floats are "
             "written, 32 when they are scattered.",
             "neutral", "extent", quotient(ST.format("sectors"), ST.format("requests"))),
    Quantity("store-width", "Elements per thread and store, by sectors",
             "elements per thread and store", "elements",
             "The sectors of a warp's store as elements for each of its 32 threads.",
             "neutral", "extent", finders.width(ST)),
    Quantity("store-sectors", "Sectors of global stores", "sectors of global stores", "",
             "32-byte sectors that global stores touched, each as often as it was.", "lower",
             "extent", total(ST.format("sectors")), "sectors"),
    Quantity("store-requests", "Global store requests", "global store requests", "",
             "Warp instructions that stored to global memory.", "lower", "extent",
             total(ST.format("requests"))),
    Quantity("sectors-per-request", "Sectors per global request",
             "sectors per global memory request", "sectors",
             "Of loads, stores and atomics together.", "lower", "cause",
             quotient(SECTORS, REQUESTS), "sectors"),
    Quantity("sectors", "Sectors of global memory", "sectors of global memory", "",
             "32-byte sectors that loads, stores and atomics touched, each as often as it was.",
             "lower", "cause", total(*SECTORS), "sectors"),
    Quantity("requests", "Global requests", "global memory requests", "",
             "Warp instructions that went to global memory.", "lower", "extent",
             total(*REQUESTS)),
    Quantity("sectors-over-compulsory", "Touched sectors over compulsory bytes",
             "bytes of touched global sectors over the compulsory bytes", "×",
             "The 32-byte sectors that global loads, stores and atomics touched, in bytes, over "
             "what any implementation must move; 1 means nothing was fetched in vain or twice.",
             "lower", "cause", per_compulsory(*SECTORS, scale=SECTOR_BYTES), "sectors", 1.0),
    Quantity("compulsory-bytes", "Compulsory bytes", "compulsory bytes", "byte",
             "What any implementation must move, by the problem's own count.", "neutral", "extent",
             finders.compulsory),
    Quantity("distinct-bytes", "Distinct sectors of global memory",
             "bytes of distinct global sectors", "byte",
             "The 32-byte sectors that a launch read, and those that it wrote, each once however "
             "often, in bytes and summed over launches: what the device's memory moves if the "
             "caches are empty at first and lose nothing.", "lower", "extent",
             total(*DISTINCT, scale=SECTOR_BYTES)),
    Quantity("distinct-over-compulsory", "Distinct sectors over compulsory bytes",
             "bytes of distinct global sectors over the compulsory bytes", "×",
             "Above 1, the launches need memory beside the problem's own, fetch parts of sectors "
             "or hand data from one to the next; below 1, they do not touch all of it.",
             "lower", "extent", per_compulsory(*DISTINCT, scale=SECTOR_BYTES), "", 1.0),
    Quantity("load-requests", "Global load requests", "global load requests", "",
             "Warp instructions that loaded from global memory: fewer, for the same bytes, are "
             "wider.", "lower", "extent", total(LD.format("requests"))),
    Quantity("global-atomics", "Global atomic requests", "global atomic requests", "",
             "Warp instructions that updated global memory atomically.", "lower", "cause",
             total(*ATOMICS)),
    Quantity("atomic-passes", "Passes of global atomics", "passes of global atomics", "",
             "Threads that updated global memory atomically: those that meet on one address are "
             "served one after the other. Where that was not counted, 32 for each request.",
             "lower", "extent",
             finders.either(total("global_atomic_lanes"), total(*ATOMICS, scale=WARP_SIZE))),
    Quantity("dram-over-compulsory", "Device memory traffic over compulsory bytes",
             "device memory traffic over the compulsory bytes", "×",
             "Bytes read from and written to the device's memory, over what any implementation "
             "must move; below 1 a cache had some of it.", "lower", "cause",
             per_compulsory("dram__bytes_read", "dram__bytes_write", scale=1), "dram", 1.0),
    Quantity("dram-bytes", "Device memory traffic", "device memory traffic", "byte",
             "Bytes read from and written to the device's memory.", "lower", "cause",
             total("dram__bytes_read", "dram__bytes_write"), "dram"),
    Quantity("l2-bytes", "Traffic of the L2 cache", "traffic of the L2 cache", "byte",
             "Bytes that the L2 cache took and gave.", "lower", "cause", total("lts__t_bytes"),
             "l2"),
    Quantity("instructions", "Warp instructions", "warp instructions", "",
             "Instructions executed, one for each warp.", "lower", "cause", total(INST),
             "instructions"),
    Quantity("instructions-per-kib", "Warp instructions per KiB of compulsory traffic",
             "warp instructions per KiB", "instructions",
             "Work done for each 1,024 bytes that any implementation must move.", "lower",
             "cause", per_compulsory(INST, scale=1024), "instructions"),
    Quantity("tensor-share", "Tensor-core instructions, of all", "tensor-core instructions",
             "ratio", "The part of warp instructions that went to the tensor cores' pipe, without "
             "those on pairs of halves. Products of small matrices are more than 3 %; below that "
             "stands what else goes there.", "neutral", "extent",
             finders.over(finders.matrix_products, total(INST)), least=0.03),
    Quantity("acting-threads", "Acting threads per warp instruction",
             "acting threads per warp instruction", "threads",
             "Of 32; fewer means that threads wait while others of their warp work.", "higher",
             "cause", quotient("smsp__thread_inst_executed_pred_on", INST,
                                "smsp__thread_inst_executed_pred_on_per_inst_executed"),
             "threads", float(WARP_SIZE)),
    Quantity("active-threads", "Active threads per warp instruction",
             "active threads per warp instruction", "threads",
             "Of 32, counting threads that a predicate keeps from acting.", "higher", "cause",
             quotient("smsp__thread_inst_executed", INST,
                       "smsp__thread_inst_executed_per_inst_executed"), "threads",
             float(WARP_SIZE)),
    Quantity("branch-uniformity", "Branch uniformity", "uniform branches", "ratio",
             "Branches at which all threads of a warp went the same way, of all branches.",
             "higher", "extent", quotient(f"{BRANCHES}_threads_uniform", BRANCHES), "", 1.0),
    Quantity("global-lanes-per-address", "Lanes per address, global atomics",
             "lanes of a warp's global atomic on one address", "lanes",
             "Threads of a warp whose atomics meet on an address of global memory, on average.",
             "lower", "cause", quotient(*atomic("global")), "", 1.0),
    Quantity("shared-lanes-per-address", "Lanes per address, shared atomics",
             "lanes of a warp's shared atomic on one address", "lanes",
             "Threads of a warp whose atomics meet on an address of shared memory, on average.",
             "lower", "cause", quotient(*atomic("shared")), "", 1.0),
    Quantity("barriers", "Barrier instructions", "barrier instructions", "",
             "Barriers executed, one for each warp.", "lower", "cause",
             total("barrier_instructions"), "barrier"),
    Quantity("barrier-density", "Barriers per warp instruction", "barriers per warp instruction",
             "ratio", "The part of all warp instructions that are barriers.", "lower", "extent",
             quotient("barrier_instructions", INST), "barrier"),
    Quantity("barrier-stalls", "Waiting at barriers",
             "waiting at barriers, in cycles per instruction", "cycles",
             "Cycles that warps wait at barriers, per instruction issued in the main launch.",
             "lower", "cause",
             main(STALL.format("barrier")), "barrier", least=0.5),
    Quantity("barrier-cycles", "Cycles of waiting at barriers", "cycles of waiting at barriers",
             "cycles", "Of all warps together, over all launches.", "lower", "extent",
             finders.wait_cycles("barrier"), "barrier"),
    Quantity("barrier-share", "Waiting at barriers, of all waiting", "waiting at barriers", "ratio",
             "The part of all waiting that is at barriers, in the main launch.", "lower", "cause",
             stall_share("barrier"), "barrier", least=0.05),
    Quantity("dispatch-share", "Waiting to be dispatched, of all waiting",
             "waiting to be dispatched", "ratio",
             "The part of all waiting in which an instruction is chosen and not dispatched, as "
             "where its registers lie in one bank, in the main launch.", "lower", "cause",
             stall_share("dispatch_stall"), "dispatch", least=0.05),
    Quantity("memory-share", "Waiting for memory, of all waiting",
             "waiting for global memory", "ratio",
             "The part of all waiting that is for data from global memory (long scoreboard), in "
             "the main launch.", "neutral", "consequence", stall_share("long_scoreboard")),
    Quantity("wait-per-sector", "Waiting for memory per sector",
             "cycles of waiting for memory per sector", "cycles",
             "Cycles that warps wait for data from global memory (long scoreboard), over the "
             "32-byte sectors that went through the L1 cache: what is under way together is "
             "waited for once. Of the main launch.", "lower", "extent",
             finders.wait_cycles_per("l1tex__t_bytes", "long_scoreboard", scale=SECTOR_BYTES)),
    Quantity("shared-wait", "Waiting for shared memory per wavefront",
             "cycles of waiting for shared memory per wavefront", "cycles",
             "Cycles that warps wait for shared memory, or for a place in the queue to it, over "
             "its wavefronts. Waits for special functions are among them. Of the main launch.",
             "lower", "extent",
             finders.wait_cycles_per(WAVES, "short_scoreboard", "mio_throttle")),
    Quantity("special-functions", "Special-function instructions", "special-function instructions",
             "", "Warp instructions for exponentials, reciprocals, sines and conversions.",
             "lower", "extent", total("sm__inst_executed_pipe_xu")),
    Quantity("achieved-occupancy", "Achieved occupancy", "achieved occupancy", "ratio",
             "Resident warps on average, of the most that fit a multiprocessor, in the main "
             "launch.", "higher", "cause", main("sm__warps_active"), "occupancy"),
    Quantity("theoretical-occupancy", "Theoretical occupancy", "theoretical occupancy", "ratio",
             "Resident warps that registers, shared memory and block size allow, in the main "
             "launch.", "higher", "cause", made("occupancy"), "occupancy"),
    Quantity("waves", "Waves", "waves of blocks", "waves",
             "How many times the machine is filled with blocks, in the main launch.", "neutral",
             "extent", finders.waves, "waves"),
    Quantity("threads", "Threads started", "threads started", "times",
             "Over the threads that the GPU holds at once, in the main launch.", "lower",
             "extent", finders.threads, "threads-started"),
    Quantity("wave-fill", "Fill of the waves", "fill of the waves", "ratio",
             "Of more than one wave: the waves over the next whole number, which is how much of "
             "the machine's block slots, over all waves, has a block.", "higher", "cause",
             finders.last_wave, "waves", 1.0),
    Quantity("machine-fill", "Fill of the machine", "part of the machine that the grid fills",
             "ratio", "The block slots of the machine that the grid fills, where it is no more "
             "than one wave.", "higher", "cause", finders.filled, "waves", 1.0),
    Quantity("launches", "Launches", "launches", "", "Kernels that one call launches.", "lower",
             "cause", finders.launches),
    Quantity("registers", "Registers", "registers per thread", "", "Of the main launch.",
             "neutral", "extent", made("registers")),
    Quantity("shared", "Shared memory", "shared memory per block", "byte",
             "Of the main launch, static and dynamic.", "neutral", "extent",
             made("shared_bytes")),
    Quantity("spills", "Spills", "spilled bytes per thread", "byte",
             "What did not fit registers, in the main launch.", "lower", "cause",
             made("spill_bytes")),
    Quantity("dram-throughput", "Device memory throughput", "device memory throughput", "ratio",
             "Of the peak that Nsight Compute assumes, in the main launch.", "higher",
             "consequence", main("dram__throughput")),
    Quantity("l1-hits", "L1 hit rate", "L1 hit rate", "ratio", "Of the main launch.", "neutral",
             "extent", main("l1tex__t_sector_hit_rate"), least=0.05),
    Quantity("l2-hits", "L2 hit rate", "L2 hit rate", "ratio", "Of the main launch.", "neutral",
             "extent", main("lts__t_sector_hit_rate"), least=0.05),
)  # fmt: skip
BY_KEY = {quantity.key: quantity for quantity in QUANTITIES}


def _of_key(key: str) -> Quantity:
    return BY_KEY[key]
