"""The backend on an NVIDIA GPU, through PyCUDA, which only it and cuda_parts.py import.

Verified launches start from poisoned outputs with guard bytes around every buffer. Timed launches
are enqueued behind a kernel that holds the stream, so that the host's speed does not enter, each
between two CUDA events, with the L2 cache emptied before it (cold) or left as it is (warm).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import TracebackType
from typing import Any

import nvtx
import pycuda.driver as cuda

from harness.backends.base import (
    NVTX_DOMAIN,
    Array,
    Execution,
    broken_promises,
    contents,
    scalar_or_buffer,
)
from harness.backends.cuda_parts import Allocation, Launch, StreamControl
from harness.build.compile import Built, kernel_name
from harness.cases import Case, Device
from harness.emulator.parser import parse
from harness.emulator.ptx import Module, Param
from harness.errors import BackendUnavailable, DeviceFault, LaunchError
from harness.problem import Buffer, Problem
from harness.records import Cache

HELD_LAUNCHES = 20
"""Launches enqueued behind one hold: a stream's queue takes about a thousand entries."""

_COMPARE_INPUTS_UP_TO = 64 << 20
"""Inputs larger than this are not read back to see whether a kernel changed them."""

_A = cuda.device_attribute


class CudaBackend:
    """One GPU's primary context, which torch shares, and one stream for everything."""

    name = "cuda"

    def __init__(self, arch: str | None = None, index: int = 0) -> None:
        try:
            cuda.init()
            if cuda.Device.count() == 0:
                raise BackendUnavailable("the driver finds no GPU")
        except cuda.Error as error:
            raise BackendUnavailable(f"the CUDA driver does not start: {error}") from None
        self._device = cuda.Device(index)
        self._context = self._device.retain_primary_context()
        self._context.push()
        self.stream = cuda.Stream()
        self.device = _describe(self._device, arch)
        self._modules: dict[str, tuple[Any, Module]] = {}
        self.control = StreamControl(self.stream, self.device)

    def workspace(self, buffers: Sequence[Buffer], inputs: Mapping[str, Array]) -> CudaWorkspace:
        return CudaWorkspace(self, buffers, inputs)

    def driver_version(self) -> str:
        version = int(cuda.get_driver_version())
        return f"{version // 1000}.{version % 1000 // 10}"

    def function(self, built: Built, name: str, source: str) -> tuple[Any, Sequence[Param]]:
        """The kernel, and its parameters as its PTX declares them."""
        if built.cubin_sha256 not in self._modules:
            self._modules[built.cubin_sha256] = (
                cuda.module_from_file(str(built.cubin)),
                parse(built.ptx.read_text()),
            )
        module, parsed = self._modules[built.cubin_sha256]
        symbol = kernel_name(name, built, source)
        return module.get_function(symbol), parsed.kernels[symbol].params

    def close(self) -> None:
        """Leave the context as PyCUDA wants it, or the process aborts at exit."""
        with contextlib.suppress(cuda.Error):
            self.control.close()
            self._modules.clear()
        self._context.pop()


