"""Messages for memory faults: bounds, alignment, uninitialised values, stacks, textures."""

from __future__ import annotations

from harness.emulator.engine.fault_messages.places import VERBS, Place
from harness.emulator.memory.address_space import SLOT_BITS
from harness.emulator.memory.textures import FIRST_HANDLE
from harness.emulator.program.allocation import STACK_BYTES
from harness.emulator.program.decode.textures import SHAPES


def outside(
    p: Place, _: int, verb: int, width: int, at: int, memory: int, size: int
) -> str:  # fmt: skip
    what = f"{VERBS[verb]} of {width} bytes at offset {at} of {p.name(memory)}"
    return f"{what}, which has {size} bytes"


def misaligned(
    p: Place, own: int, verb: int, width: int, at: int, memory: int, _size: int
) -> str:  # fmt: skip
    what = f"{VERBS[verb]} of {width} bytes at {p.position(at, memory, own)}"
    return f"{what}, which is not a multiple of {width}"


def _nearest(p: Place, address: int) -> int:
    """The number of the buffer in whose part of the address space the address lies, or else of the
    first or last buffer."""
    return min(max((address >> SLOT_BITS) - 1, 0), len(p.memory.allocations) - 1)


def outside_buffers(p: Place, _: int, verb: int, width: int, address: int) -> str:
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


def misaligned_in_buffer(p: Place, _: int, verb: int, width: int, address: int) -> str:
    buffer = p.memory.allocations[_nearest(p, address)]
    return (
        f"{VERBS[verb]} of {width} bytes at {buffer.position(address - buffer.base)}, which"
        f" is not a multiple of {width}"
    )


def read_only(p: Place, _: int, verb: int, width: int, address: int) -> str:
    name = p.memory.allocations[_nearest(p, address)].name
    return f"{VERBS[verb]} of {width} bytes in {name}, which is read-only"


def matrix_row(_: Place, __: int, at: int) -> str:
    return f"a matrix row at offset {at}, which is not a multiple of 16"


def never_written(p: Place, own: int, at: int, user: int, size: int, memory: int) -> str:
    return (
        f"read of {size} bytes at {p.position(at, memory, own)}, which nothing has written; "
        f"it is used in line {p.line(user, own)}"
    )


def unset(p: Place, _: int, _at: int, _user: int, slot: int) -> str:
    return f"use of register `{p.program.registers[slot].name}`, which nothing has written"


def stack(p: Place, site: int, size: int) -> str:
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


def _held(p: Place, handle: int) -> str:
    """Describe a handle by the name of its argument."""
    number = handle - FIRST_HANDLE
    if not 0 <= number < len(p.memory.textures):
        return f"{handle & (1 << 64) - 1:#x}, which is no texture or surface of the launch"
    label, held = p.memory.textures[number]
    return f"{label}, which is a {held.what.kind} {type(held.what).__name__.lower()}"


def not_a_texture(p: Place, site: int, handle: int) -> str:
    return f"`{p.program.sites[site].opcode}` of {_held(p, handle)}"


def beyond_surface(p: Place, site: int, handle: int, *at: int) -> str:
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
