"""Execute one launch on the machine: set up constants, buffers and counts; return the outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine import layout as engine_layout
from harness.emulator.engine import native
from harness.emulator.engine.fault_messages.by_verdict import told
from harness.emulator.engine.fault_messages.places import fault_at, index_of, over_budget
from harness.emulator.engine.shape import Dim3, Shape
from harness.emulator.errors import LaunchError
from harness.emulator.memory import heap
from harness.emulator.memory.address_space import AddressSpace
from harness.emulator.memory.arguments import PARAMETERS
from harness.emulator.memory.shared_variables import SharedVariables
from harness.emulator.ptx.source_lines import user_line
from harness.emulator.results.faults import Fault
from harness.emulator.sass import layout
from harness.emulator.sass.architectures import ClusterPlaces, CodeArchitecture
from harness.emulator.sass.code import INSTRUCTION_BYTES, Function
from harness.emulator.sass.cubin.stacks import local_bytes, overflow
from harness.emulator.sass.driver_calls import DriverCalls
from harness.emulator.sass.encode import Encoded
from harness.emulator.sass.instructions.hopper import COPIES, OPCODES
from harness.emulator.sass.judging import CodePlace, Judged, details
from harness.emulator.sass.library import load
from harness.emulator.sass.report import MachineCount

Array = NDArray[Any]

_SLICE_SECONDS = 0.2  # so that an interrupt is noticed
_WIDEST_BYTES = 16
_TURN = 1 << 12  # instructions that some lanes execute before the warp's others continue
_SLICE = 1 << 16  # warp instructions of a block before other blocks continue, if blocks may wait
_FAULTS = {
    layout.OUTSIDE: "out of bounds", layout.MISALIGNED: "misaligned",
    layout.READ_ONLY: "read-only", layout.DEADLOCK: "deadlock", layout.OVER_BUDGET: "budget",
    layout.BARRIER_OF_SOME: "divergent barrier", layout.TRAP: "trap",
    layout.BAD_TARGET: "bad target", layout.LEFT_CODE: "left code",
    layout.NO_TEXTURE: "no texture", layout.OUTSIDE_SURFACE: "outside a surface",
    layout.ASSERTED: "assert", layout.PRINTED_TOO_MUCH: "budget",
    layout.NO_MBARRIER: "no mbarrier", layout.NOT_COUNTED: "bad count",
    layout.POOL_EMPTY: "no registers",
}  # fmt: skip
_NAMED_OTHERWISE = {
    "bad target": "trap", "left code": "trap", "no texture": "out of bounds",
    "outside a surface": "out of bounds", "no mbarrier": "mbarrier", "bad count": "mbarrier",
    "no registers": "deadlock",
}  # fmt: skip
_UNSUPPORTED = {
    layout.ANOTHER_BLOCK: "it names another block's shared memory where only its own is known to "
    "be meant: launch() the PTX",
    layout.COPIED_BY_DRIVER: "it calls the driver's function that copies to another block's shared "
    "memory: launch() the PTX",
}  # fmt: skip
_BANKS = 6
_REGISTER_UNIT = 8
_WORD_BYTES = 4

_WITH_RESERVED = {engine_layout.RACE_BETWEEN, engine_layout.RACE_AT_ONCE,
                  engine_layout.COPY_UNDER_WAY, engine_layout.NO_PROXY_FENCE,
                  engine_layout.NEVER_WRITTEN}  # fmt: skip


@dataclass(frozen=True)
class Clustered:
    """The clusters of a launch. `is_explicit`: whether the launch or its kernel specifies any."""

    extents: Dim3
    is_explicit: bool


@dataclass(frozen=True)
class Ran:
    """The outcome of a launch. `printed`: the output of each call, block by block. `counts`: a
    row for each of layout.COUNTS, with a number for each instruction (`counted`)."""

    faults: tuple[Fault, ...]
    printed: tuple[str, ...]
    counts: Array


def synchronises_grid(function: Function, arch: CodeArchitecture) -> bool:
    """Return whether the code uses the workspace of the cooperative groups' grid barrier."""
    return not function.driver_constants.isdisjoint(at for _, at in arch.registers_at)


