"""The fast run of a launch, one warp after another, with checks that only detect that
a fault is possible.

If the fast run finds a possible fault, it stops, and the buffers are restored. The judge then runs
the launch again, so the judge alone defines faults and words their messages. If the judge finds no
fault, the program is never tried in the fast run again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.emulator.engine import layout
from harness.emulator.engine.configuration import LaunchConfiguration
from harness.emulator.engine.fault_messages.places import fault_at, index_of, over_budget
from harness.emulator.engine.library import Machine, load
from harness.emulator.engine.lowering.encode import Encoded, encode
from harness.emulator.engine.raw_counts import JobCounts
from harness.emulator.errors import LaunchError
from harness.emulator.memory.address_space import AddressSpace
from harness.emulator.memory.arguments import written_allocations
from harness.emulator.memory.textures import Described, Surface
from harness.emulator.program.analysis.access_kinds import atomic_bytes, grain, granule
from harness.emulator.program.analysis.waiting_loops import waiting_loops
from harness.emulator.program.ir import Program
from harness.emulator.ptx.syntax import TYPE_SIZES
from harness.emulator.results.faults import Fault
from harness.emulator.results.observed import Observed
from harness.emulator.results.remarks import Remark
from harness.emulator.results.waits import Wait

_MOST_BLOCKS = 1 << 27  # thread blocks that a stamp can number
_SLICE_SECONDS = 0.2  # so that an interrupt is noticed
_KINDS = {
    "1d": layout.LINE, "2d": layout.PLANE, "3d": layout.VOLUME, "cube": layout.CUBE,
    "layered 1d": layout.LAYERED_LINE, "layered 2d": layout.LAYERED_PLANE,
}  # fmt: skip
_FORMATS = {
    "u1": layout.TEXEL_U8, "i1": layout.TEXEL_S8, "u2": layout.TEXEL_U16, "i2": layout.TEXEL_S16,
    "u4": layout.TEXEL_U32, "i4": layout.TEXEL_S32, "f2": layout.TEXEL_F16, "f4": layout.TEXEL_F32,
}  # fmt: skip
_MODES = {
    "clamp": layout.CLAMP, "border": layout.BORDER, "wrap": layout.WRAP, "mirror": layout.MIRROR,
}  # fmt: skip
_WRONGLY_SUSPECTED = "the fast run suspects it wrongly"
_NOT_RESTORED = (
    "the launch is in doubt and cannot be run again: what its buffers held is in a temporary file "
    "that cannot be read. Start it anew, in a process with a sound folder for temporary files."
)


class GivenUp(Exception):
    """Raised when the fast run is abandoned; the buffers are as they were before the launch."""


@dataclass(frozen=True)
class Outcome:
    """The result of a run.

    `printed`: the output with its block number, in the order of the run. `observed`: present only
    if requested. `ticks`: thread instructions that were executed; a partly active warp counts as a
    whole one. `waits`: whether the fault is that threads wait in a loop for an event that no thread
    will cause. `waited`: what threads waited for at mbarriers, if requested.
    """

    fault: Fault | None
    counts: JobCounts
    printed: tuple[tuple[int, str], ...] = ()
    remarks: tuple[Remark, ...] = ()
    observed: tuple[Observed, ...] = ()
    ticks: int = 0
    waits: bool = False
    waited: tuple[Wait, ...] = ()


class Laid:
    """A launch in the machine's form, with all objects that must exist while it runs."""

    def __init__(
        self, program: Program, configuration: LaunchConfiguration, memory: AddressSpace,
        params: bytes, jobs: int,
    ) -> None:  # fmt: skip
        self.machine, self.encoded = loaded(), program.once(_encoded)
        self._program = program
        self._constants = _constants(self.encoded, memory, params)
        self._buffers = _buffers(program, memory, params)
        self._textures = textures(memory)
        self.launch = _launch(program, configuration, jobs)
        self.launch.constants = layout.at(self._constants)
        self.launch.buffers, self.launch.buffer_count = self._buffers, len(self._buffers)
        self.launch.textures, self.launch.texture_count = self._textures, len(self._textures)
        self.found = JobCounts(program, jobs)


