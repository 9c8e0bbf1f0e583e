"""One NVIDIA GPU: its context, its stream, and the workspaces in its memory."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import pycuda.driver as cuda

from harness.backends.base import Array
from harness.backends.cuda.calls import Modules
from harness.backends.cuda.stream import StreamControl
from harness.backends.cuda.watch import Watch
from harness.backends.cuda.workspace import CudaWorkspace
from harness.cases import Device
from harness.errors import BackendUnavailable
from harness.problem import Buffer, Problem

_A = cuda.device_attribute


class CudaBackend:
    """One GPU's primary context, which torch shares, and one stream for everything."""

    name = "cuda"

    def __init__(self, arch: str | None = None, index: int = 0) -> None:
        try:
            cuda.init()
            if cuda.Device.count() == 0:
                raise BackendUnavailable("the driver finds no GPU")
            self._device = cuda.Device(index)
            self._context = self._device.retain_primary_context()
            self._context.push()
        except cuda.Error as error:
            raise BackendUnavailable(f"the CUDA driver does not start: {error}") from None
        self.device = _describe(self._device, arch)
        self._stream = cuda.Stream()
        self._modules = Modules(self.device.arch)
        self._control = StreamControl(self._stream, self.device)
        self._watch = Watch(self._stream, self.device)

    def workspace(
        self, problem: Problem | None, buffers: Sequence[Buffer], inputs: Mapping[str, Array]
    ) -> CudaWorkspace:
        return CudaWorkspace(
            self._stream, self._control, self._watch, self._modules, problem, buffers, inputs
        )

    def close(self) -> None:
        """Leave the context as PyCUDA wants it, or the process aborts at exit."""
        with contextlib.suppress(cuda.Error):
            self._control.close()
            self._modules.clear()
        self._context.pop()


def _describe(device: Any, arch: str | None) -> Device:
    get = device.get_attribute
    major, minor = device.compute_capability()
    return Device(
        name=device.name(),
        arch=arch or f"sm_{major}{minor}",
        sm_count=get(_A.MULTIPROCESSOR_COUNT),
        warp_size=get(_A.WARP_SIZE),
        l2_bytes=get(_A.L2_CACHE_SIZE),
        memory_bytes=device.total_memory(),
        max_threads_per_block=get(_A.MAX_THREADS_PER_BLOCK),
        max_block=(get(_A.MAX_BLOCK_DIM_X), get(_A.MAX_BLOCK_DIM_Y), get(_A.MAX_BLOCK_DIM_Z)),
        max_grid=(get(_A.MAX_GRID_DIM_X), get(_A.MAX_GRID_DIM_Y), get(_A.MAX_GRID_DIM_Z)),
        max_shared_bytes=get(_A.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        bus=device.pci_bus_id(),
    )