def bank_of_parameters(
    function: Function, arch: CodeArchitecture, shape: Shape, params: bytes,
    registers: Mapping[str, int], cluster: Clustered, memory: AddressSpace,
) -> bytes:  # fmt: skip
    """Fill constant bank 0 as the driver does, as far as code is known to read the bank.

    `params`: the bank, with zeros before the parameters. `registers`: PTX special registers that
    the driver stores there.
    """
    bank = bytearray(params)
    for at, extents in ((arch.block_at, shape.block), (arch.grid_at, shape.grid)):
        bank[at : at + 12] = b"".join(extent.to_bytes(4, "little") for extent in extents)
    bank[arch.stack_at : arch.stack_at + 4] = local_bytes(function).to_bytes(4, "little")
    for at, window in arch.windows_at:
        bank[at : at + 8] = window.to_bytes(8, "little")
    if arch.clusters is not None:
        _fill_clusters(bank, shape, cluster, arch.clusters)
        own = next(a.base for a in memory.allocations if a.name == PARAMETERS)
        at = arch.clusters.parameters
        bank[at : at + 8] = (own + function.parameter_base).to_bytes(8, "little")
    offsets = dict(arch.registers_at)
    for name, value in registers.items():
        at = offsets[name]
        bank[at : at + 4] = value.to_bytes(4, "little")
    return bytes(bank)


