"""Finders: functions that reduce a case's readings to one number, or say why there is none.

A finder computes one of these: the sum of counters over a case's launches, the quotient of two
such sums, or a counter of the main launch. FINDERS has one finder for every quantity that
harness/quantities/quantities.yaml describes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

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
from harness.journal.records import Planned
from harness.ncu.metrics import catalogue
from harness.silicon.architectures import SECTOR_BYTES, WARP_SIZE

Find = Callable[[Readings, Planned], Answer]

LD, ST = (f"l1tex__t_{{}}_pipe_lsu_mem_global_op_{op}" for op in ("ld", "st"))
OPERATIONS = ("ld", "st", "red", "atom")
SECTORS, REQUESTS = (
    tuple(f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}" for op in OPERATIONS)
    for what in ("sectors", "requests")
)
ATOMICS = REQUESTS[2:]
INST = "smsp__inst_executed"
TENSOR_PIPE = "sm__inst_executed_pipe_tensor"
HFMA = "smsp__sass_thread_inst_executed_op_hfma_pred_on"
WAVES, IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
BRANCHES = "smsp__sass_branch_targets"
DISTINCT = "distinct_sectors_read", "distinct_sectors_written"
LEAST_COUNTED = 0.99
"""Loads and stores touch at least this share of the compulsory bytes, unless something else moves
the rest. It is below 1 because hardware counts store sectors with some noise."""
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active"


def element_bytes(dtype: str) -> int | None:
    """The size of one element in bytes, from the number of bits in its type's name; 1 for bool, and
    None for any other name without a number."""
    bits = re.search(r"\d+", dtype)
    return int(bits[0]) // 8 if bits else 1 if dtype == "bool" else None


def total(*metrics: str, scale: float = 1) -> Find:
    def find(readings: Readings, p: Planned) -> Answer:
        found = readings.total(p.case, *metrics)
        if isinstance(found, Missing):
            return found
        return replace(found, value=scale * found.value)

    return find


def matrix_products(readings: Readings, p: Planned) -> Answer:
    """Warp instructions of the tensor pipe, excluding those that add and multiply pairs of
    half-precision numbers.

    On compute capability 9.0, additions and multiplications of such pairs use the tensor pipe too.
    Their number is counted directly or derived from thread counts.
    """
    every = readings.total(p.case, TENSOR_PIPE)
    if isinstance(every, Missing):
        return every
    packed = either(total(f"{TENSOR_PIPE}_op_hmma_type_hfma2"), total(HFMA, scale=1 / WARP_SIZE))
    found = packed(readings, p)
    if isinstance(found, Missing):
        return every
    return replace(every, value=max(0.0, every.value - found.value))


def atomic(space: str) -> tuple[str, str]:
    return f"{space}_atomic_lanes", f"{space}_atomic_addresses"


def compulsory(readings: Readings, p: Planned) -> Answer:
    """The problem's compulsory bytes, if there are counted sectors to compare with them."""
    counted = readings.total(p.case, *DISTINCT)
    return counted if isinstance(counted, Missing) else Reading(p.bytes, "measured")


def main(metric: str) -> Find:
    return lambda readings, p: readings.main(p.case, metric)


def quotient(over: str | tuple[str, ...], under: str | tuple[str, ...], instead: str = "") -> Find:
    """The quotient of two sums or, if the sums were not collected, the ratio reported for the main
    launch."""
    overs, unders = ((x,) if isinstance(x, str) else x for x in (over, under))

    def find(readings: Readings, p: Planned) -> Answer:
        found = ratio(readings.total(p.case, *overs), readings.total(p.case, *unders))
        if isinstance(found, Missing) and instead:
            read = readings.main(p.case, instead)
            return read if isinstance(read, Reading) else found
        return found

    return find


def per_compulsory(*metrics: str, scale: float) -> Find:
    def find(readings: Readings, p: Planned) -> Answer:
        found = readings.total(p.case, *metrics)
        if isinstance(found, Missing):
            return found
        if not p.bytes:
            return Missing(f"{NOT_APPLICABLE}: the problem moves no byte")
        return replace(found, value=found.value * scale / p.bytes)

    return find


def touched_per_compulsory(*metrics: str) -> Find:
    """The size of the sectors divided by the compulsory bytes; missing if the sectors are too few
    to hold these bytes."""
    quotient_of_bytes = per_compulsory(*metrics, scale=SECTOR_BYTES)

    def find(readings: Readings, p: Planned) -> Answer:
        found = quotient_of_bytes(readings, p)
        if isinstance(found, Missing) or found.value >= LEAST_COUNTED:
            return found
        return Missing(
            f"{NOT_APPLICABLE}: these counters have {found.value:.2g} of the compulsory bytes; the "
            "others passed them by, as copies by the tensor memory accelerator do"
        )

    return find


