"""Launch a case: its kernels, or a call to other code on the same stream."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pycuda.driver as cuda

from harness.backends.base import POISON, scalar_or_buffer
from harness.backends.cuda import tensor_maps
from harness.backends.cuda.memory import Allocation
from harness.cases import Case, Device, Step, TensorMap
from harness.compiler.compile import Built, kernel_name
from harness.compiler.functions import host, python_call, torch_compile
from harness.compiler.functions.host import HostFunction
from harness.compiler.parameters import Parameter, kernel_parameters
from harness.dtypes import torch_name
from harness.emulator.sass.cubin.elf import contents
from harness.errors import LaunchError, NotInstalled
from harness.problem import Problem

Call = Callable[[], Any]
"""Enqueues one step."""

_MOST_STATIC_SHARED = 48 << 10
"""Dynamic shared memory beyond this must be requested explicitly."""


class Modules:
    """Compiled files, each loaded once, with the initial values of their own variables."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._loaded: dict[str, Module] = {}

    def of(self, built: Built) -> Module:
        if built.cubin_sha256 not in self._loaded:
            self._loaded[built.cubin_sha256] = Module(built, self._device)
        return self._loaded[built.cubin_sha256]

    def host_function(self, case: Case, kernels: Path) -> HostFunction:
        """Load a host case's function from its library, which the run has already compiled."""
        library = host.build(host.unit(case, kernels, self._device.arch))
        return HostFunction(library.path, case.function, case.args)

    def clear(self) -> None:
        self._loaded.clear()


class Module:
    """One compiled file, loaded on the device. It can reset its `__device__` variables.

    Otherwise a kernel could keep a result in these variables for its next launch.
    """

    def __init__(self, built: Built, device: Device) -> None:
        self._built = built
        self._file = built.loaded_by(device)
        self._module = cuda.module_from_file(str(self._file))
        self._parameters = kernel_parameters(built.ptx.read_text())
        self._variables: list[tuple[int, Any, int]] = []
        for name in built.variables:
            try:
                address, nbytes = self._module.get_global(name)
            except cuda.LogicError:  # it has internal linkage, so the driver has no name for it
                continue
            copy = cuda.mem_alloc(nbytes)
            cuda.memcpy_dtod(copy, address, nbytes)
            self._variables.append((address, copy, nbytes))

    def symbol(self, name: str, source: str) -> str:
        return kernel_name(name, self._built, source)

    def function(self, symbol: str) -> tuple[Any, Sequence[Parameter]]:
        """Return a kernel, and its parameters as its PTX declares them."""
        return self._module.get_function(symbol), self._parameters[symbol]

    def offsets(self, symbol: str) -> list[int]:
        """The offset of each parameter of a kernel in the parameter buffer that is passed to the
        driver.

        The compiler aligns a tensor map's address, not its offset. On sm_90, parameters begin at
        0x210 of the constant bank, so a first parameter that is aligned to 128 bytes has 112 unused
        bytes before it. Raises LaunchError if the driver compiles the kernel, because the offsets
        are then unknown.
        """
        if self._file != self._built.cubin:
            raise LaunchError(
                "the driver compiles this kernel for the GPU, which nvcc is too old for, and does "
                "not say where it takes a tensor map\n  use an nvcc that knows the GPU"
            )
        kernel = contents(self._file.read_bytes(), self._file.name).kernels[symbol]
        return [parameter.offset for parameter in kernel.parameters]

    def restore(self, stream: Any) -> None:
        """Enqueue the copies that reset every variable to its value when the module was loaded."""
        for address, copy, nbytes in self._variables:
            cuda.memcpy_dtod_async(address, int(copy), nbytes, stream)


def kernel_call(
    step: Step, module: Module, source: str, memory: Mapping[str, Allocation], stream: Any
) -> Call:
    """Make a call that launches a kernel, with arguments that are packed only once. Raises
    LaunchError if the arguments do not match."""
    symbol = module.symbol(step.kernel, source)
    function, parameters = module.function(symbol)
    bound = scalar_or_buffer(parameters, step, source)
    if step.shared_bytes > _MOST_STATIC_SHARED:
        function.set_attribute(
            cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, step.shared_bytes
        )
    has_map = any(isinstance(each, TensorMap) for each in bound)
    function.prepare(format_of(bound, module.offsets(symbol) if has_map else None))
    arguments = [_packed(each, memory) for each in bound]

    def call() -> None:
        function.prepared_async_call(
            step.grid, step.block, stream, *arguments, shared_size=step.shared_bytes
        )

    return call