def loaded() -> Machine:
    """Return the machine. Raises LaunchError if it cannot be built."""
    machine = load()
    if isinstance(machine, str):
        raise LaunchError(
            f"the emulator compiles its engine with g++, and there is none: {machine}. nvcc needs "
            "a host compiler, too: install g++ or name one in CXX."
        )
    return machine


def only_judged(program: Program, configuration: LaunchConfiguration) -> str:
    """The reason why only the judge can run a launch; empty if the fast run may try it.

    Raises LaunchError if there is no engine, and UnknownInstruction for an operation that the
    engine lacks.
    """
    loaded()
    why = program.once(_encoded).why_only_judged
    if not why and configuration.cluster_blocks > 1:
        why = "thread block clusters"
    if not why and _WRONGLY_SUSPECTED in program.remembered:
        why = _WRONGLY_SUSPECTED
    return why or ("more blocks than it can number" if configuration.blocks > _MOST_BLOCKS else "")


def goes_in_step(program: Program) -> bool:
    """Return whether the warps of a block advance in step in the fast run, because threads wait at
    mbarriers.

    What such threads do may depend on the order of warps.
    """
    return program.once(_encoded).in_step


def cleared(program: Program) -> None:
    """Record that the judge found nothing wrong with a launch that the fast run abandoned."""
    program.remembered[_WRONGLY_SUSPECTED] = True


def _encoded(program: Program) -> Encoded:
    return encode(program, loaded())


def run(
    program: Program, configuration: LaunchConfiguration, memory: AddressSpace, params: bytes
) -> Outcome:
    """Run a launch, with several blocks at a time if that cannot affect its results. Raises
    GivenUp.
    """
    jobs = min(configuration.jobs, configuration.blocks) if jobs_may_share(program) else 1
    laid = Laid(program, configuration, memory, params, jobs)
    verdict = layout.new("Verdict", outcome=layout.PAUSED)
    library = laid.machine.library
    handle = library.machine_begin(laid.launch, laid.found.address, laid.found.apart)
    try:
        while verdict.outcome == layout.PAUSED:
            library.machine_run(handle, _SLICE_SECONDS, verdict)
        if verdict.outcome == layout.SUSPECT:
            if not library.machine_restore(handle):
                raise LaunchError(_NOT_RESTORED)
            raise GivenUp
    finally:
        library.machine_end(handle)
    over = verdict.outcome == layout.OVER_BUDGET
    fault = over_budget_fault(program, configuration, verdict) if over else None
    return Outcome(fault, laid.found, ticks=verdict.ticks)


def jobs_may_share(program: Program) -> bool:
    """Determine whether concurrent blocks give the same results as blocks that run one after
    another.

    Sums of floats depend on the order of blocks, and so do the values that atomics return.
    """
    return program.once(_order_is_free)


def _order_is_free(program: Program) -> bool:
    for block in program.blocks:
        for op in block.ops:
            if op.name == "atom" and op.variant[0] in ("global", ""):
                if op.registers_written() or op.variant[1] in ("exch", "cas", "inc", "dec"):
                    return False
                if op.source_types[2].startswith("f") or "." in op.variant[1]:
                    return False
    return True


def _constants(encoded: Encoded, memory: AddressSpace, params: bytes) -> np.ndarray:
    out = encoded.constants.copy()
    for row, offset, size in encoded.params:
        out[row] = int.from_bytes(params[offset : offset + size], "little")
    bases = {allocation.name: allocation.base for allocation in memory.allocations}
    for row, name, offset, shift in encoded.symbols:
        out[row] = bases[name] + offset >> shift
    return out


def _buffers(program: Program, memory: AddressSpace, params: bytes) -> Any:
    watched = {id(a) for a in written_allocations(program, memory, params)}
    buffers = bytearray(layout.BUFFER.size * len(memory.allocations))
    for number, (a, sectors) in enumerate(
        zip(memory.allocations, memory.map_sectors(), strict=True)
    ):
        filled = 0 if a.written is None else a.written.ctypes.data
        layout.BUFFER.pack_into(
            buffers, number * layout.BUFFER.size, a.base, a.size, a.address, sectors,
            sectors + a.sector_count, a.writable, id(a) in watched, 0, 0, 0, 0, filled,
        )  # fmt: skip
    return layout.ffi.from_buffer("Buffer[]", buffers)


