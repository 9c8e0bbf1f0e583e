"""Check and pack a launch's arguments before anything runs; each error message says what is
expected.

Arguments are packed as the driver packs them: one parameter after another, each at its alignment.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.errors import LaunchError, shown
from harness.emulator.memory.address_space import (
    MAX_ALLOCATIONS,
    SLOT_BITS,
    AddressSpace,
    Allocation,
)
from harness.emulator.memory.grid_workspace import WORKSPACE
from harness.emulator.memory.structs import pack_struct
from harness.emulator.memory.tensor_maps import TensorMap
from harness.emulator.memory.textures import FIRST_HANDLE, Surface, Texture
from harness.emulator.program.analysis.written_buffers import ANYWHERE, written_buffers
from harness.emulator.program.ir import Program
from harness.emulator.program.tensor_map_fields import ADDRESS_AT
from harness.emulator.program.tensor_map_fields import BYTES as MAP_BYTES
from harness.emulator.ptx.syntax import TYPE_SIZES, Kernel, Module, Param

Array = NDArray[Any]
Dim3 = tuple[int, int, int]
MOST_BYTES = 1 << (SLOT_BITS - 1)  # limit for one array
PARAMETERS = "kernel parameters"


def check_module(module: Any, kernel: Any) -> None:
    if not isinstance(module, Module):
        raise LaunchError(f"the module is {shown(module)}; pass what parse() returns")
    if not isinstance(kernel, str):
        raise LaunchError(f"the kernel is {shown(kernel)}; pass its name")


def dim3(what: str, value: Any, limits: Dim3) -> Dim3:
    """Check the dimensions of a grid or block, and return all three."""
    parts = [value] if type(value) is int or isinstance(value, numbers.Integral) else value
    if not _is_list(parts) or not 1 <= len(parts) <= 3:
        raise LaunchError(f"{what} {shown(value)}: give an integer, or one to three of them")
    extents = [
        whole(f"{what}.{axis}", part, 1, limit)
        for axis, part, limit in zip("xyz", (*parts, 1, 1)[:3], limits, strict=True)
    ]
    return extents[0], extents[1], extents[2]


def whole(what: str, value: Any, least: int, most: int | None = None) -> int:
    """Check that a value is an integer within bounds, and return it."""
    if type(value) is int and least <= value and (most is None or value <= most):
        return value
    is_integer = type(value) is int or (
        isinstance(value, numbers.Integral) and not isinstance(value, bool)
    )
    if not is_integer:
        raise LaunchError(f"{what} is {shown(value)}: give an integer")
    if int(value) < least or (most is not None and int(value) > most):
        bounds = f"{least} or more" if most is None else f"from {least} to {most}"
        raise LaunchError(f"{what} is {shown(value)}: it must be {bounds}")
    return int(value)


def flag(what: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise LaunchError(f"{what} is {shown(value)}: give True or False")
    return bool(value)


def one_of(what: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        raise LaunchError(f"{what} is {shown(value)}: known are {', '.join(known)}")


def _is_list(value: Any) -> bool:
    if type(value) in (list, tuple):
        return True
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def pack(
    kernel: Kernel, args: Any, names: Sequence[str] | None, memory: AddressSpace, first: int = 0,
    buffers: Any = (),
) -> bytes:  # fmt: skip
    """Pack the parameters; place the buffers, and arrays among the parameters, in memory. `first`:
    the parameters' offset in their constant bank; they are aligned relative to the bank's start,
    and the bytes before them are zeros."""
    if not _is_list(args):
        raise LaunchError(f"args is {shown(args)}: give a list, with one entry a parameter")
    if len(args) != len(kernel.params):
        wanted = ", ".join(f"{p.name}: {p.type}" for p in kernel.params) or "none"
        raise LaunchError(
            f"kernel `{kernel.name}` takes {len(kernel.params)} arguments, {len(args)} were given; "
            f"its parameters are {wanted}"
        )
    if names is not None and (not _is_list(names) or len(names) != len(args)):
        raise LaunchError(f"names is {shown(names)}: give a list of {len(args)}, one an argument")
    packed = bytearray(first)
    placed: dict[tuple[int, int], int] = {}
    _place_buffers(buffers, memory, placed)
    for i, (param, arg) in enumerate(zip(kernel.params, args, strict=True)):
        packed += bytes(-len(packed) % param.align)
        label = f"`{names[i]}`" if names else f"argument {i} ({param.name})"
        packed += _pack(label, param, arg, memory, placed)
    memory.add(PARAMETERS, np.frombuffer(bytes(packed), np.uint8), False)
    if len(memory.allocations) > MAX_ALLOCATIONS:
        raise LaunchError(f"{len(memory.allocations)} buffers; at most {MAX_ALLOCATIONS}")
    return bytes(packed)


def _place_buffers(buffers: Any, memory: AddressSpace, placed: dict[tuple[int, int], int]) -> None:
    """Place arrays that only pointers in memory refer to, one after another."""
    if not _is_list(buffers) or not all(isinstance(each, np.ndarray) for each in buffers):
        raise LaunchError(f"buffers is {shown(buffers)}: give a list of arrays")
    for i, each in enumerate(buffers):
        known = len(memory.allocations)
        _place(f"buffer {i}", f"buffer {i}", each, memory, placed)
        if len(memory.allocations) == known:
            raise LaunchError(f"buffer {i} is given twice: it has one address")


def _pack(
    label: str, param: Param, arg: Any, memory: AddressSpace, placed: dict[tuple[int, int], int]
) -> bytes:
    where = f"{label}, a {param.type},"
    takes_address = param.size == 8 and not param.is_array and param.type[0] != "f"
    if isinstance(arg, np.ndarray):
        if not takes_address:
            raise LaunchError(f"{where} is an array, but the parameter is not a pointer")
        return _place(label, where, np.asarray(arg), memory, placed).to_bytes(8, "little")
    if isinstance(arg, (Texture, Surface)):
        if not takes_address:
            raise LaunchError(f"{where} is a texture, but the parameter is no handle")
        memory.textures.append((label, arg.described(label)))
        return (FIRST_HANDLE + len(memory.textures) - 1).to_bytes(8, "little")
    if isinstance(arg, TensorMap):
        if param.size != MAP_BYTES and not takes_address:
            raise LaunchError(
                f"{where} is a tensor map; the parameter has {param.size} bytes, not {MAP_BYTES}"
            )
        raw = arg.encoded(label, _place(label, where, arg.array, memory, placed))
        if param.size == MAP_BYTES:
            return raw
        # A pointer parameter points to a tensor map in memory, which kernels only read.
        own = memory.add(f"{label}'s map", np.frombuffer(raw, np.uint8), False)
        return own.base.to_bytes(8, "little")
    if isinstance(arg, (bytes, np.void)):
        raw = arg if isinstance(arg, bytes) else arg.tobytes()
        if len(raw) != param.size:
            raise LaunchError(f"{where} is {len(raw)} bytes; the parameter has {param.size}")
        return raw
    if isinstance(arg, (tuple, Mapping)):
        raw, _ = pack_struct(label, arg, lambda at, array: _place(at, at, array, memory, placed))
        if len(raw) != param.size:
            raise LaunchError(
                f"{where} is a struct whose members take {len(raw)} bytes; the parameter has "
                f"{param.size}"
            )
        return raw
    if param.is_array:
        raise LaunchError(
            f"{where} is a struct of {param.size} bytes; pass a tuple of its members, or bytes"
        )
    return _pack_float(where, param, arg) if param.type[0] == "f" else _pack_int(where, param, arg)


def _place(
    label: str, where: str, array: Array, memory: AddressSpace, placed: dict[tuple[int, int], int]
) -> int:
    """Place an array and return its address; an array that is passed twice is one buffer."""
    if array.dtype.hasobject:
        raise LaunchError(f"{where} holds Python objects; pass an array of numbers")
    if not array.flags.c_contiguous:
        raise LaunchError(f"{where} is not contiguous; pass np.ascontiguousarray(...)")
    if not array.dtype.isnative:
        native = f"astype({array.dtype.newbyteorder('=').str!r})"
        raise LaunchError(f"{where} has its bytes in the other order; pass it with .{native}")
    if array.nbytes > MOST_BYTES:
        raise LaunchError(f"{where} has {array.nbytes} bytes; an array has at most {MOST_BYTES}")
    address: int = array.ctypes.data
    key = (address, array.nbytes)
    if key not in placed or not array.nbytes:
        data = array.reshape(-1).view(np.uint8) if array.nbytes else np.empty(0, np.uint8)
        element = array.dtype if array.dtype.names else None
        placed[key] = memory.add(label, data, array.flags.writeable, address, element).base
    return placed[key]


def _pack_float(where: str, param: Param, arg: Any) -> bytes:
    if isinstance(arg, bool) or not isinstance(arg, numbers.Real):
        raise LaunchError(f"{where} is {shown(arg)}; pass a number")
    beyond = LaunchError(f"{where} is {shown(arg)}, which is beyond its range")
    try:
        value = float(arg)
    except OverflowError:
        raise beyond from None
    with np.errstate(over="ignore"):
        packed = np.array(value, f"f{param.size}")
    if math.isfinite(value) and not np.isfinite(packed):
        raise beyond
    return packed.tobytes()


def _pack_int(where: str, param: Param, arg: Any) -> bytes:
    if arg is None and param.size == 8:
        return bytes(8)  # a null pointer
    if type(arg) is not int and not isinstance(arg, (numbers.Integral, np.bool_)):
        pointer = ", or an array for a pointer" if param.size == 8 else ""
        raise LaunchError(f"{where} is {shown(arg)}; pass an integer{pointer}")
    # PTX does not record whether a parameter is signed, so both ranges of the width are accepted.
    bits = 8 * TYPE_SIZES[param.type]
    low, high = -(1 << (bits - 1)), (1 << bits) - 1
    if not low <= int(arg) <= high:
        raise LaunchError(f"{where} is {shown(arg)}, outside its {bits} bits ({low} to {high})")
    return (int(arg) & high).to_bytes(param.size, "little")


def written_allocations(program: Program, memory: AddressSpace, params: bytes) -> list[Allocation]:
    """The buffers that a launch may write."""
    names, offsets = program.once(_written)
    if ANYWHERE in names:
        return memory.allocations
    bases = {int.from_bytes(params[at : at + 8], "little") >> SLOT_BITS for at in offsets}
    return [a for a in memory.allocations if a.base >> SLOT_BITS in bases or a.name in names]


def _written(program: Program) -> tuple[frozenset[str], tuple[int, ...]]:
    """The names of the buffers that a kernel may write, and the offsets, within the parameters, of
    pointers to such buffers."""
    names, starts = written_buffers(program) | {WORKSPACE}, program.param_offsets()
    parts = (name.rpartition("+") for name in names)
    return names, tuple(starts[name] + int(offset) for name, _, offset in parts if name in starts)


def track_first_writes(
    program: Program, memory: AddressSpace, params: bytes, args: Sequence[Any],
    written: Mapping[int, Array] | None, buffers: Mapping[int, Array] | None = None,
) -> None:  # fmt: skip
    """Let a launch use and update maps of the bytes that have been written in some arguments'
    buffers. `buffers`: further maps, by the addresses of their buffers."""
    if not (written or buffers):
        return
    starts = list(program.param_offsets().values())
    bases = {allocation.base: allocation for allocation in memory.allocations}
    for base, known in (buffers or {}).items():
        bases[base].written = bytes_known(f"of the buffer at {base:#x}", known, bases[base].size)
    for number, known in (written or {}).items():
        given = args[number] if number in range(len(args)) else None
        array = given.array if isinstance(given, TensorMap) else given
        if not isinstance(array, np.ndarray):
            raise LaunchError(f"written names argument {shown(number)}, which is no array")
        filled = bytes_known(f"[{number}]", known, array.nbytes)
        at = starts[number]
        base = _address(params, at + ADDRESS_AT if isinstance(given, TensorMap) else at)
        if isinstance(given, TensorMap):
            base -= given.offset * array.itemsize
        bases[base].written = filled


def bytes_known(of: str, known: Any, size: int) -> Array:
    """Check a map of written bytes, and return it in the engine's form."""
    if not isinstance(known, np.ndarray) or known.dtype != np.bool_ or known.shape != (size,):
        raise LaunchError(f"written{of} is {shown(known)}: give {size} bools, one for each byte")
    if not (known.flags.c_contiguous and known.flags.writeable):
        raise LaunchError(f"written{of} must be contiguous and writeable")
    return known.view(np.uint8)


def _address(params: bytes, at: int) -> int:
    return int.from_bytes(params[at : at + 8], "little")
