"""A launch's counters under Nsight Compute's names, computed from the raw counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.emulator.engine.raw_counts import RawCounts
from harness.emulator.memory.address_space import Allocation
from harness.emulator.program.analysis import flops
from harness.emulator.program.analysis.access_kinds import is_of_single_halves
from harness.emulator.program.analysis.merged_accesses import merged_accesses
from harness.emulator.program.analysis.uneven_loops import ways_out
from harness.emulator.program.ir import Branch, Jump, Op, Program
from harness.emulator.program.signatures import split_opcode
from harness.emulator.ptx.syntax import TYPE_SIZES
from harness.emulator.results.bulk_copies import Kind, of_copies
from harness.emulator.results.counters import (
    EXACT,
    MODEL,
    PTX,
    REQUESTS,
    SECTORS,
    WAVEFRONTS,
    WAVEFRONTS_IDEAL,
    Counter,
    InstructionCount,
    Provenance,
    Uncounted,
    of_instructions,
    of_mixed,
)

MEASURED_SHARED_ATOMICS = frozenset({"add", "max", "cas"})
"""The shared atomics whose wavefronts are known from hardware readings; the others are modelled on
these."""
_OF_BULK_COPY_UNIT = ("cp.async.bulk.", "cp.reduce.async.bulk.", "prefetch.tensormap")
_VECTORS = frozenset({"v2", "v4", "v8"})


def counters(
    program: Program, counts: RawCounts, instructions: tuple[InstructionCount, ...],
    buffers: Iterable[Allocation],
) -> tuple[Counter, ...]:  # fmt: skip
    """The launch's counters, except those that `uncounted()` names."""
    out = list(of_instructions(instructions, PTX))
    kinds = program.once(_access_kinds)
    requests, sectors = dict.fromkeys(("ld", "st", "red", "atom"), 0), dict[str, int]()
    shared = dict.fromkeys(("ld", "st", "atom"), 0)
    modelled, as_in_ptx = set(), _unevenly_repeated(program, instructions)
    of_ptx, of_either_form = set(), program.once(_of_either_form)
    for site, each in enumerate(instructions):
        for kind in kinds.get(site, ()) if each.global_requests else ():
            requests[kind] = requests.get(kind, 0) + each.global_requests
            sectors[kind] = sectors.get(kind, 0) + each.global_sectors
            if _has_no_reading(each.opcode):
                modelled |= {(kind, REQUESTS), (kind, SECTORS)}
            if site in counts.colliding:
                modelled.add((kind, SECTORS))
            if site in as_in_ptx:
                of_ptx |= {kind}
            if site in of_either_form:
                of_ptx |= {"red", "atom"}
        first = next(iter(kinds.get(site, ())), "")
        if (shared_kind := "atom" if first == "red" else first) in shared:
            shared[shared_kind] += each.shared_requests
    for kind, value in requests.items():
        prefix = "smsp__sass_l1tex_" if kind.endswith("bypass") else "l1tex__"
        for pattern, count, unit in (
            (REQUESTS, value, "request"),
            (SECTORS, sectors.get(kind, 0), "sector"),
        ):
            name = pattern.format(kind).replace("l1tex__", prefix)
            certainty = MODEL if (kind, pattern) in modelled else EXACT
            certainty = PTX if kind in of_ptx else certainty
            out.append(Counter(name, count, unit, certainty))
    certainty, ideal_certainty = _shared_provenance(program, instructions, as_in_ptx)
    out += [
        Counter(
            WAVEFRONTS,
            sum(i.shared_wavefronts for i in instructions), "wavefront", certainty,
        ),
        Counter(
            WAVEFRONTS_IDEAL,
            sum(i.shared_wavefronts_ideal for i in instructions), "wavefront", ideal_certainty,
        ),
    ]  # fmt: skip
    out += [
        Counter(f"shared_{kind}_instructions", value, "inst", PTX) for kind, value in shared.items()
    ]
    barriers = sum(i.warps for i in instructions if _is_barrier(i.opcode))
    out.append(Counter("barrier_instructions", barriers, "inst", PTX))
    out += _of_branches(program, counts, instructions)
    out += _of_arithmetic(instructions)
    out += _of_atomics(instructions)
    out += _of_bulk_copies(instructions)
    out += _of_sectors(buffers)
    missing = uncounted(program, instructions)
    return tuple(counter for counter in out if counter.name not in missing)


def uncounted(program: Program, instructions: tuple[InstructionCount, ...]) -> Uncounted:
    """The counters that the launch lacks, each with the reason."""
    kinds = program.once(_access_kinds)
    return of_mixed(instructions, lambda site: kinds.get(site, ()))


