"""Fill, hash and compare device memory: the host code for watch.cu."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pycuda.driver as cuda

from harness.backends.base import Array
from harness.backends.cuda.memory import Allocation, Region
from harness.cases import Device
from harness.compiler import compile as compiler
from harness.compiler.compile import Unit

SOURCE = Path(__file__).with_name("watch.cu")

_BLOCK = (256, 1, 1)
_MOST_HASHES = 8192
_REGION = np.dtype([("start", "u8"), ("bytes", "u8"), ("is_zeroed", "u4"), ("unused", "u4")])
_JUDGED = np.dtype([("wrong", "u4"), ("worst", "f4")])


class Regions:
    """Several ranges of memory, whose description is uploaded once; empty ranges are left out."""

    def __init__(self, regions: Sequence[Region]) -> None:
        self.count = len(regions)
        table = np.array([(*region, 0) for region in regions], _REGION)
        self.table = cuda.to_device(table) if self.count else None
        self.nbytes = sum(region.nbytes for region in regions)

    def free(self) -> None:
        if self.table is not None:
            self.table.free()


class Watch:
    """The kernels of watch.cu on one stream."""

    def __init__(self, stream: Any, device: Device) -> None:
        self._stream = stream
        built = compiler.build(Unit(SOURCE, (), (), device.arch))
        self._module = cuda.module_from_file(str(built.loaded_by(device)))
        self._fill = self._module.get_function("fill_regions").prepare("PI")
        self._hash = self._module.get_function("hash_regions").prepare("PP")
        self._noise = self._module.get_function("fill_noise").prepare("PQ")
        self._most_blocks = 8 * device.sm_count
        self._hashes = cuda.mem_alloc(8 * _MOST_HASHES)
        self._host = cuda.pagelocked_zeros(_MOST_HASHES, np.uint64)
        self._used, self._rows = 0, list[int]()
        self._judged = cuda.mem_alloc(_JUDGED.itemsize)

    def fill(self, regions: Regions, pattern: int) -> None:
        """Enqueue a fill of every region with the pattern, or with zeros if the region must be
        zero."""
        if regions.count:
            self._fill.prepared_async_call(
                self._grid(regions), _BLOCK, self._stream, regions.table, pattern
            )

    def note(self, regions: Regions) -> None:
        """Enqueue a hash of each region; the next call of `noted` returns the hashes."""
        if not regions.count:
            self._rows.append(0)
            return
        if self._used + regions.count > _MOST_HASHES:
            raise ValueError(f"more than {_MOST_HASHES} hashes at once")
        at = int(self._hashes) + 8 * self._used
        cuda.memset_d32_async(at, 0, 2 * regions.count, self._stream)
        self._hash.prepared_async_call(self._grid(regions), _BLOCK, self._stream, regions.table, at)
        self._used += regions.count
        self._rows.append(regions.count)

    def forget(self) -> None:
        """Discard the most recent hashes, which belong to a launch that is not part of the
        batch."""
        self._used -= self._rows.pop()

    def noted(self) -> list[tuple[int, ...]]:
        """Return the hashes noted since the last call, in order."""
        if self._used:
            cuda.memcpy_dtoh_async(self._host, self._hashes, self._stream)
        self._stream.synchronize()
        found, first = [], 0
        for count in self._rows:
            found.append(tuple(map(int, self._host[first : first + count])))
            first += count
        self._used, self._rows = 0, []
        return found

    def hashes(self, *several: Regions) -> list[tuple[int, ...]]:
        """Hash every region now."""
        for regions in several:
            self.note(regions)
        return self.noted()

    def noise(self, address: int, count: int) -> None:
        """Fill memory with random floats, for launches that only copy the memory."""
        self._noise.prepared_call((self._most_blocks, 1), _BLOCK, address, count)

    def judged(self, output: Allocation, bounds: Bounds) -> tuple[int, float]:
        """Return how many results are wrong, and the worst error as a fraction of its bound."""
        kernel = self._module.get_function(f"judge_{output.buffer.dtype}").prepare("PPPIQP")
        cuda.memset_d32_async(int(self._judged), 0, 2, self._stream)
        kernel.prepared_async_call(
            (self._most_blocks, 1), _BLOCK, self._stream, output.address,
            bounds.reference, bounds.bound, int(bounds.is_scalar), bounds.count, self._judged,
        )  # fmt: skip
        self._stream.synchronize()
        [found] = cuda.from_device(self._judged, (1,), _JUDGED)
        return int(found["wrong"]), float(found["worst"])

    def _grid(self, regions: Regions) -> tuple[int, int]:
        each = -(-regions.nbytes // (16 * _BLOCK[0]))
        return max(1, min(each, self._most_blocks)), regions.count


class Bounds:
    """An output's reference and bounds on the device, in float64: one bound, or one per result."""

    def __init__(self, reference: Array, bound: Array | float) -> None:
        limits = np.atleast_1d(np.asarray(bound, np.float64))
        self.count, self.is_scalar = reference.size, limits.size == 1
        self.reference = cuda.to_device(np.ascontiguousarray(reference, np.float64))
        self.bound = cuda.to_device(np.ascontiguousarray(limits))

    def free(self) -> None:
        self.reference.free()
        self.bound.free()
