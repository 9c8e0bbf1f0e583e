"""The stream on which everything runs. It can be held while launches are enqueued, and flushes the
L2 cache."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pycuda.driver as cuda

from harness.backends.base import FLUSH_FACTOR
from harness.cases import Device, Flush
from harness.compiler import compile as compiler
from harness.compiler.compile import Unit
from harness.errors import LaunchError

HOLD_SECONDS = 5
SOURCE = Path(__file__).with_name("stream_control.cu")


class NotHeldError(LaunchError):
    """Raised if the code to be enqueued itself waits for the device, so that a launch cannot be
    enqueued in advance.
    """


class StreamControl:
    """Holds the stream, and flushes the L2 cache."""

    def __init__(self, stream: Any, device: Device) -> None:
        self.stream = stream
        built = compiler.build(Unit(SOURCE, (), (), device.arch))
        module = cuda.module_from_file(str(built.loaded_by(device)))
        self._hold = module.get_function("hold_stream").prepare("PQP")
        self._pass = module.get_function("pass_turn").prepare("")
        self._write = module.get_function("write_buffer").prepare("PI")
        self._read = module.get_function("read_buffer").prepare("PIP")
        self._flag = cuda.pagelocked_zeros(2, np.uint32, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
        self._flag_pointer = self._flag.base.get_device_pointer()
        self._l2_words = device.l2_bytes // 4
        nbytes = FLUSH_FACTOR * device.l2_bytes // 16 * 16
        self._dirty, self._clean = cuda.mem_alloc(nbytes), cuda.mem_alloc(nbytes)
        cuda.memset_d8(self._clean, 0, nbytes)
        self._sink = cuda.mem_alloc(4)
        self._count = nbytes // 16
        self._grid = (8 * device.sm_count, 1)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the stream until all work of the `with` block is enqueued; then wait for that work
        to end.

        Enqueue one timed launch at a time. A launch that has a dozen others queued behind it takes
        up to a microsecond longer than the last launches in the queue, whatever it computes.
        """
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
            raise NotHeldError(f"it took over {HOLD_SECONDS} s to enqueue: it was not held")

    def pass_turns(self, number: int) -> None:
        """Enqueue this many empty kernels (launch_phase.py says why)."""
        for _ in range(number):
            self._pass.prepared_async_call((1, 1), (1, 1, 1), self.stream)

    def flush_l2(self, how: Flush = "clean") -> None:
        """Flush the L2 cache; stream_control.cu explains why this takes two steps."""
        if how == "dirty":
            cuda.memset_d32_async(int(self._dirty), 0, self._l2_words, self.stream)
            return
        block = (256, 1, 1)
        self._write.prepared_async_call(self._grid, block, self.stream, self._dirty, self._count)
        self._read.prepared_async_call(
            self._grid, block, self.stream, self._clean, self._count, self._sink
        )

    def close(self) -> None:
        for allocation in (self._dirty, self._clean, self._sink):
            allocation.free()