def format_of(bound: Sequence[str | np.generic | TensorMap], offsets: Sequence[int] | None) -> str:
    """Write the format with which PyCUDA packs the arguments, in the notation of Python's `struct`.

    `offsets`: the offset of each parameter in bytes; None aligns each to its size, as C does by
    default.
    """
    found = ""
    for n, each in enumerate(bound):
        if offsets:
            found += f"{offsets[n] - struct.calcsize(found)}x"
        if isinstance(each, TensorMap):
            found += f"{tensor_maps.BYTES}s"
        else:
            found += "P" if isinstance(each, str) else each.dtype.char
    return found


def _packed(bound: str | np.generic | TensorMap, memory: Mapping[str, Allocation]) -> Any:
    if isinstance(bound, TensorMap):
        return tensor_maps.encoded(bound.layout, memory[bound.buffer].address)
    return memory[bound].address if isinstance(bound, str) else bound


class LibraryCall:
    """A library call, made as its users make it; its results may be in newly allocated memory.

    `deliver` copies the results into the buffers outside the timed interval; `discard` releases
    them, so that the next call gets the same memory.
    """

    def __init__(
        self, call: Call, case: Case, memory: Mapping[str, Allocation], views: Mapping[str, Any],
        stream: Any,
    ) -> None:  # fmt: skip
        import torch

        self._torch, self._shared = torch, torch.cuda.ExternalStream(stream.handle)
        self._call, self._case, self._views = call, case, views
        self._outputs = [n for n, each in memory.items() if each.buffer.role == "output"]
        self._returned: Any = None

    def __call__(self) -> None:
        with self._torch.cuda.stream(self._shared):
            self._returned = self._call()

    def deliver(self) -> None:
        """Enqueue copies of results that are not in the buffers yet; overwrite the originals."""
        found = python_call.results(
            self._returned, self._case, self._views, self._outputs, self._torch.Tensor
        )
        with self._torch.cuda.stream(self._shared):
            for buffer, result in found:
                buffer.view(result.shape).copy_(result)
                result.untyped_storage().fill_(POISON)
        self.discard()

    def discard(self) -> None:
        self._returned = None


def deliver(steps: Iterable[Call]) -> None:
    """Enqueue copies of the results that libraries have returned into the buffers."""
    for step in steps:
        if isinstance(step, LibraryCall):
            step.deliver()


def discard(steps: Iterable[Call]) -> None:
    """Release the results of calls whose results are not needed."""
    for step in steps:
        if isinstance(step, LibraryCall):
            step.discard()


def function_call(
    case: Case,
    problem: Problem | None,
    modules: Modules,
    memory: Mapping[str, Allocation],
    stream: Any,
) -> Call:
    """Bind a Python function, a host function or problem.py's library() to the buffers' memory.

    Raises NotInstalled if it needs a package that is not installed.
    """
    if problem is None:
        raise LaunchError(f"{case.id}: no problem that its function belongs to")
    if case.kind == "host":
        called = modules.host_function(case, problem.folder.parent)
        addresses = {name: allocation.address for name, allocation in memory.items()}
        return lambda: called(addresses, stream.handle)
    try:
        import torch
    except ImportError:
        raise NotInstalled(f"{case.variant} needs torch, which is not installed") from None
    views = tensors(memory)
    if case.kind == "python":
        function = python_call.load(problem.folder, case.function)
        by = torch_compile.compiled(function, torch) if case.compiled else None
        call = python_call.bind(function, case, views, stream.handle, by)
    else:
        own = torch_compile.compiled(problem.library, torch) if case.compiled else problem.library
        call = partial(own, views)
    return LibraryCall(call, case, memory, views, stream) if case.is_library else call


def tensors(memory: Mapping[str, Allocation]) -> dict[str, Any]:
    """Create a one-dimensional torch tensor for every buffer, in the buffer's memory."""
    import torch

    return {
        name: torch.as_tensor(allocation, device="cuda").view(
            getattr(torch, torch_name(allocation.buffer.dtype))
        )
        for name, allocation in memory.items()
    }
