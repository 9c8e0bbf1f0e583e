"""What a launch reports: counters by Nsight Compute's names, each with where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.emulator.faults import Fault
from harness.emulator.program import Branch, Op, Program
from harness.emulator.ptx import TYPE_SIZES
from harness.emulator.signatures import split_opcode
from harness.emulator.tally import Tally
from harness.silicon.memory_rules import MEASURED_SHARED_ATOMICS

Provenance = Literal["emulator-exact", "emulator-model", "ptx-level"]
EXACT: Provenance = "emulator-exact"
MODEL: Provenance = "emulator-model"
PTX: Provenance = "ptx-level"

REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"


@dataclass(frozen=True)
class Counter:
    """A number with its unit, and how exactly it is what Nsight Compute would read."""

    name: str
    value: int | float
    unit: str
    provenance: Provenance


@dataclass(frozen=True)
class InstructionCount:
    """Counts of one PTX instruction over the launch; `file` and `line` are of the CUDA source."""

    opcode: str
    ptx_line: int
    file: str
    line: int
    warps: int
    threads: int
    threads_predicated_on: int
    global_requests: int
    global_sectors: int
    shared_requests: int
    shared_wavefronts: int
    shared_wavefronts_ideal: int


@dataclass(frozen=True)
class LaunchReport:
    """Everything that a launch left behind but the arrays, which were changed in place."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    counters: tuple[Counter, ...]
    faults: tuple[Fault, ...]
    thread_instructions: int
    instructions: tuple[InstructionCount, ...]
    printed: tuple[str, ...] = ()

    @property
    def instruction_mix(self) -> dict[str, int]:
        """Warp instructions by opcode (without its types), most frequent first."""
        mix: dict[str, int] = {}
        for each in self.instructions:
            name, modifiers, _ = split_opcode(each.opcode)
            opcode = ".".join([name, *modifiers])
            mix[opcode] = mix.get(opcode, 0) + each.warps
        return dict(sorted(((k, v) for k, v in mix.items() if v), key=lambda kv: (-kv[1], kv[0])))

    def counter(self, name: str) -> Counter:
        """A counter by name; KeyError if the launch has none of that name."""
        for counter in self.counters:
            if counter.name == name:
                return counter
        raise KeyError(name)


def instruction_counts(program: Program, tally: Tally) -> tuple[InstructionCount, ...]:
    """The counts of every instruction, from those of the basic blocks."""
    warps, threads = [0] * len(program.sites), [0] * len(program.sites)
    on = [0] * len(program.sites)
    for number, block in enumerate(program.blocks):
        for site in block.sites:
            warps[site] += tally.block_warps[number]
            threads[site] += tally.block_lanes[number]
            on[site] += tally.block_lanes[number]
        if block.guarded_site is not None:
            on[block.guarded_site] += tally.block_lanes[number]
        if isinstance(block.terminator, Branch):
            site = block.terminator.site
            warps[site] += tally.block_warps[number]
            threads[site] += tally.block_lanes[number]
            if not block.terminator.guards:
                on[site] += tally.taken_lanes[number]
    return tuple(
        InstructionCount(
            each.opcode, each.ptx_line, each.location.file if each.location else "",
            each.location.line if each.location else 0, warps[i], threads[i], on[i],
            tally.requests[i], tally.sectors[i], tally.shared_requests[i], tally.wavefronts[i],
            tally.wavefronts_ideal[i],
        )
        for i, each in enumerate(program.sites)
    )  # fmt: skip