def _fill_clusters(
    bank: bytearray, shape: Shape, cluster: Clustered, places: ClusterPlaces
) -> None:
    """Store the cluster dimensions where code reads them, according to comparisons of PTX with
    machine code.

    To divide by a dimension, the code multiplies by a float: the smallest float that makes no
    quotient too low.
    """
    extents = cluster.extents
    counts = [blocks // extent for blocks, extent in zip(shape.grid, extents, strict=True)]
    parts = [1 / extent for extent in extents]
    up = [np.nextafter(f, np.float32(2)) if float(f) < p else f
          for p, f in zip(parts, map(np.float32, parts), strict=True)]  # fmt: skip
    for at, words in (
        (places.is_explicit, [int(cluster.is_explicit)]),
        (places.extents, extents),
        (places.factors, [int(f.view(np.uint32)) for f in up]),
        (places.counts, counts),
        (places.blocks, [math.prod(extents)]),
        (places.dynamic, [shape.dynamic_bytes]),
    ):
        raw = b"".join(word.to_bytes(4, "little") for word in words)
        bank[at : at + len(raw)] = raw


def execute(
    function: Function, arch: CodeArchitecture, encoded: Encoded, shape: Shape,
    memory: AddressSpace, banks: Mapping[int, Array], cluster: Clustered,
    judged: Judged | None = None,
) -> Ran:  # fmt: skip
    """Execute all blocks, or stop at the first fault. `judged`: None to skip race detection."""
    library = load().library
    constants = _constants(encoded, banks)
    held = [banks.get(n, np.zeros(0, np.uint8)) for n in range(_BANKS)]
    pointers = np.array([bank.ctypes.data for bank in held], np.uint64)
    sizes = np.array([bank.size for bank in held], np.int64)
    padded = [_padded(a.data) for a in memory.allocations]
    buffers = layout.ffi.new("Buffer[]", [
        {"base": a.base, "size": a.size, "data": layout.at(data), "writable": a.writable,
         "slack": data.size - a.size,
         "filled": layout.ffi.NULL if a.written is None else layout.at(a.written)}
        for a, data in zip(memory.allocations, padded, strict=True)
    ])  # fmt: skip
    counts = np.zeros((len(layout.COUNTS), len(function.instructions)), np.int64)
    textures = native.textures(memory)
    uses_reserved = (0, arch.reserved_at) in encoded.constants
    launch = layout.new(
        "Launch", instructions=layout.at(encoded.instructions), constants=layout.at(constants),
        banks=layout.at(pointers), bank_sizes=layout.at(sizes), buffers=buffers,
        instruction_count=len(function.instructions), constant_rows=len(constants),
        buffer_count=len(buffers), registers=encoded.registers,
        shared_bytes=function.shared_start + _shared_bytes(shape),
        local_bytes=local_bytes(function), grid=shape.grid, block=shape.block,
        shared_start=0 if uses_reserved else function.shared_start,
        slice=_SLICE if encoded.takes_turns else 0, turn=_TURN, budget=shape.budget,
        textures=layout.ffi.cast("void *", int(engine_layout.ffi.cast("uintptr_t", textures))),
        texture_count=len(textures),
    )  # fmt: skip
    launch.has_copies = not function.opcodes.isdisjoint(COPIES)
    launch.cluster = cluster.extents
    launch.own_registers = -(-function.registers // _REGISTER_UNIT) * _REGISTER_UNIT
    if judged:
        launch.kinds, launch.traits = layout.at(judged.kinds), layout.at(judged.traits)
        launch.lines, launch.meetings = layout.at(judged.lines), layout.at(judged.meetings)
        launch.global_grain, launch.shared_grain = judged.grains
        launch.follows_shared = (
            math.prod(cluster.extents) == 1
            and not uses_reserved  # which begins as zeros
            and function.opcodes.isdisjoint(OPCODES)
        )
    system = DriverCalls(library)
    launch.print = system.callback
    launch.heap = heap.slot(memory)
    verdict = layout.new("Verdict", outcome=layout.PAUSED)
    first, apart = counts.ctypes.data, counts.strides[0]
    rows = layout.ffi.new(
        "Counts *", [layout.ffi.cast("void *", first + n * apart) for n in range(len(counts))]
    )
    handle = system.handle = library.sass_begin(launch, rows)
    try:
        while verdict.outcome == layout.PAUSED:
            library.sass_run(handle, _SLICE_SECONDS, verdict)
        if system.raised is not None:
            raise system.raised
        numbers = list(details(library, handle))
        said = system.said(verdict, numbers)
    finally:
        library.sass_end(handle)
    for allocation, data in zip(memory.allocations, padded, strict=True):
        if data is not allocation.data and allocation.writable:
            allocation.data[:] = data[: allocation.size]
    fault = None
    if verdict.outcome == layout.FAULTY:
        if verdict.fault in _UNSUPPORTED:
            what = function.instructions[verdict.instruction]
            raise LaunchError(f"`{what.text}` is not executed: {_UNSUPPORTED[verdict.fault]}")
        named = judged.shared if judged else SharedVariables()
        fault = _fault(function, shape, verdict, memory, numbers, said, named, launch.shared_start)
    return Ran(() if fault is None else (fault,), system.printed, counts)


def _shared_bytes(shape: Shape) -> int:
    """The size in bytes of the part of a block's shared memory that code may read. ptxas may read
    the last variables of a kernel with loads that are wider than the variables, so the memory ends
    at a multiple of 16."""
    own = shape.shared_bytes
    return own if shape.dynamic_bytes else -(-own // _WIDEST_BYTES) * _WIDEST_BYTES


def _padded(data: Array) -> Array:
    """Return the bytes themselves, or a copy padded to full words."""
    missing = -data.size % _WORD_BYTES
    return np.concatenate([data, np.zeros(missing, np.uint8)]) if missing else data


def _constants(encoded: Encoded, banks: Mapping[int, Array]) -> Array:
    """Make a row of lanes for each constant and immediate; the first is zero."""
    values = np.zeros(len(encoded.constants) + 1, np.uint32)
    for key, row in encoded.constants.items():
        if isinstance(key, int):
            values[row] = key
        else:
            bank, offset = key
            if bank not in banks:
                raise LaunchError(f"the code reads constant bank {bank}, which the cubin has not")
            values[row] = int.from_bytes(banks[bank][offset : offset + 4].tobytes(), "little")
    return np.repeat(values[:, None], layout.LANES, axis=1).copy()


def counted(function: Function, counts: Array) -> tuple[MachineCount, ...]:
    """Return the counts of each instruction. `counts` is `Ran.counts`."""
    out = []
    for (address, text, opcode, file, line, chooses), row in zip(
        function.once(_described), counts.T.tolist(), strict=True
    ):
        own = dict(zip(layout.COUNTS, row, strict=True))
        out.append(
            MachineCount(
                address=address, text=text, opcode=opcode,
                file=file, line=line, warps=own["warps"], threads=own["threads"],
                threads_predicated_on=own["on"], global_requests=own["requests"],
                global_sectors=own["sectors"], shared_requests=own["shared_requests"],
                shared_wavefronts=own["wavefronts"],
                shared_wavefronts_ideal=own["wavefronts_ideal"],
                ideal_uncertain=own["ideal_uncertain"],
                branches=own["warps"] if chooses else 0, diverged_warps=own["divergent"],
                colliding=own["colliding"], branch_targets=own["branches"],
                warps_again=own["warps_again"], threads_again=own["threads_again"],
                mixed_requests=own["mixed"], remote_requests=own["remote_requests"],
                remote_sectors=own["remote_sectors"], remote_uncertain=own["remote_uncertain"],
                bulk_copies=own["bulk_copies"],
                bulk_sectors=own["bulk_sectors"],
                multicast_requests=own["multicast_requests"],
                bulk_uncertain=own["bulk_uncertain"],
            )
        )  # fmt: skip
    return tuple(out)


def _described(function: Function) -> list[tuple[int, str, str, str, int, bool]]:
    """Return each instruction's address, text, opcode, file and line, and whether it is a branch
    that only some lanes may take."""
    found = []
    for each in function.instructions:
        place = user_line(each.location)
        file, line = (place.file, place.line) if place else ("", 0)
        chooses = each.name.startswith("BRA") and each.text.startswith("@")
        found.append((each.address, each.text, each.name, file, line, chooses))
    return found


def _fault(
    function: Function, shape: Shape, verdict: Any, memory: AddressSpace, numbers: list[int],
    said: str, shared: SharedVariables, start: int,
) -> Fault:  # fmt: skip
    instruction = function.instructions[verdict.instruction]
    block = min(verdict.block, math.prod(shape.grid) - 1)
    where = index_of(block, shape.grid), index_of(verdict.thread, shape.block)
    if verdict.fault == layout.ACCUSED:
        reserved = start if verdict.address in _WITH_RESERVED else 0
        place = CodePlace(shape.grid, shape.block, memory, function, shared, reserved)
        accused, words = told(verdict.address, verdict.instruction, numbers, place)
        return fault_at(user_line(instruction.location), accused, words, *where)
    kind = _FAULTS[verdict.fault]
    over = overflow(function, instruction, verdict.address)
    if over and verdict.fault == layout.OUTSIDE:
        return fault_at(user_line(instruction.location), "stack overflow", over, *where)
    if said:
        return fault_at(user_line(instruction.location), kind, said, *where)
    what = f"`{instruction.text}` at {instruction.address:#x}"
    address = verdict.address
    message = {
        "out of bounds": f"{what} accesses {_where(address, memory)}",
        "misaligned": f"{what} accesses address {address:#x}, which is not aligned",
        "read-only": f"{what} writes to {_where(address, memory)}, which is read-only",
        "deadlock": f"every thread left in the block waits, here at {what}",
        "budget": over_budget(shape.budget),
        "divergent barrier": f"{what} is a barrier of the whole block, and some lanes of a warp do "
        "not come to it: move it to where all threads do",
        "trap": f"{what}: the kernel ended itself",
        "bad target": f"{what} goes to {address:#x}, where no instruction is",
        "no texture": f"{what} is given {address:#x}, which is no handle of this kind",
        "no mbarrier": f"{what} is of an mbarrier that nobody has set up (mbarrier.init)",
        "bad count": f"{what} sets an mbarrier up for a number of arrivals that is not from 1 to "
        f"{(1 << 20) - 1}",
        "no registers": f"{what} takes more registers than the warps of its block have given back "
        f"(setmaxnreg.dec), of which {address} are left for each thread",
        "outside a surface": f"{what} accesses a place outside of the surface",
        "left code": f"execution ran past the last of {len(function.instructions)} instructions "
        f"of {INSTRUCTION_BYTES} bytes",
    }[kind]
    kind = _NAMED_OTHERWISE.get(kind, kind)
    return fault_at(user_line(instruction.location), kind, message, *where)


def _where(address: int, memory: AddressSpace) -> str:
    """Describe an address by its offset from the nearest buffer."""
    near = min(memory.allocations, key=lambda a: abs(address - a.base), default=None)
    if near is None or abs(address - near.base) > 1 << 36:
        return f"address {address:#x}, where there is no buffer"
    return f"byte {address - near.base} of {near.name}, which has {near.size} bytes"
