"""What the cuda backend is made of: guarded memory, a held stream, a launch packed once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pycuda.driver as cuda

from harness.backends.base import POISON, Array, poisoned
from harness.build import compile as compiler
from harness.build.compile import Unit
from harness.cases import Device
from harness.errors import LaunchError
from harness.problem import Buffer

GUARD = 0xA5
GUARD_BYTES = 512
"""Before and after every buffer; a multiple of the alignment that cudaMalloc promises."""

HOLD_SECONDS = 5
FLUSH_FACTOR = 2
SOURCE = Path(__file__).with_name("stream_control.cu")


class StreamControl:
    """Holds the stream, and empties the L2 cache."""

    def __init__(self, stream: Any, device: Device) -> None:
        self.stream = stream
        built = compiler.build(Unit(SOURCE, (), (), device.arch))
        module = cuda.module_from_file(str(built.cubin))
        self._hold = module.get_function("hold_stream").prepare("PQP")
        self._write = module.get_function("write_buffer").prepare("PI")
        self._read = module.get_function("read_buffer").prepare("PIP")
        self._flag = cuda.pagelocked_zeros(2, np.uint32, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
        self._flag_pointer = self._flag.base.get_device_pointer()
        nbytes = FLUSH_FACTOR * device.l2_bytes // 16 * 16
        self._dirty, self._clean = cuda.mem_alloc(nbytes), cuda.mem_alloc(nbytes)
        cuda.memset_d8(self._clean, 0, nbytes)
        self._sink = cuda.mem_alloc(4)
        self._count = nbytes // 16
        self._grid = (8 * device.sm_count, 1)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Whatever is enqueued inside starts only after the last of it is enqueued."""
        self._flag[:] = 0
        self._hold.prepared_async_call(
            (1, 1), (1, 1, 1), self.stream,
            self._flag_pointer, HOLD_SECONDS * 10**9, self._flag_pointer + 4,
        )  # fmt: skip
        try:
            yield
        finally:
            self._flag[0] = 1
        self.stream.synchronize()
        if self._flag[1]:
            raise LaunchError(f"a batch took over {HOLD_SECONDS} s to enqueue: it was not held")

    def flush_l2(self) -> None:
        """Fill the cache with clean lines of no use: stream_control.cu says why in two steps."""
        block = (256, 1, 1)
        self._write.prepared_async_call(self._grid, block, self.stream, self._dirty, self._count)
        self._read.prepared_async_call(
            self._grid, block, self.stream, self._clean, self._count, self._sink
        )

    def close(self) -> None:
        for allocation in (self._dirty, self._clean, self._sink):
            allocation.free()


class Allocation:
    """A buffer in device memory between guard bytes. `address` is the buffer's own."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        try:
            self._memory = cuda.mem_alloc(buffer.nbytes + 2 * GUARD_BYTES)
        except cuda.MemoryError:
            free, total = cuda.mem_get_info()
            raise LaunchError(
                f"`{buffer.name}` needs {buffer.nbytes:,} bytes; {free:,} of the device's "
                f"{total:,} are free\n  choose a smaller size"
            ) from None
        self.address = int(self._memory) + GUARD_BYTES
        cuda.memset_d8(int(self._memory), GUARD, GUARD_BYTES)
        cuda.memset_d8(self.address + buffer.nbytes, GUARD, GUARD_BYTES)

    def poison(self) -> None:
        cuda.memset_d8(
            self.address, 0 if self.buffer.role == "zeroed" else POISON, self.buffer.nbytes
        )

    def download(self) -> Array:
        host = poisoned(self.buffer)
        cuda.memcpy_dtoh(host, self.address)
        return host

    def broken_guard(self) -> str:
        """What stands in the guard bytes that should not, or nothing."""
        for where, at in (("before", int(self._memory)),
                          ("after", self.address + self.buffer.nbytes)):  # fmt: skip
            guard = np.zeros(GUARD_BYTES, np.uint8)
            cuda.memcpy_dtoh(guard, at)
            if np.any(guard != GUARD):
                cuda.memset_d8(at, GUARD, GUARD_BYTES)
                return f"a kernel wrote {where} the buffer `{self.buffer.name}`"
        return ""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """So that torch computes in the same memory."""
        return {
            "shape": (self.buffer.count,),
            "typestr": np.dtype(self.buffer.dtype).str,
            "data": (self.address, False),
            "version": 3,
        }

    def free(self) -> None:
        self._memory.free()


class Launch:
    """One step, its arguments packed once."""

    def __init__(
        self,
        function: Any,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
        stream: Any,
        arguments: Sequence[Any],
    ) -> None:
        self._function, self._grid, self._block = function, grid, block
        self._shared, self._stream, self._arguments = shared_bytes, stream, arguments

    def __call__(self) -> None:
        self._function.prepared_async_call(
            self._grid, self._block, self._stream, *self._arguments, shared_size=self._shared
        )