def counters(
    program: Program, tally: Tally, instructions: tuple[InstructionCount, ...]
) -> tuple[Counter, ...]:
    """The counters of a launch."""
    warps = sum(i.warps for i in instructions)
    threads = sum(i.threads for i in instructions)
    on = sum(i.threads_predicated_on for i in instructions)
    out = [
        Counter("smsp__inst_executed.sum", warps, "inst", PTX),
        Counter("smsp__thread_inst_executed.sum", threads, "inst", PTX),
        Counter("smsp__thread_inst_executed_pred_on.sum", on, "inst", PTX),
    ]
    if warps:
        ratio = "smsp__thread_inst_executed{}_per_inst_executed.ratio"
        out.append(Counter(ratio.format(""), threads / warps, "", PTX))
        out.append(Counter(ratio.format("_pred_on"), on / warps, "", PTX))
    kinds = _access_kinds(program)
    requests, sectors = dict.fromkeys(("ld", "st", "red", "atom"), 0), dict[str, int]()
    shared = dict.fromkeys(("ld", "st", "atom"), 0)
    modelled = set()
    for site, each in enumerate(instructions):
        kind = kinds.get(site, "")
        if kind in requests or (kind and each.global_requests):
            requests[kind] = requests.get(kind, 0) + each.global_requests
            sectors[kind] = sectors.get(kind, 0) + each.global_sectors
            if each.global_requests and _has_no_reading(each.opcode):
                modelled |= {(kind, REQUESTS), (kind, SECTORS)}
            if site in tally.colliding:
                modelled.add((kind, SECTORS))
            shared_kind = "atom" if kind == "red" else kind
            if shared_kind in shared:
                shared[shared_kind] += each.shared_requests
    for kind, value in requests.items():
        prefix = "smsp__sass_l1tex_" if kind.endswith("bypass") else "l1tex__"
        for pattern, count, unit in (
            (REQUESTS, value, "request"),
            (SECTORS, sectors.get(kind, 0), "sector"),
        ):
            name = pattern.format(kind).replace("l1tex__", prefix)
            certainty = MODEL if (kind, pattern) in modelled else EXACT
            out.append(Counter(name, count, unit, certainty))
    certainty, ideal_certainty = _shared_provenance(program, instructions)
    out += [
        Counter(
            "memory_l1_wavefronts_shared",
            sum(i.shared_wavefronts for i in instructions), "wavefront", certainty,
        ),
        Counter(
            "memory_l1_wavefronts_shared_ideal",
            sum(i.shared_wavefronts_ideal for i in instructions), "wavefront", ideal_certainty,
        ),
    ]  # fmt: skip
    out += [
        Counter(f"shared_{kind}_instructions", value, "inst", PTX) for kind, value in shared.items()
    ]
    barriers = sum(i.warps for i in instructions if _is_barrier(i.opcode))
    out.append(Counter("barrier_instructions", barriers, "inst", PTX))
    return tuple(out)


def _is_barrier(opcode: str) -> bool:
    return opcode.startswith(("bar.", "barrier.")) and not opcode.startswith("bar.warp")


def _access_kinds(program: Program) -> dict[int, str]:
    """For each instruction that accesses memory, which counters it belongs to.

    An asynchronous copy is an LDGSTS in machine code, which Nsight Compute counts on its own.
    """
    out: dict[int, str] = {}
    for block in program.blocks:
        for op in block.ops:
            if op.name in ("ld", "st", "atom"):
                out[op.site] = _kind(op, program)
            elif op.name == "copy_async":
                through = ".ca." in program.sites[op.site].opcode
                out[op.site] = f"ldgsts_cache_{'access' if through else 'bypass'}"
    return out


def _has_no_reading(opcode: str) -> bool:
    """Instructions whose cost is a model: tensor-core accesses, copies, atomics on vectors."""
    name, modifiers, _ = split_opcode(opcode)
    if name in ("atom", "red"):
        return not {"v2", "v4", "v8"}.isdisjoint(modifiers)
    return name in ("wmma", "ldmatrix", "stmatrix", "cp")


def _kind(op: Op, program: Program) -> str:
    """ld, st, atom or red; an atomic whose result is never read is a reduction, as in SASS.

    Compare-and-swap and exchange have no such form.
    """
    if op.name != "atom" or op.variant[1] in ("cas", "exch"):
        return op.name
    read = {s.slot for b in program.blocks for o in b.ops for s in o.registers_read()}
    read |= {slot for b in program.blocks for slot in b.live_out}
    return "atom" if any(r.slot in read for r in op.registers_written()) else "red"


def _shared_provenance(
    program: Program, instructions: tuple[InstructionCount, ...]
) -> tuple[Provenance, Provenance]:
    """Exact unless an executed shared access has no rule read off hardware."""
    cost: Provenance = EXACT
    ideal: Provenance = EXACT
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