def _of_branches(
    program: Program, counts: RawCounts, instructions: tuple[InstructionCount, ...]
) -> Iterator[Counter]:
    """Count the warps that executed a branch, and those whose lanes diverged there.

    Readings of machine code on an H200 show that an unconditional jump, a call and its return count
    as uniform branches, and that the kernel's own return is not a branch.
    """
    choices = sum(each.branches for each in instructions)
    jumps = sum(counts.block_warps[number] for number in program.once(_jumps))
    diverged = sum(each.diverged_warps for each in instructions)
    total = choices + jumps
    name = "smsp__sass_branch_targets{}.sum"
    yield Counter(name.format(""), total, "branch", PTX)
    yield Counter(name.format("_threads_divergent"), diverged, "branch", PTX)
    yield Counter(name.format("_threads_uniform"), total - diverged, "branch", PTX)
    if total:
        uniform = 100 * (total - diverged) / total
        name = "smsp__sass_average_branch_targets_threads_uniform.pct"
        yield Counter(name, uniform, "%", PTX)


def _jumps(program: Program) -> list[int]:
    """Find the basic blocks that end with an unconditional jump.

    nvcc writes `@%p bra A; bra.uni B;`, which is one branch in machine code. A jump to which a
    branch leads directly, with nothing in between, is therefore left out.
    """
    branches = [b.terminator for b in program.blocks if isinstance(b.terminator, Branch)]
    chosen = {number for b in branches if not b.guards for number in (b.target, b.otherwise)}
    return [
        number
        for number, block in enumerate(program.blocks)
        if isinstance(block.terminator, Jump)
        and (site := block.terminator.site) is not None
        and not (
            number in chosen
            and block.sites == [site]
            and program.sites[site].opcode.startswith("bra")
        )
    ]


def _of_arithmetic(instructions: tuple[InstructionCount, ...]) -> Iterator[Counter]:
    kinds, operations = flops.totals(
        (i.opcode, i.threads_predicated_on) for i in instructions if i.flops
    )
    for kind, value in kinds.items():
        yield Counter(flops.THREADS.format(kind), value, "inst", PTX)
    for precision, value in operations.items():
        yield Counter(f"flops_{precision}", value, "flop", PTX)


def _of_atomics(instructions: tuple[InstructionCount, ...]) -> Iterator[Counter]:
    """Count how the lanes of a warp collide on addresses.

    The counts depend only on the addresses. However, they describe PTX instructions; in machine
    code, the operations of a warp's lanes may be combined before a single lane accesses memory.
    """
    of_shared = [i for i in instructions if i.atomic_lanes and i.shared_requests]
    of_global = [i for i in instructions if i.atomic_lanes and not i.shared_requests]
    for space, own in (("global", of_global), ("shared", of_shared)):
        lanes, addresses = sum(i.atomic_lanes for i in own), sum(i.atomic_addresses for i in own)
        yield Counter(f"{space}_atomic_lanes", lanes, "inst", PTX)
        yield Counter(f"{space}_atomic_addresses", addresses, "address", PTX)
        if addresses:
            most = max(i.atomic_most_lanes for i in own)
            yield Counter(f"{space}_atomic_lanes_per_address", lanes / addresses, "lane", PTX)
            yield Counter(f"{space}_atomic_most_lanes_per_address", most, "lane", PTX)


def _of_bulk_copies(instructions: tuple[InstructionCount, ...]) -> Iterator[Counter]:
    """Count what the bulk copy unit moves. Nothing is counted for a launch without such copies."""
    copies = [
        (_bulk_kind(i.opcode), "multicast::cluster" in i.opcode, i)
        for i in instructions
        if i.warps and i.opcode.startswith(_OF_BULK_COPY_UNIT) and "wait_group" not in i.opcode
    ]
    if copies:
        yield from of_copies(copies, EXACT)


def _bulk_kind(opcode: str) -> Kind:
    """Return what a copy does: its opcode names first the destination memory, then the source."""
    words = (word.partition("::")[0] for word in opcode.split("."))
    to, *source = [word for word in words if word in ("shared", "global")] or [""]
    reduces = opcode.startswith("cp.reduce")
    if not source:  # a prefetch, or the end of a group
        return ""
    if source == ["global"]:
        return "ld"
    if to == "global":
        return "red" if reduces else "st"
    return "remote_red" if reduces else "remote_st"


def _of_sectors(buffers: Iterable[Allocation]) -> Iterator[Counter]:
    """Count the distinct sectors of global memory that the launch accesses."""
    touched = [each.touched() for each in buffers]
    yield Counter("distinct_sectors_read", sum(read for read, _ in touched), "sector", MODEL)
    yield Counter("distinct_sectors_written", sum(out for _, out in touched), "sector", MODEL)


def _is_barrier(opcode: str) -> bool:
    return opcode.startswith(("bar.", "barrier.")) and not opcode.startswith("bar.warp")


