"""A record of which bytes of a launch's buffers have been written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.errors import LaunchError
from harness.emulator.memory.address_space import AddressSpace
from harness.emulator.memory.arguments import bytes_known
from harness.emulator.memory.tensor_maps import TensorMap
from harness.emulator.sass.code import Function

Array = NDArray[Any]
Maps = Mapping[int, Array]

_WRITE_UNSEEN = frozenset({"UBLKCP", "UBLKRED", "UTMASTG", "UTMAREDG", "SUST", "SURED"})
"""Instructions whose writes to global memory the maps do not record."""


def maps(
    args: Sequence[Any], buffers: Sequence[Array], of_args: Maps | None,
    of_buffers: Maps | None,
) -> Maps:  # fmt: skip
    """The maps of written bytes, by the addresses of their arrays in this process."""
    found = {}
    for given, known, what in ((args, of_args, "argument"), (buffers, of_buffers, "buffer")):
        for number, map_ in (known or {}).items():
            array = given[number] if number in range(len(given)) else None
            array = array.array if isinstance(array, TensorMap) else array
            if not isinstance(array, np.ndarray):
                raise LaunchError(f"written names {what} {number}, which is no array")
            found[array.ctypes.data] = bytes_known(f"[{number}]", map_, array.nbytes)
    return found


def are_writes_seen(function: Function) -> bool:
    """Return whether the maps can record every write of the kernel."""
    return _WRITE_UNSEEN.isdisjoint(function.opcodes)


def track(memory: AddressSpace, known: Maps) -> None:
    """Let the launch use and update the maps."""
    for allocation in memory.allocations:
        allocation.written = known.get(allocation.address)


def forget_unseen(memory: AddressSpace, known: Maps) -> None:
    """After a launch, mark all bytes as possibly written in the maps that the launch did not
    use."""
    followed = {id(each.written) for each in memory.allocations}
    for map_ in known.values():
        if id(map_) not in followed:
            map_[:] = 1