class CudaWorkspace:
    """A problem's buffers in device memory, shared by all of its cases at one size."""

    def __init__(
        self, backend: CudaBackend, buffers: Sequence[Buffer], inputs: Mapping[str, Array]
    ) -> None:
        self._backend, self._buffers = backend, buffers
        self.stream, self._control = backend.stream, backend.control
        self._memory: dict[str, Allocation] = {}
        self._pristine: dict[str, Allocation] = {}
        self._libraries: dict[str, Any] = {}
        self.problem: Problem | None = None
        try:
            for buffer in buffers:
                self._memory[buffer.name] = Allocation(buffer)
                self._memory[buffer.name].poison()
            self.refill(inputs)
        except BaseException:
            self._free()
            raise

    def refill(self, inputs: Mapping[str, Array]) -> None:
        self._inputs = contents(self._buffers, inputs)
        for name, array in self._inputs.items():
            cuda.memcpy_htod(self._memory[name].address, array)
            if name in self._pristine:
                cuda.memcpy_htod(self._pristine[name].address, array)

    def run(self, case: Case, built: Built | None) -> Execution:
        self._poison()
        try:
            with nvtx.annotate(case.id, domain=NVTX_DOMAIN):
                self._restore(case)
                for launch in self._launches(case, built):
                    launch()
                self.stream.synchronize()
        except cuda.Error as error:
            raise DeviceFault(f"{case.id}: {_words(error)}") from None
        after = {
            b.name: self._memory[b.name].download()
            for b in self._buffers
            if b.role in ("output", "zeroed")
            or (b.role == "input" and b.nbytes <= _COMPARE_INPUTS_UP_TO)
        }
        guards = [memory.broken_guard() for memory in self._memory.values()]
        faults = [fault for fault in guards if fault]
        faults += broken_promises(self._buffers, case, self._inputs, after)
        self._restore(case)
        self.stream.synchronize()
        outputs = {b.name: after[b.name] for b in self._buffers if b.role == "output"}
        return Execution(outputs, tuple(faults))

    def time(
        self, case: Case, built: Built | None, cache: Cache, launches: int, apart: bool = False
    ) -> list[list[float]]:
        steps = self._launches(case, built)
        times: list[list[float]] = []
        try:
            with nvtx.annotate(case.id, domain=NVTX_DOMAIN):
                while len(times) < launches:
                    some = min(HELD_LAUNCHES, launches - len(times))
                    times += self._time_held(case, steps, cache, some, apart)
        except cuda.Error as error:
            raise DeviceFault(f"{case.id}: {_words(error)}") from None
        return times

    def profile(self, case: Case, built: Built | None, ranges: Sequence[str]) -> None:
        """Launch every step once, each alone inside its NVTX range, given by name.

        What a profiler must not count stays outside: the restored inputs, the poison, and the
        first call of a library, which may launch more than the others do.
        """
        self._poison()
        launches = self._launches(case, built)
        try:
            if built is None:
                launches[0]()
            self._restore(case)
            self.stream.synchronize()
            for name, launch in zip(ranges, launches, strict=True):
                with nvtx.annotate(name, domain=NVTX_DOMAIN):
                    launch()
                    self.stream.synchronize()
            self._restore(case)
            self.stream.synchronize()
        except cuda.Error as error:
            raise DeviceFault(f"{case.id}: {_words(error)}") from None

    def _time_held(
        self, case: Case, steps: Sequence[Any], cache: Cache, launches: int, apart: bool
    ) -> list[list[float]]:
        """A batch that the stream's queue can hold whole."""
        marks = [
            [cuda.Event() for _ in range(len(steps) + 1 if apart else 2)] for _ in range(launches)
        ]
        with self._control.held():
            for events in marks:
                self._restore(case)
                if cache == "cold":
                    self._control.flush_l2()
                events[0].record(self.stream)
                for index, launch in enumerate(steps):
                    launch()
                    if apart:
                        events[index + 1].record(self.stream)
                if not apart:
                    events[1].record(self.stream)
        return [
            [1e6 * later.time_since(earlier) for earlier, later in pairwise(events)]
            for events in marks
        ]

    def _poison(self) -> None:
        """Whatever a kernel is to write, or nothing has written yet."""
        for memory in self._memory.values():
            if memory.buffer.role != "input":
                memory.poison()

    def _restore(self, case: Case) -> None:
        """Put back the inputs that the case's kernels overwrite."""
        for name in case.overwrites:
            memory = self._memory[name]
            if name not in self._pristine:
                self._pristine[name] = Allocation(memory.buffer)
                cuda.memcpy_htod(self._pristine[name].address, self._inputs[name])
            cuda.memcpy_dtod_async(
                memory.address, self._pristine[name].address, memory.buffer.nbytes, self.stream
            )

    def _launches(self, case: Case, built: Built | None) -> list[Any]:
        """A callable for each step, which enqueues it."""
        if built is None:
            return [self._library_call(case)]
        launches = []
        for step in case.steps:
            function, parameters = self._backend.function(built, step.kernel, case.source)
            bound = scalar_or_buffer(parameters, step, case.source)
            if step.shared_bytes > 48 << 10:
                function.set_attribute(
                    cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, step.shared_bytes
                )
            function.prepare("".join("P" if isinstance(a, str) else a.dtype.char for a in bound))
            arguments = [self._memory[a].address if isinstance(a, str) else a for a in bound]
            launches.append(Launch(function, step.grid, step.block, step.shared_bytes,
                                    self.stream, arguments))  # fmt: skip
        return launches

    def _library_call(self, case: Case) -> Any:
        import torch

        if self.problem is None:
            raise LaunchError(f"{case.id}: no problem to ask for its library call")
        if not self._libraries:
            self._libraries = {
                name: torch.as_tensor(memory, device="cuda")
                for name, memory in self._memory.items()
                if memory.buffer.role in ("input", "output")
            }
        library, tensors = self.problem.library, self._libraries
        stream = torch.cuda.ExternalStream(self.stream.handle)

        def call() -> None:
            with torch.cuda.stream(stream):
                library(tensors)

        return call

    def _free(self) -> None:
        self._libraries = {}
        for allocation in (*self._memory.values(), *self._pristine.values()):
            with contextlib.suppress(cuda.Error):
                allocation.free()
        self._memory, self._pristine = {}, {}

    def __enter__(self) -> CudaWorkspace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._free()


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
    )


def _words(error: Exception) -> str:
    """The driver's error without PyCUDA's repetition."""
    return str(error).splitlines()[0].rpartition("failed: ")[2]