def textures(memory: AddressSpace) -> Any:
    """Describe the textures and surfaces among the arguments, in the machine's form."""
    return layout.ffi.new("Texture[]", [_texture(each) for _, each in memory.textures])


def _texture(each: Described) -> dict[str, Any]:
    width, height, depth = each.size
    return {
        "data": layout.at(each.what.texels), "kind": _KINDS[each.what.kind], "width": width,
        "height": height, "depth": depth, "channels": each.what.channels,
        "format": _FORMATS[each.what.texels.dtype.str[1:]],
        "address": [_MODES[mode] for mode in each.address], "linear": each.linear,
        "normalized": each.normalized, "as_fractions": each.fractions,
        "is_surface": isinstance(each.what, Surface),
    }  # fmt: skip


def _launch(program: Program, configuration: LaunchConfiguration, jobs: int) -> Any:
    launch = layout.ffi.new("Launch *", program.once(_of_program)[0])
    launch.grid, launch.block = configuration.grid, configuration.block
    launch.cluster = configuration.cluster
    launch.in_clusters |= configuration.cluster_blocks > 1
    launch.shared_bytes, launch.budget = configuration.shared_bytes, configuration.budget
    launch.checks, launch.jobs = configuration.checks, jobs
    return launch


def _of_program(program: Program) -> Any:
    """Create a launch with the data that all launches of the program share."""
    encoded = program.once(_encoded)
    arrays = {
        name: getattr(encoded, name)
        for name in (
            "ops", "blocks", "switch_targets", "constant_offsets", "special_offsets", "heads",
            "watched", "meetings",
        )
    }  # fmt: skip
    global_one_width, shared_one_width = _one_width(program)
    return layout.new(
        "Launch", op_count=len(encoded.ops), block_count=len(encoded.blocks),
        site_count=len(program.sites), constant_count=len(encoded.constants),
        register_bytes=encoded.register_bytes, zeroed_bytes=encoded.zeroed_bytes,
        in_clusters=_names_clusters(program, encoded), in_step=encoded.in_step,
        head_count=len(encoded.heads), meeting_count=len(encoded.meetings),
        clocks=program.once(waiting_loops).clocks, shared_static=program.shared_static,
        local_bytes=program.local_bytes,
        global_one_width=global_one_width, shared_one_width=shared_one_width,
        **{name: layout.at(array) for name, array in arrays.items()},
        **{f"{space}_grain": grain(program, space) for space in ("global", "shared", "local")},
        **{f"{space}_granule": granule(program, space) for space in ("global", "shared")},
    )  # fmt: skip


def _names_clusters(program: Program, encoded: Encoded) -> bool:
    """Return whether the kernel reads special registers that identify its block's cluster or the
    block's position in it."""
    specials = loaded().specials
    return any(
        encoded.special_offsets[number] >= 0
        for name, number in specials.items()
        if name.startswith(("cluster", "ncluster"))
    )


def _one_width(program: Program) -> tuple[bool, bool]:
    """Return whether all stores and atomics have the same width, for global and for shared
    memory."""
    widths: dict[str, set[int]] = {"global": set(), "shared": set()}
    for block in program.blocks:
        for op in block.ops:
            if op.name in ("st", "atom"):
                size = (len(op.sources) - 2) * TYPE_SIZES[op.source_types[2]]
                width = atomic_bytes(op) if op.name == "atom" else size
                for space in [op.variant[0]] if op.variant[0] else widths:
                    widths.get(space, set()).add(width)
            elif op.name == "copy_async":
                widths["shared"].add(int(op.variant[0]))
            elif op.name == "copy_bulk":
                widths["shared"].add(16)
    return len(widths["global"]) <= 1, len(widths["shared"]) <= 1


def over_budget_fault(program: Program, configuration: LaunchConfiguration, verdict: Any) -> Fault:
    location = program.sites[program.blocks[verdict.block_number].first_site].location
    where = (
        index_of(verdict.block, configuration.grid),
        index_of(verdict.thread, configuration.block),
    )
    return fault_at(location, "budget", over_budget(configuration.budget), *where)
