"""One NVIDIA GPU: its context, its stream, and the workspaces in its memory."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import pycuda.driver as cuda

from harness.backends.base import Array
from harness.backends.cuda.calls import Modules
from harness.backends.cuda.self_timed import SelfTimed
from harness.backends.cuda.stream import StreamControl
from harness.backends.cuda.verification.states import StateKernels
from harness.backends.cuda.verification.watch import Watch
from harness.backends.cuda.workspace import CudaWorkspace
from harness.cases import Device
from harness.compiler import targets
from harness.errors import BackendUnavailable, OutOfMemory
from harness.journal.records import Cache
from harness.problem import Buffer, Problem
from harness.silicon.architectures import Limits, nearest

_A = cuda.device_attribute


class CudaBackend:
    """One GPU's primary context, which torch shares, and a single stream for everything."""

    name = "cuda"

    def __init__(self, arch: str | None = None, index: int = 0) -> None:
        try:
            cuda.init()
            if cuda.Device.count() == 0:
                raise BackendUnavailable("the driver finds no GPU")
            self._device = cuda.Device(index)
            self.device = _describe(self._device, arch)
            self._context = self._device.retain_primary_context()
            self._context.push()
        except cuda.MemoryError:
            raise OutOfMemory(_NO_CONTEXT) from None
        except cuda.Error as error:
            raise BackendUnavailable(f"the CUDA driver does not start: {error}") from None
        try:
            self._stream = cuda.Stream()
            self._modules = Modules(self.device)
            self._control = StreamControl(self._stream, self.device)
            self._watch = Watch(self._stream, self.device)
            self._states = StateKernels(self._stream, self.device)
        except cuda.MemoryError:
            free, total = cuda.mem_get_info()
            self._context.pop()
            raise OutOfMemory(
                f"{_NO_CONTEXT}; {free / 2**30:.1f} of {total / 2**30:.1f} GiB are free"
            ) from None

    def free_bytes(self) -> int:
        """The device memory that is free now."""
        return int(cuda.mem_get_info()[0])

    def workspace(
        self, problem: Problem | None, buffers: Sequence[Buffer], inputs: Mapping[str, Array]
    ) -> CudaWorkspace:
        return CudaWorkspace(
            self._stream, self._control, self._watch, self._states, self._modules,
            problem, buffers, inputs,
        )  # fmt: skip

    @cached_property
    def _self_timed(self) -> SelfTimed:
        return SelfTimed(self._stream, self._control, self.device)

    def event_costs(self, cache: Cache, launches: int) -> tuple[float, ...]:
        try:
            return self._self_timed.beyond(cache, launches)
        except cuda.MemoryError:
            raise OutOfMemory(_NO_CONTEXT) from None

    def rest(self) -> None:
        self._modules.clear()
        gc.collect()  # workspaces and what torch has bound refer to each other
        if torch := sys.modules.get("torch"):
            torch.cuda.empty_cache()

    def close(self) -> None:
        """Leave the context as PyCUDA expects; otherwise the process aborts at exit."""
        with contextlib.suppress(cuda.Error):
            self._control.close()
            self._modules.clear()
        self._context.pop()


_NO_CONTEXT = "the device has no memory left for another process of ours: others hold it"


def _describe(device: Any, arch: str | None) -> Device:
    """Describe a card as its driver does. Raises BackendUnavailable if nvcc lacks support.

    `arch`: the architecture to compile for; None for the best one for the card that this nvcc
    supports.
    """
    get = device.get_attribute
    capability = device.compute_capability()
    limits = _limits(get, capability)
    return Device(
        name=device.name(),
        arch=arch or targets.best_for(capability, device.name()),
        sm_count=get(_A.MULTIPROCESSOR_COUNT),
        warp_size=limits.warp_size,
        l2_bytes=get(_A.L2_CACHE_SIZE),
        memory_bytes=device.total_memory(),
        max_threads_per_block=limits.max_threads_per_block,
        max_block=limits.max_block,
        max_grid=limits.max_grid,
        max_shared_bytes=limits.max_shared_bytes_per_block,
        bus=device.pci_bus_id(),
        capability=capability,
        own_limits=limits,
    )


def _limits(get: Any, capability: tuple[int, int]) -> Limits:
    """The limits that the driver reports; the rest come from the nearest architecture listed."""
    known = nearest(capability)
    return Limits(
        max_threads_per_sm=get(_A.MAX_THREADS_PER_MULTIPROCESSOR),
        max_blocks_per_sm=get(_A.MAX_BLOCKS_PER_MULTIPROCESSOR),
        shared_bytes_per_sm=get(_A.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        max_shared_bytes_per_block=get(_A.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        reserved_shared_bytes_per_block=get(_A.RESERVED_SHARED_MEMORY_PER_BLOCK),
        default_shared_bytes_per_block=get(_A.MAX_SHARED_MEMORY_PER_BLOCK),
        registers_per_sm=get(_A.MAX_REGISTERS_PER_MULTIPROCESSOR),
        registers_per_block=get(_A.MAX_REGISTERS_PER_BLOCK),
        warp_size=get(_A.WARP_SIZE),
        max_threads_per_block=get(_A.MAX_THREADS_PER_BLOCK),
        max_block=(get(_A.MAX_BLOCK_DIM_X), get(_A.MAX_BLOCK_DIM_Y), get(_A.MAX_BLOCK_DIM_Z)),
        max_grid=(get(_A.MAX_GRID_DIM_X), get(_A.MAX_GRID_DIM_Y), get(_A.MAX_GRID_DIM_Z)),
        shared_allocation_bytes=known.shared_allocation_bytes,
        register_allocation=known.register_allocation,
        max_registers_per_thread=known.max_registers_per_thread,
        sub_partitions_per_sm=known.sub_partitions_per_sm,
    )
