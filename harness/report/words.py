"""The meaning of every counter and term on the page, for newcomers.

Counters keep Nsight Compute's names, so readers can look them up in its documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from harness.ncu.metrics import base, catalogue


@dataclass(frozen=True)
class Meaning:
    """The title of a counter, and its meaning in plain words."""

    title: str
    text: str


def _of_atomics(space: str) -> dict[str, Meaning]:
    each = f"threads of a warp's atomic on one address of {space} memory, which are served in turn"
    return {
        f"{space}_atomic_lanes": Meaning(
            f"{space} atomics of threads",
            f"Atomics and reductions in {space} memory, one for each thread that acts.",
        ),
        f"{space}_atomic_addresses": Meaning(
            f"addresses of {space} atomics",
            f"Different addresses that a warp's atomic in {space} memory has, summed over all.",
        ),
        f"{space}_atomic_lanes_per_address": Meaning(
            f"threads per address, {space} atomics", f"On average, {each}."
        ),
        f"{space}_atomic_most_lanes_per_address": Meaning(
            f"most threads on one address, {space} atomics", f"At most, {each}."
        ),
    }


COUNTERS = {
    "barrier_instructions": Meaning(
        "barrier instructions", "Barriers executed (__syncthreads and the like), one for each warp."
    ),
    "shared_ld_instructions": Meaning(
        "shared load instructions", "Warp instructions that loaded from shared memory."
    ),
    "shared_st_instructions": Meaning(
        "shared store instructions", "Warp instructions that stored to shared memory."
    ),
    "shared_atom_instructions": Meaning(
        "shared atomic instructions", "Warp instructions that updated shared memory atomically."
    ),
    "flops_tensor": Meaning(
        "tensor flops",
        "Floating-point operations of matrix instructions: 2·m·n·k for each that a warp executes. "
        "Those of integers are not in it.",
    ),
    "distinct_sectors_read": Meaning(
        "distinct sectors read",
        "32-byte sectors of global memory that the launch read at all, each counted once: what "
        "the device's memory must deliver to caches that are empty at first and lose nothing.",
    ),
    "distinct_sectors_written": Meaning(
        "distinct sectors written",
        "32-byte sectors of global memory that the launch wrote at all, each counted once: what "
        "the device's memory must take in in the end.",
    ),
    **_of_atomics("global"),
    **_of_atomics("shared"),
}
"""Counters for which the emulator has its own names; the others are in harness/ncu/metrics.yaml."""


def meaning(metric: str) -> Meaning:
    """The meaning of a counter; for any other counter of ncu's, its name and a reference to ncu's
    documentation."""
    found = _catalogued().get(base(metric))
    if found:
        return found
    unknown = "A counter of Nsight Compute's; its documentation says what it counts."
    return COUNTERS.get(base(metric)) or Meaning(metric, unknown)


@cache
def _catalogued() -> dict[str, Meaning]:
    """Base name → its entry in metrics.yaml."""
    return {
        base(name): Meaning(metric.title, metric.meaning)
        for name, metric in catalogue().by_name().items()
    }


PROVENANCE = {
    "measured": "measured on this machine's GPU, between CUDA events, or told by the compiler",
    "ncu": "read by Nsight Compute from the GPU's own counters",
    "machine-exact": "counted by the emulator on the machine code that the GPU executes",
    "emulator-exact": "counted by the emulator on PTX, where it agrees to the digit with the GPU",
    "code-exact": "counted by the emulator on the machine code of an architecture of which no GPU "
    "was read; it follows from the code alone",
    "hopper-rules": "counted on that machine code by memory rules that were read on Hopper; "
    "another architecture's may differ",
    "emulator-model": "computed by the emulator from a model of the hardware: it judges nothing",
    "ptx-level": "counted on the compiler's intermediate code (PTX), which differs from the "
    "machine code that a GPU executes: it judges nothing",
}
VERDICTS = {
    "faster, slower": "the difference is certain, among all comparisons made at that size, and "
    "larger than what two runs of the same kernel differed by",
    "same": "the whole interval lies close enough to 1 to call the two equal",
    "unclear": "neither: more rounds, or more placements in memory, would be needed to tell",
    "invalid": "no interval, a wrong result, or a rate above the machine's ceiling",
}
LIMITERS = {
    "registers": "the registers of a multiprocessor",
    "shared memory": "the shared memory of a multiprocessor",
    "blocks": "the most blocks that a multiprocessor holds",
    "warps": "the most warps that a multiprocessor holds: the best there is",
}
