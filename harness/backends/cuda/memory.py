"""Buffers in device memory, each at the alignment of a plain allocation, guarded on both sides."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import pycuda.driver as cuda

from harness.backends.base import AROUND, GUARD_BYTES, PAGE, Array, poisoned
from harness.errors import OutOfMemory
from harness.problem import Buffer

GUARD = 0xA5


class Region(NamedTuple):
    """A range of device memory, in the form that watch.cu takes."""

    start: int
    nbytes: int
    is_zeroed: bool = False


class Allocation:
    """A buffer in device memory, at `address`, with `guards` before and after it."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        whole = buffer.nbytes + AROUND
        try:
            self._memory = _allocated(whole)
        except cuda.MemoryError:
            free, total = cuda.mem_get_info()
            raise OutOfMemory(
                f"`{buffer.name}` needs {buffer.nbytes:,} bytes; {free:,} of the device's "
                f"{total:,} are free\n  choose a smaller size"
            ) from None
        first = int(self._memory)
        self.address = -(-(first + GUARD_BYTES) // PAGE) * PAGE
        after = self.address + buffer.nbytes
        self.region = Region(self.address, buffer.nbytes, buffer.role == "zeroed")
        self.guards = (
            Region(first, self.address - first),
            Region(after, first + whole - after),
        )
        self.restore_guards()

    def restore_guards(self) -> None:
        for guard in self.guards:
            cuda.memset_d8(guard.start, GUARD, guard.nbytes)

    def upload(self, contents: Array) -> None:
        cuda.memcpy_htod(self.address, contents)

    def download(self) -> Array:
        host = poisoned(self.buffer)
        cuda.memcpy_dtoh(host, self.address)
        return host

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Describe the memory to torch as bytes, regardless of its type, so that torch can use
        it."""
        return {
            "shape": (self.buffer.nbytes,),
            "typestr": "|u1",
            "data": (self.address, False),
            "version": 3,
        }

    def free(self) -> None:
        self._memory.free()


def _allocated(nbytes: int) -> Any:
    """Allocate device memory; if there is too little, first release what torch caches."""
    try:
        return cuda.mem_alloc(nbytes)
    except cuda.MemoryError:
        if torch := sys.modules.get("torch"):
            torch.cuda.empty_cache()
        return cuda.mem_alloc(nbytes)
