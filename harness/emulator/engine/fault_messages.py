"""The wording of a fault: the numbers of the judge's verdict become a kind and a message."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.emulator.engine import copy_messages, layout
from harness.emulator.engine.faults import VERBS, Launched, Place, index_of
from harness.emulator.memory.address_space import SLOT_BITS
from harness.emulator.memory.textures import FIRST_HANDLE
from harness.emulator.program.allocation import STACK_BYTES
from harness.emulator.program.decode.textures import SHAPES
from harness.emulator.program.ir import Trap
from harness.emulator.results.remarks import Remark
from harness.silicon.architectures import WARP_SIZE

_HAZARDS = {
    layout.READ_AFTER_WRITE: "read after write", layout.WRITE_AFTER_WRITE: "write after write",
    layout.WRITE_AFTER_READ: "write after read", layout.ATOMIC_AFTER_WRITE: "atomic after write",
    layout.ATOMIC_AFTER_ATOMIC: "atomic after atomic",
}  # fmt: skip


def told(what: int, site: int, details: Sequence[int], place: Launched) -> tuple[str, str]:
    """The kind of a fault and its message. `what` is a value of the enum `What` in
    `machine/interface.h`."""
    kind, words = _VERDICTS[what]
    return kind, words(place, site, *details)


# --- memory -----------------------------------------------------------------------------------


def _outside(
    p: Place, _: int, verb: int, width: int, at: int, memory: int, size: int
) -> str:  # fmt: skip
    what = f"{VERBS[verb]} of {width} bytes at offset {at} of {p.name(memory)}"
    return f"{what}, which has {size} bytes"


def _misaligned(
    p: Place, own: int, verb: int, width: int, at: int, memory: int, _size: int
) -> str:  # fmt: skip
    what = f"{VERBS[verb]} of {width} bytes at {p.position(at, memory, own)}"
    return f"{what}, which is not a multiple of {width}"


def _nearest(p: Place, address: int) -> int:
    """The buffer whose part of the address space contains it or is next to it."""
    return min(max((address >> SLOT_BITS) - 1, 0), len(p.memory.allocations) - 1)


def _outside_buffers(p: Place, _: int, verb: int, width: int, address: int) -> str:
    what = f"{VERBS[verb]} of {width} bytes"
    shown = f"{address & (1 << 64) - 1:#x}"
    if not p.memory.allocations:
        return f"{what} at {shown}, and the launch has no buffer"
    if 0 <= address < 1 << 16:
        return f"{what} at {shown}: a null pointer"
    buffer = p.memory.allocations[_nearest(p, address)]
    offset = address - buffer.base
    if offset < 0:
        where = f"at {-offset} bytes before {buffer.name}"
    elif offset + width > buffer.size and offset < buffer.size:
        where = f"across the end of {buffer.name}"
    else:
        where = f"at {offset - buffer.size} bytes past the end of {buffer.name}"
    return f"{what} {where} ({buffer.size} bytes)"


def _misaligned_in_buffer(p: Place, _: int, verb: int, width: int, address: int) -> str:
    buffer = p.memory.allocations[_nearest(p, address)]
    return (
        f"{VERBS[verb]} of {width} bytes at {buffer.position(address - buffer.base)}, which"
        f" is not a multiple of {width}"
    )


def _read_only(p: Place, _: int, verb: int, width: int, address: int) -> str:
    name = p.memory.allocations[_nearest(p, address)].name
    return f"{VERBS[verb]} of {width} bytes in {name}, which is read-only"


# --- races ------------------------------------------------------------------------------------


def _race(
    p: Launched, own: int, hazard: int, width: int, at: int, memory: int, block: int, thread: int,
    site: int, same_warp: int, of_a_block: int, is_volatile: int, bare: int,
    changes_nothing: int,
) -> str:  # fmt: skip
    verb = "read" if hazard == layout.WRITE_AFTER_READ else "wrote"
    if memory == layout.SHARED_MEMORY:
        missing = "__syncwarp" if same_warp else "barrier"
        end = f" with no {missing} in between"
    elif block < 0:
        end = ", with no barrier in between"
    else:
        end = ", and nothing orders the two blocks"
    if of_a_block:
        end += (
            ": what is atomic for a block alone is not so between blocks; use the scope of "
            "the device (atomicAdd, not atomicAdd_block; cuda::thread_scope_device)"
        )
    elif bare >= 0:
        end += (
            f": between taking the lock in line {p.line(bare, own)} and what it guards there is no "
            "fence; put __threadfence() behind it (within a block, __threadfence_block())"
        )
    elif changes_nothing:
        between = "a barrier" if block < 0 else "a flag or a launch of its own"
        end += (
            ": the write left the value that was there, as it would not with other data; put "
            f"{between} between the two"
        )
    elif is_volatile:
        end += ": volatile orders nothing; use cuda::atomic_ref, or a fence on both sides of a flag"
    elif block >= 0:
        end += ": use atomics, or a flag with a fence on both sides, or a launch of its own"
    else:
        end += f": put {'__syncwarp()' if same_warp else '__syncthreads()'} between the two"
    return (
        f"{_HAZARDS[hazard]}: {width} bytes at {p.position(at, memory, own)}; "
        f"{p.block_of(block)}{p.thread(thread)} {verb} it in line {p.line(site, own)}{end}"
    )


def _race_at_once(
    p: Place, site: int, width: int, at: int, memory: int, block: int, thread: int
) -> str:
    return (
        f"{_HAZARDS[layout.WRITE_AFTER_WRITE]}: {width} bytes at {p.position(at, memory, site)}; "
        f"{p.block_of(block)}{p.thread(thread)} wrote it in line {p.line(site, site)} at the same "
        "time with another value: give each thread a word of its own, let one of them write, or "
        "use an atomic"
    )


# --- clusters ---------------------------------------------------------------------------------


def _no_such_block(_: Place, __: int, rank: int, blocks: int) -> str:
    return f"shared memory of the block with rank {rank} in a cluster of {blocks}"


def _block_has_left(p: Place, _: int, verb: int, width: int, at: int, block: int) -> str:
    return (
        f"{VERBS[verb]} of {width} bytes at offset {at} of the shared memory of block "
        f"{index_of(block, p.grid)}, all of whose threads have left the kernel: wait for each "
        "other (cluster.sync()) before a block ends that others still use"
    )


def _block_may_leave(p: Place, _: int, block: int) -> str:
    return (
        f"block {index_of(block, p.grid)} leaves the kernel without knowing that this access to "
        "its shared memory is over: wait for each other (cluster.sync()) after the last one"
    )


def _arrived_twice(_: Place, __: int) -> str:
    return (
        "a thread arrives at the cluster's barrier again before it has waited "
        "(barrier.cluster.wait)"
    )


def _not_arrived(_: Place, __: int) -> str:
    return "a thread waits at the cluster's barrier without barrier.cluster.arrive before"


# --- values that nothing wrote ----------------------------------------------------------------


def _never_written(p: Place, own: int, at: int, user: int, size: int, memory: int) -> str:
    return (
        f"read of {size} bytes at {p.position(at, memory, own)}, which nothing has written; "
        f"it is used in line {p.line(user, own)}"
    )


def _unset(p: Place, _: int, _at: int, _user: int, slot: int) -> str:
    return f"use of register `{p.program.registers[slot].name}`, which nothing has written"


def _absent_lane(p: Place, own: int, lane: int, user: int) -> str:
    used = p.line(user, own)
    return f"shuffle from lane {lane}, which does not take part; it is used in line {used}"


# --- warps and barriers -----------------------------------------------------------------------


def _lane_missed(_: Place, __: int, lane: int) -> str:
    return (
        f"the mask of an instruction of a warp names lane {lane}, which is at a barrier of the "
        "block instead"
    )


def _lane_not_named(_: Place, __: int, lane: int, mask: int) -> str:
    return (
        f"lane {lane} executes an instruction of its warp whose mask 0x{mask:08x} does not name it"
    )


def _barriers_apart(p: Place, own: int, one: int, here: int, there: int, other: int) -> str:
    return (
        f"threads of one block wait at different barriers: {here} in line "
        f"{p.line_of_ending(one, own)}, {there} in line {p.line_of_ending(other, own)}"
    )


def _no_such_barrier(_: Place, __: int, number: int, threads: int) -> str:
    if threads % WARP_SIZE:
        return f"a barrier of {threads} threads: they come in whole warps of {WARP_SIZE}"
    return f"barrier {number}: a block has barriers 0 to {layout.BLOCK_BARRIERS - 1}"


def _barriers_of_a_warp(_: Place, __: int, one: int, other: int) -> str:
    return (
        f"threads of a warp come together to different barriers, or with other numbers of threads: "
        f"{one} and {other}"
    )


def _barrier_left(_: Place, __: int, _number: int, waiting: int, gone: int) -> str:
    return (
        f"{waiting} threads wait at a barrier of the whole block, and {gone} have left the kernel"
    )


_MOST_PLACES = 8


def _barrier_stuck(p: Place, own: int, _number: int, *places: int) -> str:
    texts = []
    for number, barrier, count, threads in zip(*[iter(places)] * 4, strict=True):
        need = f" for {count} threads" if count else ""
        line = p.line_of_ending(number, own)
        texts.append(f"{threads} at barrier {barrier}{need} in line {line}")
    if len(texts) > _MOST_PLACES:
        texts[_MOST_PLACES:] = [f"and others at {len(texts) - _MOST_PLACES} more"]
    return "threads wait at a barrier that can never complete: " + ", ".join(texts)


def _loop_stuck(p: Place, own: int, *mbarrier: int) -> str:
    if mbarrier:
        return copy_messages.phase_stuck(p, own, *mbarrier)
    return (
        "threads wait in a loop for something that no thread does, of their block or of those "
        "that execute together with it"
    )


def _not_whole_warp(_: Place, __: int) -> str:
    return "a tensor-core instruction in a warp whose lanes are not all active"


def _matrix_row(_: Place, __: int, at: int) -> str:
    return f"a matrix row at offset {at}, which is not a multiple of 16"


# --- control flow -----------------------------------------------------------------------------


def _no_target(_: Place, __: int, index: int, count: int, _by: int, pointer: int = 0) -> str:
    if not _by:
        return f"indirect branch to entry {index} of {count}"
    if pointer == 0:
        return "a call through a null function pointer"
    return f"a call through {pointer & (1 << 64) - 1:#x}, which is no function of this module"


def _trapped(p: Place, _: int, number: int) -> str:
    terminator = p.program.blocks[number].terminator
    assert isinstance(terminator, Trap)
    return terminator.reason


def _stack(p: Place, site: int, size: int) -> str:
    callee = next(
        op.variant[0]
        for block in p.program.blocks
        for op in block.ops
        if op.name == "enter_frame" and op.site == site
    )
    if callee == "alloca":
        return f"alloca takes more than is left of a thread's stack of {STACK_BYTES} bytes"
    return (
        f"calls of `{callee}` nest too deep: a thread's stack has {STACK_BYTES} bytes, "
        f"a call of it takes {size}"
    )


# --- textures -----------------------------------------------------------------------------------


def _held(p: Place, handle: int) -> str:
    """Describe a handle by the name of its argument."""
    number = handle - FIRST_HANDLE
    if not 0 <= number < len(p.memory.textures):
        return f"{handle & (1 << 64) - 1:#x}, which is no texture or surface of the launch"
    label, held = p.memory.textures[number]
    return f"{label}, which is a {held.what.kind} {type(held.what).__name__.lower()}"


def _not_a_texture(p: Place, site: int, handle: int) -> str:
    return f"`{p.program.sites[site].opcode}` of {_held(p, handle)}"


def _beyond_surface(p: Place, site: int, handle: int, *at: int) -> str:
    *coordinates, size = at
    label, held = p.memory.textures[handle - FIRST_HANDLE]
    surface = held.what
    opcode = p.program.sites[site].opcode
    count = SHAPES[next(word for word in opcode.split(".") if word in SHAPES)]
    place = ", ".join(map(str, coordinates[:count]))
    row = surface.texels.shape[-1 - (surface.channels > 1)] * surface.channels
    return (
        f"`{opcode}` of {size} bytes at ({place}) of {label}, whose rows have "
        f"{row * surface.texels.itemsize} bytes; its texels have the shape {surface.texels.shape}"
    )


_VERDICTS: dict[int, tuple[str, Callable[..., str]]] = {
    layout.OUT_OF_BLOCK_MEMORY: ("out of bounds", _outside),
    layout.MISALIGNED_IN_BLOCK_MEMORY: ("misaligned", _misaligned),
    layout.OUT_OF_BUFFERS: ("out of bounds", _outside_buffers),
    layout.MISALIGNED_IN_BUFFER: ("misaligned", _misaligned_in_buffer),
    layout.WRITE_TO_READ_ONLY: ("read-only", _read_only),
    layout.RACE_BETWEEN: ("race", _race),
    layout.RACE_AT_ONCE: ("race", _race_at_once),
    layout.COPY_UNDER_WAY: ("race", copy_messages.under_way),
    layout.NO_PROXY_FENCE: ("race", copy_messages.no_proxy_fence),
    layout.NO_SUCH_BLOCK: ("out of bounds", _no_such_block),
    layout.BLOCK_HAS_LEFT: ("cluster", _block_has_left),
    layout.BLOCK_MAY_LEAVE: ("cluster", _block_may_leave),
    layout.ARRIVED_TWICE: ("cluster", _arrived_twice),
    layout.NOT_ARRIVED: ("cluster", _not_arrived),
    layout.NEVER_WRITTEN: ("uninitialised", _never_written),
    layout.UNSET: ("uninitialised", _unset),
    layout.ABSENT_LANE: ("warp mask", _absent_lane),
    layout.LANE_MISSED: ("warp mask", _lane_missed),
    layout.LANE_NOT_NAMED: ("warp mask", _lane_not_named),
    layout.BARRIERS_APART: ("divergent barrier", _barriers_apart),
    layout.BARRIER_LEFT: ("divergent barrier", _barrier_left),
    layout.BARRIER_STUCK: ("deadlock", _barrier_stuck),
    layout.NO_SUCH_BARRIER: ("out of bounds", _no_such_barrier),
    layout.BARRIERS_OF_A_WARP: ("divergent barrier", _barriers_of_a_warp),
    layout.LOOP_STUCK: ("deadlock", _loop_stuck),
    layout.NO_TARGET: ("out of bounds", _no_target),
    layout.TRAPPED: ("trap", _trapped),
    layout.STACK_USED_UP: ("stack overflow", _stack),
    layout.NOT_WHOLE_WARP: ("divergence", _not_whole_warp),
    layout.MISALIGNED_MATRIX_ROW: ("misaligned", _matrix_row),
    layout.TOO_MANY_ARRIVALS: ("mbarrier", copy_messages.too_many_arrivals),
    layout.NOT_A_COUNT: ("mbarrier", copy_messages.not_a_count),
    layout.REGISTERS_USED_UP: ("deadlock", copy_messages.registers_used_up),
    layout.COPIED_IN_PART: ("misaligned", copy_messages.copied_in_part),
    layout.NOT_A_TENSOR_MAP: ("tensor map", copy_messages.not_a_tensor_map),
    layout.OTHER_TENSOR_MAP: ("tensor map", copy_messages.other_tensor_map),
    layout.NO_REDUCTION_OF_TYPE: ("tensor map", copy_messages.no_reduction_of_type),
    layout.PRODUCT_NOT_AWAITED: ("wgmma", copy_messages.product_not_awaited),
    layout.PRODUCT_NOT_FENCED: ("wgmma", copy_messages.product_not_fenced),
    layout.NOT_A_TEXTURE: ("out of bounds", _not_a_texture),
    layout.BEYOND_SURFACE: ("out of bounds", _beyond_surface),
}


_UNORDERED = {
    layout.CHANGES_NOTHING: (
        "a write that changes nothing, and a read of the same word in line {} that nothing orders "
        "with it"
    ),
    layout.VOLATILE_FLAG: (
        "volatile accesses here and in line {} meet at a flag, and nothing orders them: volatile "
        "orders nothing between threads; cuda::atomic_ref does"
    ),
}


def remarks(let_pass: Sequence[int], place: Place) -> list[Remark]:
    """Accesses that were permitted although nothing orders them, each with the other line.

    Several instructions on one line, as in an unrolled loop, count as one. So do two lines that
    meet at a flag, in either order.
    """
    times: dict[tuple[int, str, int, str], int] = {}
    for why, first, second, count in sorted(zip(*[iter(let_pass)] * 4, strict=True)):
        key, other = _met(place, why, first, second), _met(place, why, second, first)
        if why == layout.VOLATILE_FLAG and other in times:
            key = other
        times[key] = times.get(key, 0) + count
    return [Remark(_UNORDERED[why].format(second), file, line, count)
            for (why, file, line, second), count in times.items()]  # fmt: skip


def _met(place: Place, why: int, first: int, second: int) -> tuple[int, str, int, str]:
    location = place.program.sites[first].location
    file, line = (location.file, location.line) if location else ("", 0)
    return why, file, line, place.line(second, beside=first)
