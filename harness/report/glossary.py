"""What every counter and every word of the page means, for a reader who has not met it.

Counters keep Nsight Compute's names, so that a figure here can be looked up there.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Meaning:
    """A counter's title and what it counts, in plain words."""

    title: str
    text: str


COUNTERS = {
    "smsp__inst_executed": Meaning(
        "warp instructions",
        "Instructions executed, one for each warp of 32 threads that executes it.",
    ),
    "smsp__thread_inst_executed": Meaning(
        "thread instructions",
        "Instructions executed, one for each thread in the warp that is active, whether or not "
        "the instruction's predicate lets it act.",
    ),
    "smsp__thread_inst_executed_pred_on": Meaning(
        "acting thread instructions",
        "Instructions executed, one for each thread on which the instruction acts.",
    ),
    "smsp__thread_inst_executed_per_inst_executed": Meaning(
        "threads per instruction",
        "Active threads in the average warp instruction, of 32. Short branches become predicated "
        "instructions, which this does not show.",
    ),
    "smsp__thread_inst_executed_pred_on_per_inst_executed": Meaning(
        "acting threads per instruction",
        "Threads on which the average warp instruction acts, of 32; fewer means divergence.",
    ),
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld": Meaning(
        "global load requests", "Warp instructions that loaded from global memory."
    ),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld": Meaning(
        "global load sectors",
        "32-byte sectors that the global loads touched. A warp that reads 32 neighbouring floats "
        "touches 4; one that reads 32 scattered floats touches 32.",
    ),
    "l1tex__t_requests_pipe_lsu_mem_global_op_st": Meaning(
        "global store requests", "Warp instructions that stored to global memory."
    ),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st": Meaning(
        "global store sectors", "32-byte sectors that the global stores touched."
    ),
    "l1tex__t_requests_pipe_lsu_mem_global_op_red": Meaning(
        "global reduction requests", "Warp-level atomic updates that return nothing."
    ),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red": Meaning(
        "global reduction sectors",
        "32-byte sectors of atomic updates that return nothing; threads that hit one address "
        "are served in turn, and every turn counts.",
    ),
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom": Meaning(
        "global atomic requests", "Warp-level atomic updates that return the former value."
    ),
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom": Meaning(
        "global atomic sectors", "32-byte sectors of atomic updates that return the former value."
    ),
    "memory_l1_wavefronts_shared": Meaning(
        "shared wavefronts",
        "Passes that shared memory needed to serve its accesses. Threads of a warp that want "
        "different words of one bank are served in several passes: a bank conflict.",
    ),
    "memory_l1_wavefronts_shared_ideal": Meaning(
        "ideal shared wavefronts", "The passes that the same accesses need without bank conflicts."
    ),
    "sm__warps_active": Meaning(
        "achieved occupancy", "Resident warps on average, of the most that fit a multiprocessor."
    ),
    "dram__bytes_read": Meaning("bytes read from memory", "What the device's memory delivered."),
    "dram__bytes_write": Meaning("bytes written to memory", "What the device's memory took in."),
}
_SUFFIXES = (".sum", ".ratio", ".avg", ".max", ".min", ".pct")


def base_name(metric: str) -> str:
    """Without Nsight Compute's roll-up: `.sum`, `.ratio`, …"""
    for suffix in _SUFFIXES:
        if suffix in metric:
            return metric[: metric.index(suffix)]
    return metric


def meaning(metric: str) -> Meaning:
    """What a counter counts; one that is not known here keeps its own name and says so."""
    unknown = "A counter of Nsight Compute's; its documentation says what it counts."
    return COUNTERS.get(base_name(metric)) or Meaning(metric, unknown)


PROVENANCE = {
    "measured": "CUDA events around a launch on this machine's GPU",
    "ncu": "read by Nsight Compute from the GPU's own counters",
    "emulator-exact": "counted by the emulator; rules checked to the digit against real hardware",
    "emulator-model": "computed by the emulator from a model of the hardware",
    "ptx-level": "counted on the compiler's intermediate code (PTX), which differs from the "
    "machine code that a GPU executes",
}
VERDICTS = {
    "faster": "the whole interval lies above 1 by more than the noise floor",
    "slower": "the whole interval lies below 1 by more than the noise floor",
    "same": "the whole interval lies close enough to 1 to call the two equal",
    "unclear": "none of these: more rounds would be needed to tell",
    "invalid": "no interval, no noise floor, a wrong result, or a rate above the machine's ceiling",
}
LIMITERS = {
    "registers": "the registers of a multiprocessor",
    "shared": "the shared memory of a multiprocessor",
    "blocks": "the most blocks that a multiprocessor holds",
    "warps": "the most warps that a multiprocessor holds: the best there is",
}
