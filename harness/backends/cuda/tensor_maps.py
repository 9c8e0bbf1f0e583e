"""Have the driver encode tensor maps; PyCUDA has no function for this."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from harness.errors import LaunchError
from harness.silicon.tensor_maps import (
    ELEMENTS,
    FILLS,
    INTERLEAVES,
    L2_PROMOTIONS,
    SWIZZLES,
    TensorLayout,
)

BYTES, _ALIGNMENT = 128, 64
_DRIVER, _ENCODE = "libcuda.so.1", "cuTensorMapEncodeTiled"


def encoded(layout: TensorLayout, address: int) -> bytes:
    """The 128 bytes of a CUtensorMap. Raises LaunchError if the driver rejects the layout."""
    status, found = encode(layout, address)
    if status:
        raise LaunchError(
            f"the driver does not encode a tensor map: its error {status}\n  {layout}"
        )
    return found


def encode(layout: TensorLayout, address: int) -> tuple[int, bytes]:
    """The driver's status, 0 on success, and its output.

    A context must be current. Raises LaunchError if the driver lacks the function.
    """
    try:
        function = getattr(ctypes.CDLL(_DRIVER), _ENCODE)
    except (OSError, AttributeError) as error:
        raise LaunchError(
            f"the driver encodes no tensor maps, which it does since CUDA 12.0: {error}"
        ) from None
    room = ctypes.create_string_buffer(BYTES + _ALIGNMENT)
    first = -ctypes.addressof(room) % _ALIGNMENT
    status = function(
        ctypes.c_void_p(ctypes.addressof(room) + first),
        ctypes.c_int(list(ELEMENTS).index(layout.element)),
        ctypes.c_uint32(layout.rank),
        ctypes.c_void_p(address),
        _array(ctypes.c_uint64, layout.shape),
        _array(ctypes.c_uint64, layout.byte_strides),
        _array(ctypes.c_uint32, layout.box),
        _array(ctypes.c_uint32, layout.step_sizes),
        ctypes.c_int(INTERLEAVES.index(layout.interleave)),
        ctypes.c_int(list(SWIZZLES).index(layout.swizzle)),
        ctypes.c_int(L2_PROMOTIONS.index(layout.l2)),
        ctypes.c_int(FILLS.index(layout.fill)),
    )
    return status, room.raw[first : first + BYTES]


def _array(kind: type[ctypes.c_uint32] | type[ctypes.c_uint64], numbers: Sequence[int]) -> object:
    return (kind * max(1, len(numbers)))(*numbers)