def width(accesses: str) -> Find:
    """Sectors per load or store, expressed as elements per lane."""

    def find(readings: Readings, p: Planned) -> Answer:
        own = quotient(accesses.format("sectors"), accesses.format("requests"))(readings, p)
        if isinstance(own, Missing):
            return own
        size = element_bytes(p.dtype)
        if size is None:
            return Missing(f"{NOT_APPLICABLE}: the size of a {p.dtype} is not known")
        return replace(own, value=own.value * SECTOR_BYTES / (WARP_SIZE * size))

    return find


def made(attribute: str) -> Find:
    def find(readings: Readings, p: Planned) -> Answer:
        made = readings.compiled(p.case)
        if made is None:
            ours = bool(p.kernels) and not p.is_library
            return Missing(NOT_COLLECTED if ours else f"{NOT_APPLICABLE}: not compiled by us")
        return Reading(float(getattr(made, attribute)), "measured")

    return find


def launches(readings: Readings, p: Planned) -> Answer:
    steps = len(p.kernels) or len(readings.run.compiled.get(p.case, []))
    return Reading(steps, "measured") if steps else Missing(NOT_COLLECTED)


def waves(readings: Readings, p: Planned) -> Answer:
    """The waves that ncu reports, or else those computed from the resources and the launch."""
    told = readings.main(p.case, "launch__waves_per_multiprocessor")
    made = readings.compiled(p.case)
    if isinstance(told, Reading) or made is None or made.waves is None:
        return told
    return Reading(made.waves, "measured")


def last_wave(readings: Readings, p: Planned) -> Answer:
    """The average fullness of the waves: 2.1 waves take the time of 3, because a partial wave takes
    as long as a full one."""
    rounds = waves(readings, p)
    if isinstance(rounds, Missing):
        return rounds
    fill = rounds.value / math.ceil(rounds.value) if rounds.value > 1 else 1.0
    return replace(rounds, value=fill)


def filled(readings: Readings, p: Planned) -> Answer:
    rounds = waves(readings, p)
    return rounds if isinstance(rounds, Missing) else replace(rounds, value=min(rounds.value, 1))


@cache
def stall_reasons() -> Mapping[str, str]:
    """Counter → its name, for every stall reason except `selected`, which means issuing."""
    prefix, suffix = STALL.split("{}")
    return {
        key: metric.title
        for key, metric in catalogue().metrics.items()
        if key.startswith(prefix) and key.endswith(suffix) and key != STALL.format("selected")
    }


def stall_share(reason: str) -> Find:
    """One reason's share of all waiting in the main launch."""

    def find(readings: Readings, p: Planned) -> Answer:
        answers = [readings.main(p.case, metric) for metric in stall_reasons()]
        known = [a for a in answers if isinstance(a, Reading)]
        own = readings.main(p.case, STALL.format(reason))
        if isinstance(own, Missing):
            return own
        return ratio(own, Reading(sum(a.value for a in known), weakest(known)))

    return find


def wait_cycles(*reasons: str) -> Find:
    """Cycles stalled for these reasons, summed over all warps and launches."""

    def find(readings: Readings, p: Planned) -> Answer:
        answers = [_waited(readings, p.case, step, reasons) for step in readings.steps(p.case)]
        known = [each for each in answers if isinstance(each, Reading)]
        if len(known) < len(answers) or not known:
            return next((a for a in answers if isinstance(a, Missing)), Missing(NOT_COLLECTED))
        return Reading(sum(each.value for each in known), weakest(known), known[0].counted_at)

    return find


def wait_cycles_per(metric: str, *reasons: str, scale: float = 1) -> Find:
    """Stall cycles per event of the awaited kind, in the main launch.

    In a sum over all launches, a launch with few warps would weigh little, however long it took.
    """

    def find(readings: Readings, p: Planned) -> Answer:
        waited = _waited(readings, p.case, readings.main_step(p.case), reasons)
        found = ratio(waited, readings.main(p.case, metric))
        return found if isinstance(found, Missing) else replace(found, value=scale * found.value)

    return find


def _waited(readings: Readings, case: str, step: int, reasons: Sequence[str]) -> Answer:
    """A launch's stall cycles: instructions issued × warps stalled for these reasons per issue."""
    issued = readings.at(case, step, "smsp__inst_issued")
    waiting = [readings.at(case, step, STALL.format(reason)) for reason in reasons]
    read = [each for each in (issued, *waiting) if isinstance(each, Reading)]
    if len(read) <= len(waiting):
        return next(each for each in (issued, *waiting) if isinstance(each, Missing))
    return replace(
        read[0],
        value=read[0].value * sum(each.value for each in read[1:]),
        provenance=weakest(read),
    )


