"""The host code for states.cu: the inputs' two states, and a sample of results after each launch.

A random bit from the operating system decides for each launch which state the inputs are in. The
state is written after the cache is flushed, right before the first event, so that another stream
has no time to compute with it in advance. The positions of the sample are random, and differ
between workspaces.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pycuda.driver as cuda

from harness.backends.base import Array, Change
from harness.backends.cuda.memory import Allocation
from harness.cases import Device
from harness.compiler import compile as compiler
from harness.compiler.compile import Unit

SOURCE = Path(__file__).with_suffix(".cu")
SAMPLES = 1024
"""The number of positions that are sampled, over all results together."""
MOST_LAUNCHES = 4096
"""The most launches in a batch."""
KERNELS = 2
"""The number of kernels that sampling adds to each launch."""
_THREADS = 256
_TRIES = 9
_PLACE = np.dtype([("at", "u8"), ("bytes", "u8")])


class StateKernels:
    """The kernels of states.cu on one stream."""

    def __init__(self, stream: Any, device: Device) -> None:
        self.stream = stream
        built = compiler.build(Unit(SOURCE, (), (), device.arch))
        self._module = cuda.module_from_file(str(built.loaded_by(device)))
        self.set = self._module.get_function("set_state").prepare("PPII")
        self.keep = self._module.get_function("keep_sample").prepare("PPI")
        self.compare = self._module.get_function("compare_sample").prepare("PPIP")
        # Load their code now: loading would make a held stream wait.
        for kernel, arguments in ((self.set, (0, 0, 0, 0)), (self.keep, (0, 0, 0)),
                                  (self.compare, (0, 0, 0, 0))):  # fmt: skip
            kernel.prepared_async_call((1, 1), (1, 1, 1), stream, *arguments)
        stream.synchronize()


class States:
    """Puts a workspace's inputs into the other state, and back; does nothing if only one state was
    verified.
    """

    def __init__(
        self, kernels: StateKernels, memory: Mapping[str, Allocation],
        own: Mapping[str, Array], changes: Mapping[str, Change],
    ) -> None:  # fmt: skip
        self._kernels = kernels
        places, values = [], []
        for name, (where, others) in changes.items():
            size = others.dtype.itemsize
            places.append(_places(memory[name].address, size, where))
            values.append(np.stack([_bits(own[name][where]), _bits(others)]))
        self._count = sum(map(len, places))
        self._memory = (
            [cuda.to_device(np.concatenate(places)), cuda.to_device(np.hstack(values))]
            if self._count else []
        )  # fmt: skip

    @property
    def kernels(self) -> int:
        """The number of kernels that a change of state launches."""
        return int(bool(self._memory))

    def draw(self) -> bool:
        """Choose the state for the next launch at random; return whether it is the other one."""
        return bool(self._memory) and bool(secrets.randbits(1))

    def enter(self, is_other: bool) -> None:
        """Enqueue the change of the inputs to a state."""
        if self._memory:
            self._kernels.set.prepared_async_call(
                (-(-self._count // _THREADS), 1), (_THREADS, 1, 1), self._kernels.stream,
                *self._memory, int(is_other), self._count,
            )  # fmt: skip

    def free(self) -> None:
        for each in self._memory:
            each.free()
        self._memory = []


class Samples:
    """A sample of the results at random positions, taken at a launch's end, and whether it changes
    later."""

    def __init__(self, kernels: StateKernels, results: Sequence[Allocation]) -> None:
        self._kernels = kernels
        rng = np.random.default_rng(secrets.randbits(128))
        places = []
        for memory in results:
            size = memory.buffer.nbytes // memory.buffer.count
            most = max(1, SAMPLES // len(results))
            every = memory.buffer.count <= most
            where = (
                np.arange(memory.buffer.count) if every
                else rng.integers(0, memory.buffer.count, most)
            )  # fmt: skip
            places.append(_places(memory.address, size, where))
        self._count = sum(map(len, places))
        self._memory: list[Any] = []
        if self._count:
            self._memory += [
                cuda.to_device(np.concatenate(places)),
                cuda.mem_alloc(8 * self._count),
                cuda.mem_alloc(4 * MOST_LAUNCHES),
            ]

    def begin(self, launches: int) -> None:
        """Enqueue a reset of this many launches' marks to "not changed later"."""
        if launches > MOST_LAUNCHES:
            raise ValueError(f"more than {MOST_LAUNCHES} launches at once")
        if self._memory:
            cuda.memset_d32_async(int(self._memory[2]), 0, launches, self._kernels.stream)

    def keep(self) -> None:
        """Enqueue a copy of the sample, right after a launch."""
        if self._memory:
            places, kept, _ = self._memory
            self._kernels.keep.prepared_async_call(
                (1, 1), (_THREADS, 1, 1), self._kernels.stream, places, kept, self._count
            )

    def compare(self, launch: int) -> None:
        """Enqueue a comparison of the results with the launch's sample; call it when the device is
        idle."""
        if self._memory:
            places, kept, changed = self._memory
            self._kernels.compare.prepared_async_call(
                (1, 1), (_THREADS, 1, 1), self._kernels.stream,
                places, kept, self._count, int(changed) + 4 * launch,
            )  # fmt: skip

    def late(self, launches: int) -> set[int]:
        """The indices of launches whose results changed after they had finished."""
        if not self._memory:
            return set()
        self._kernels.stream.synchronize()
        changed = cuda.from_device(self._memory[2], (launches,), np.uint32)
        return set(map(int, np.flatnonzero(changed)))

    def free(self) -> None:
        for each in self._memory:
            each.free()
        self._memory = []


class Idle:
    """The time for which the device keeps working after the end of a stream."""

    def __init__(self, stream: Any) -> None:
        self._for_nothing = 0.0
        stream.synchronize()
        self._for_nothing = median(self.wait_ns() for _ in range(_TRIES))

    def wait_ns(self) -> float:
        """Wait until the device is idle; return how much longer this took than on an idle device,
        in ns."""
        began = time.perf_counter_ns()
        cuda.Context.synchronize()
        return time.perf_counter_ns() - began - self._for_nothing


def _places(start: int, size: int, where: Array) -> Array:
    found = np.zeros(len(where), _PLACE)
    found["at"] = start + size * where.astype(np.uint64)
    found["bytes"] = size
    return found


def _bits(values: Array) -> Array:
    """Return the bits of each number as the low part of a 64-bit integer."""
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").astype(np.uint64)
