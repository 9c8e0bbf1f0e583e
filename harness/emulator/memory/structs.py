"""Structs passed by value, with members laid out as a C compiler does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.errors import LaunchError, shown
from harness.emulator.memory.tensor_maps import ALIGNMENT, TensorMap

POINTER_BYTES = 8
MOST_NESTED = 16
Place = Callable[[str, NDArray[Any]], int]


def pack_struct(label: str, members: Any, place: Place, nested: int = 0) -> tuple[bytes, int]:
    """Pack a struct; return its bytes and its alignment.

    A member is an array (for a pointer: `place` gives its address), None for a null pointer, a
    NumPy scalar of the member's own type, or, for a nested struct or array, a tuple; a mapping
    gives members by name, in their order.
    """
    if nested > MOST_NESTED:
        raise LaunchError(f"{label}: more than {MOST_NESTED} structs within one another")
    named = members.items() if isinstance(members, Mapping) else enumerate(members)
    packed, widest = bytearray(), 1
    for name, member in named:
        raw, align = _member(f"{label}, member {name}", member, place, nested)
        packed += bytes(-len(packed) % align) + raw
        widest = max(widest, align)
    packed += bytes(-len(packed) % widest)
    return bytes(packed), widest


def _member(where: str, member: Any, place: Place, nested: int) -> tuple[bytes, int]:
    if isinstance(member, (tuple, Mapping)):
        return pack_struct(where, member, place, nested + 1)
    if isinstance(member, np.ndarray):
        return place(where, member).to_bytes(POINTER_BYTES, "little"), POINTER_BYTES
    if isinstance(member, TensorMap):
        return member.encoded(where, place(where, member.array)), ALIGNMENT
    if member is None:
        return bytes(POINTER_BYTES), POINTER_BYTES
    if isinstance(member, np.generic) and not member.dtype.hasobject and member.dtype.isnative:
        return member.tobytes(), member.dtype.alignment
    raise LaunchError(
        f"{where}, is {shown(member)}; pass an array for a pointer, a NumPy scalar such as "
        "np.int32(1) for a number, or a tuple for a struct or array within"
    )
