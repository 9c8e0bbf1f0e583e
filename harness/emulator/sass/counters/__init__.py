"""A launch's counters under Nsight Compute's names, from the counts of its instructions.

The counters are `machine-exact` for Hopper: counted from the instructions that the GPU runs, by
rules that reproduce an H200's readings exactly. For an architecture without hardware readings,
counters that follow from the code are `code-exact`, and those that rely on rules read on Hopper are
`hopper-rules`: shared-memory wavefronts, the sectors of stores and atomics, branches, the counters
of bulk copies and of other blocks' shared memory, and the instructions that a diverged warp issues
again. Counters that depend on the relative timing of warps, in one block or in several, are models:
the sectors of atomics whose lanes collide, and everything in a launch with loops that wait for
another thread, or that calls the driver (printf, malloc), whose own instructions the emulator does
not execute. The shared wavefronts of asynchronous copies, whose rule is not known, are also models,
and so are their sectors, whose rule is confirmed by only seven kernels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace

from harness.emulator.results.counters import (
    CODE,
    HOPPER,
    MACHINE,
    MODEL,
    REQUESTS,
    SECTORS,
    WAVEFRONTS,
    WAVEFRONTS_IDEAL,
    Counter,
    Uncounted,
    of_instructions,
    of_mixed,
)
from harness.emulator.sass.counters.asynchronous import (
    accesses_memory_while_waiting,
    of_asynchronous,
    waits_in_a_loop,
)
from harness.emulator.sass.instructions import hopper
from harness.emulator.sass.instructions.table import CALL_OF_DRIVER, RELATIVE_CALL
from harness.emulator.sass.report import MachineCount

_COPIES = ("ldgsts_cache_access", "ldgsts_cache_bypass")
_MEMORY = {
    "LDG": "ld", "LD": "ld", "STG": "st", "ST": "st", "REDG": "red", "RED": "red", "ATOMG": "atom",
    "ATOM": "atom",
}  # fmt: skip
_OPERATIONS = {
    "fadd": ("FADD",), "fmul": ("FMUL",), "ffma": ("FFMA",), "dadd": ("DADD",), "dmul": ("DMUL",),
    "dfma": ("DFMA",), "hadd": ("HADD2",), "hmul": ("HMUL2",), "hfma": ("HFMA2",),
}  # fmt: skip


_WAIT_FOR_LAUNCH = "ACQBULK"
"""If a kernel executes this instruction several times, or once before a PREEXIT, the H100 leaves
some of its executions out of the count of instructions whose predicate is on. It is not known which
ones."""
_FLOPS_OF_FORMS = {"FADD2": 2, "FMUL2": 2, "FFMA2": 4, "FHADD": 1, "FHFMA": 2}
"""The floating-point operations of each Blackwell instruction for which no Nsight Compute counter
is known."""
_BY_HOPPERS_RULES = (
    WAVEFRONTS, WAVEFRONTS_IDEAL, *(SECTORS.format(kind) for kind in ("st", "red", "atom")),
)  # fmt: skip


def counters(
    instructions: Sequence[MachineCount], unknown: Uncounted, meets_others: bool, was_read: bool
) -> tuple[Counter, ...]:
    """All counters of a launch except those with unknown values.

    `meets_others`: whether the numbers of loop iterations depend on other threads. `was_read`:
    whether these counters were compared with readings of this architecture's hardware.
    """
    again = (
        sum(each.warps_again for each in instructions),
        sum(each.threads_again for each in instructions),
    )
    asynchronous = tuple(of_asynchronous(instructions))
    found = (
        *of_instructions(instructions, MACHINE, *again), *_of_memory(instructions), *asynchronous,
        *_of_shared(instructions), *_of_branches(instructions), *_of_arithmetic(instructions),
    )  # fmt: skip
    found = tuple(counter for counter in found if counter.name not in unknown)
    if (
        meets_others
        or _loops_over_lanes(instructions)
        or accesses_memory_while_waiting(instructions)
        or any(each.warps and _goes_elsewhere(each) for each in instructions)
    ):
        return tuple(replace(counter, provenance=MODEL) for counter in found)
    if waits_in_a_loop(instructions):
        found = tuple(
            replace(counter, provenance=MODEL) if _counts_waits(counter.name) else counter
            for counter in found
        )
    if any(each.warps and each.base == _WAIT_FOR_LAUNCH for each in instructions):
        found = tuple(
            replace(counter, provenance=MODEL) if "pred_on" in counter.name else counter
            for counter in found
        )
    if was_read:
        return found
    read_elsewhere = {each.name for each in asynchronous}
    return tuple(_unread(each, any(again), read_elsewhere) for each in found)


def _goes_elsewhere(each: MachineCount) -> bool:
    """Return whether execution counts depend on other threads or on the driver's own code, or are
    not supported by any hardware reading."""
    through_pointer = f"{RELATIVE_CALL} R" in each.text
    return ".SPIN" in each.opcode or each.opcode == CALL_OF_DRIVER or through_pointer


def _loops_over_lanes(instructions: Sequence[MachineCount]) -> bool:
    """Return whether a loop processes a warp's lanes one by one for anything but asynchronous
    instructions. Hardware readings of such loops exist only for those."""
    executed = {each.base for each in instructions if each.warps}
    loops = any(each.warps and each.opcode == "BRA.U.ANY" for each in instructions)
    return loops and not executed & hopper.OPCODES


def _counts_waits(name: str) -> bool:
    """Return whether a loop that waits for an mbarrier adds to a counter. SYNCS adds no wavefronts,
    and its accesses are counted neither as requests nor as sectors."""
    return "branch_targets" in name or name.startswith(
        ("smsp__inst_executed.", "smsp__thread_inst_executed")
    )


def _unread(counter: Counter, issued_again: bool, read_elsewhere: Container[str]) -> Counter:
    """Set the provenance of a counter of an architecture without hardware readings.
    `read_elsewhere`: counters whose rules were all derived from readings on Hopper."""
    if counter.provenance != MACHINE:
        return counter
    name = counter.name
    rests_on_rules = (
        name in _BY_HOPPERS_RULES
        or name in read_elsewhere
        or "branch_targets" in name
        or (issued_again and "inst_executed" in name and "_op_" not in name)
    )
    return replace(counter, provenance=HOPPER if rests_on_rules else CODE)


def uncounted(instructions: Sequence[MachineCount]) -> Uncounted:
    """Counters without a known value, each with the reason."""
    return of_mixed(instructions, lambda number: _memory_kinds(instructions[number]))


def _of_memory(instructions: Sequence[MachineCount]) -> Iterator[Counter]:
    requests: dict[str, int] = dict.fromkeys(_MEMORY.values(), 0)
    sectors = dict(requests)
    modelled = set()
    for each in instructions:
        for kind in _memory_kinds(each) if each.global_requests else ():
            requests[kind] = requests.get(kind, 0) + each.global_requests
            sectors[kind] = sectors.get(kind, 0) + each.global_sectors
            modelled |= {kind} if each.colliding or _is_copy(each) else set()
    for kind, value in requests.items():
        prefix = "smsp__sass_l1tex_" if kind in _COPIES else "l1tex__"
        name = REQUESTS.format(kind).replace("l1tex__", prefix)
        yield Counter(name, value, "request", MACHINE)
        name = SECTORS.format(kind).replace("l1tex__", prefix)
        yield Counter(name, sectors[kind], "sector", MODEL if kind in modelled else MACHINE)


def _memory_kinds(each: MachineCount) -> Sequence[str]:
    """The counters that an instruction contributes to: asynchronous copies are counted as loads,
    and also in counters of their own."""
    if _is_copy(each):
        return "ld", _COPIES["BYPASS" in each.opcode.split(".")]
    kind = _MEMORY.get(each.base)
    return (kind,) if kind else ()


def _is_copy(each: MachineCount) -> bool:
    return each.base == "LDGSTS"


def _of_shared(instructions: Sequence[MachineCount]) -> Iterator[Counter]:
    def total(field: Callable[[MachineCount], int], *opcodes: str) -> int:
        return sum(field(i) for i in instructions if not opcodes or i.base in opcodes)

    spent = total(lambda each: each.shared_wavefronts)
    ideal = total(lambda each: each.shared_wavefronts_ideal)
    word = MODEL if any(each.warps and _is_copy(each) for each in instructions) else MACHINE
    yield Counter(WAVEFRONTS, spent, "wavefront", word)
    uncertain = any(each.ideal_uncertain for each in instructions)
    yield Counter(WAVEFRONTS_IDEAL, ideal, "wavefront", MODEL if uncertain else MACHINE)
    yield Counter("barrier_instructions", total(lambda each: each.warps, "BAR"), "inst", MACHINE)
    for name, opcodes in (("ld", ("LDS",)), ("st", ("STS",))):
        value = total(lambda each: each.warps, *opcodes)
        yield Counter(f"smsp__inst_executed_op_shared_{name}.sum", value, "inst", MACHINE)


def _of_branches(instructions: Sequence[MachineCount]) -> Iterator[Counter]:
    total = sum(each.branch_targets for each in instructions)
    divergent = sum(each.diverged_warps for each in instructions)
    name = "smsp__sass_branch_targets{}.sum"
    yield Counter(name.format(""), total, "branch", MACHINE)
    yield Counter(name.format("_threads_divergent"), divergent, "branch", MACHINE)
    yield Counter(name.format("_threads_uniform"), total - divergent, "branch", MACHINE)
    if total:
        name = "smsp__sass_average_branch_targets_threads_uniform.pct"
        yield Counter(name, 100 * (total - divergent) / total, "%", MACHINE)


def _of_arithmetic(instructions: Sequence[MachineCount]) -> Iterator[Counter]:
    threads: defaultdict[str, int] = defaultdict(int)
    for each in instructions:
        threads[each.base] += each.threads_predicated_on
    found = {
        name: sum(threads[opcode] for opcode in opcodes) for name, opcodes in _OPERATIONS.items()
    }
    for name, value in found.items():
        full_name = f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum"
        yield Counter(full_name, value, "inst", MACHINE)
    for precision, letter in (("fp32", "f"), ("fp64", "d")):
        flops = found[f"{letter}add"] + found[f"{letter}mul"] + 2 * found[f"{letter}fma"]
        if precision == "fp32":
            flops += sum(threads[opcode] * each for opcode, each in _FLOPS_OF_FORMS.items())
        yield Counter(f"flops_{precision}", flops, "flop", MACHINE)
