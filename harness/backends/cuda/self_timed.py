"""Measure how much longer two events around a kernel take than the kernel itself
(statistics/event_cost.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pycuda.driver as cuda

from harness.backends.cuda.launch_phase import empty_kernels
from harness.backends.cuda.stream import StreamControl
from harness.cases import Device
from harness.compiler import compile as compiler
from harness.compiler.compile import Unit
from harness.journal.records import Cache

SOURCE = Path(__file__).with_suffix(".cu")
VALUES_BYTES = 2**22
"""The bytes that the kernel reads, chosen so that it takes a few microseconds, like the kernels for
which the cost matters."""
BLOCKS_PER_SM, THREADS = 8, 256
_KERNELS: dict[Cache, int] = {"cold": 4, "warm": 3}
"""The number of kernels enqueued per launch: the one that holds the stream, the two of the flush or
a warm-up, and the kernel itself."""


class SelfTimed:
    """The kernel that times itself, and its memory."""

    def __init__(self, stream: Any, control: StreamControl, device: Device) -> None:
        self._stream, self._control = stream, control
        built = compiler.build(Unit(SOURCE, (), (), device.arch))
        self._module = cuda.module_from_file(str(built.loaded_by(device)))
        self._kernel = self._module.get_function("read_and_time").prepare("PPIP")
        self._blocks = BLOCKS_PER_SM * device.sm_count
        self._marks = np.zeros((self._blocks, 2), np.uint64)

    def beyond(self, cache: Cache, launches: int) -> tuple[float, ...]:
        """Return, for each launch, by how many ns the events' interval exceeds the kernel's own
        time. A first launch, which loads the code, is not included."""
        memory = [cuda.mem_alloc(n) for n in (self._marks.nbytes, VALUES_BYTES, 4)]
        try:
            cuda.memset_d8(memory[1], 0, VALUES_BYTES)
            self._launch(memory)
            self._stream.synchronize()
            found = []
            for number in range(launches + 1):
                self._control.pass_turns(empty_kernels(number, _KERNELS[cache]))
                found.append(self._timed(memory, cache))
            return tuple(found[1:])
        finally:
            for each in memory:
                each.free()

    def _launch(self, memory: list[Any]) -> None:
        marks, values, sink = memory
        self._kernel.prepared_async_call(
            (self._blocks, 1), (THREADS, 1, 1), self._stream,
            marks, values, VALUES_BYTES // 16, sink,
        )  # fmt: skip

    def _timed(self, memory: list[Any], cache: Cache) -> float:
        before, after = cuda.Event(), cuda.Event()
        with self._control.held():
            if cache == "warm":
                self._launch(memory)
            else:
                self._control.flush_l2()
            before.record(self._stream)
            self._launch(memory)
            after.record(self._stream)
        cuda.memcpy_dtoh(self._marks, memory[0])
        says = int(self._marks[:, 1].max()) - int(self._marks[:, 0].min())
        return 1e6 * after.time_since(before) - says