def over(above: Find, below: Find) -> Find:
    """One quantity divided by another."""
    return lambda readings, p: ratio(above(readings, p), below(readings, p))


def either(*finds: Find) -> Find:
    """The first of several finders' values that is known, because ncu and the emulator name some
    counters differently."""

    def find(readings: Readings, p: Planned) -> Answer:
        answers = [each(readings, p) for each in finds]
        return next((a for a in answers if isinstance(a, Reading)), answers[0])

    return find


def threads(readings: Readings, p: Planned) -> Answer:
    """Threads started divided by the threads that the GPU holds at once, in the main launch."""
    rounds, made_of = waves(readings, p), readings.compiled(p.case)
    if isinstance(rounds, Missing) or made_of is None:
        return rounds
    return replace(rounds, value=rounds.value * made_of.occupancy)


def _per_instruction(threads: str) -> Find:
    return quotient(threads, INST, f"{threads}_per_inst_executed")


_SHARED = either(
    total("smsp__inst_executed_op_shared_ld", "smsp__inst_executed_op_shared_st"),
    total("shared_ld_instructions", "shared_st_instructions"),
)
FINDERS: Mapping[str, Find] = {
    "wavefronts-over-ideal": quotient(WAVES, IDEAL),
    "wavefronts": total(WAVES),
    "wavefronts-ideal": total(IDEAL),
    "shared-requests": _SHARED,
    "shared-width": over(total(IDEAL), _SHARED),
    "sectors-per-load": quotient(LD.format("sectors"), LD.format("requests")),
    "load-width": width(LD),
    "load-sectors": total(LD.format("sectors")),
    "sectors-per-store": quotient(ST.format("sectors"), ST.format("requests")),
    "store-width": width(ST),
    "store-sectors": total(ST.format("sectors")),
    "store-requests": total(ST.format("requests")),
    "sectors-per-request": quotient(SECTORS, REQUESTS),
    "sectors": total(*SECTORS),
    "requests": total(*REQUESTS),
    "sectors-over-compulsory": touched_per_compulsory(*SECTORS),
    "compulsory-bytes": compulsory,
    "distinct-bytes": total(*DISTINCT, scale=SECTOR_BYTES),
    "distinct-over-compulsory": touched_per_compulsory(*DISTINCT),
    "load-requests": total(LD.format("requests")),
    "global-atomics": total(*ATOMICS),
    "atomic-passes": either(total("global_atomic_lanes"), total(*ATOMICS, scale=WARP_SIZE)),
    "dram-over-compulsory": per_compulsory("dram__bytes_read", "dram__bytes_write", scale=1),
    "dram-bytes": total("dram__bytes_read", "dram__bytes_write"),
    "l2-bytes": total("lts__t_bytes"),
    "instructions": total(INST),
    "instructions-per-kib": per_compulsory(INST, scale=1024),
    "tensor-share": over(matrix_products, total(INST)),
    "acting-threads": _per_instruction("smsp__thread_inst_executed_pred_on"),
    "active-threads": _per_instruction("smsp__thread_inst_executed"),
    "branch-uniformity": quotient(f"{BRANCHES}_threads_uniform", BRANCHES),
    "global-lanes-per-address": quotient(*atomic("global")),
    "shared-lanes-per-address": quotient(*atomic("shared")),
    "barriers": total("barrier_instructions"),
    "barrier-density": quotient("barrier_instructions", INST),
    "barrier-stalls": main(STALL.format("barrier")),
    "barrier-cycles": wait_cycles("barrier"),
    "barrier-share": stall_share("barrier"),
    "dispatch-share": stall_share("dispatch_stall"),
    "memory-share": stall_share("long_scoreboard"),
    "wait-per-sector": wait_cycles_per("l1tex__t_bytes", "long_scoreboard", scale=SECTOR_BYTES),
    "shared-wait": wait_cycles_per(WAVES, "short_scoreboard", "mio_throttle"),
    "special-functions": total("sm__inst_executed_pipe_xu"),
    "achieved-occupancy": main("sm__warps_active"),
    "theoretical-occupancy": made("occupancy"),
    "waves": waves,
    "threads": threads,
    "wave-fill": last_wave,
    "machine-fill": filled,
    "launches": launches,
    "registers": made("registers"),
    "shared": made("shared_bytes"),
    "spills": made("spill_bytes"),
    "dram-throughput": main("dram__throughput"),
    "l1-hits": main("l1tex__t_sector_hit_rate"),
    "l2-hits": main("lts__t_sector_hit_rate"),
}
"""Quantity → its finder."""


def evaluate(quantity: str, readings: Readings, p: Planned) -> Answer:
    """A case's value of a quantity, or the reason why it has none."""
    return FINDERS[quantity](readings, p)