def _access_kinds(program: Program) -> dict[int, tuple[str, ...]]:
    """Map each instruction that accesses memory to the counters to which it contributes.

    An asynchronous copy is an LDGSTS in machine code, which Nsight Compute counts both among the
    loads and separately. An atomic on a single half is a loop that begins with a load.
    """
    out: dict[int, tuple[str, ...]] = {}
    for block in program.blocks:
        for op in block.ops:
            if op.name in ("ld", "st", "atom"):
                kind = _kind(op, program)
                is_loop = op.name == "atom" and is_of_single_halves(program.sites[op.site].opcode)
                out[op.site] = (kind, "ld") if is_loop else (kind,)
            elif op.name == "copy_async":
                through = ".ca." in program.sites[op.site].opcode
                out[op.site] = f"ldgsts_cache_{'access' if through else 'bypass'}", "ld"
    return out


def _has_no_reading(opcode: str) -> bool:
    """Return whether an instruction's cost is modelled, because no GPU reading determines it. Such
    instructions are the tensor cores' loads and stores, copies and other asynchronous instructions,
    256-bit loads and stores, atomics on vectors or b128, and atomics on a single half, which become
    a loop around a compare-and-swap of the containing word."""
    name, modifiers, types = split_opcode(opcode)
    if "async" in modifiers:
        return True
    if name in ("atom", "red"):
        wide = types == ["b128"]
        return wide or not _VECTORS.isdisjoint(modifiers) or is_of_single_halves(opcode)
    if name in ("ld", "st"):
        return "v8" in modifiers or ("v4" in modifiers and TYPE_SIZES[types[-1]] == 8)
    return name in ("wmma", "ldmatrix", "stmatrix", "cp", "mbarrier")


def _kind(op: Op, program: Program) -> str:
    """Return ld, st, atom or red; an atomic whose result is never read is a reduction, as in SASS.

    Compare-and-swap, exchange, additions of halves and acquiring atomics have no reduction form.
    """
    if op.name != "atom" or op.variant[1] in ("cas", "exch") or "." in op.variant[1]:
        return op.name
    if not {"acquire", "acq_rel"}.isdisjoint(split_opcode(program.sites[op.site].opcode)[1]):
        return op.name
    return "atom" if op.site in program.once(_results_read) else "red"


def _results_read(program: Program) -> frozenset[int]:
    """The atomics whose results some instruction reads."""
    read = {s.slot for b in program.blocks for o in b.ops for s in o.registers_read()}
    read |= {slot for b in program.blocks for slot in b.live_out}
    return frozenset(
        op.site for block in program.blocks for op in block.ops
        if op.name == "atom" and any(each.slot in read for each in op.registers_written())
    )  # fmt: skip


def _of_either_form(program: Program) -> frozenset[int]:
    """The reductions on generic addresses, which ptxas turns into atomics unless it can tell that
    the memory is global."""
    return frozenset(
        op.site for block in program.blocks for op in block.ops
        if op.name == "atom" and not op.variant[0] and _kind(op, program) == "red"
    )  # fmt: skip


def _unevenly_repeated(
    program: Program, instructions: tuple[InstructionCount, ...]
) -> frozenset[int]:
    """Find the instructions in loops that a warp's lanes left after different numbers of
    iterations."""
    loops = program.once(ways_out)
    return frozenset().union(
        *(inside for site, inside in loops if instructions[site].diverged_warps)
    )


def _shared_provenance(
    program: Program, instructions: tuple[InstructionCount, ...], as_in_ptx: frozenset[int]
) -> tuple[Provenance, Provenance]:
    """Return the provenance of the shared-memory wavefronts, and that of the ideal ones. Both are
    exact unless an executed access is not covered by a rule derived from hardware readings, may be
    merged with another by ptxas, or may be issued for some of its lanes at a time."""
    cost: Provenance = EXACT
    ideal: Provenance = EXACT
    if any(
        instructions[site].shared_wavefronts for site in program.once(merged_accesses) | as_in_ptx
    ):
        return PTX, PTX
    if any(i.shared_wavefronts and _has_no_reading(i.opcode) for i in instructions):
        return MODEL, MODEL
    for block in program.blocks:
        for op in block.ops:
            if not instructions[op.site].shared_wavefronts:
                continue
            if op.name == "atom":
                ideal = MODEL
                size = TYPE_SIZES[op.source_types[2]]
                if (
                    op.variant[1] not in MEASURED_SHARED_ATOMICS
                    or size != 4
                    or op.source_types[2].startswith("f")
                ):
                    cost = MODEL
            elif op.name in ("ld", "st"):
                types = op.result_types if op.name == "ld" else op.source_types[2:]
                if TYPE_SIZES[types[0]] * len(types) > 4:
                    ideal = MODEL
    return cost, ideal
