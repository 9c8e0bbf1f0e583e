"""The parts of the CUDA driver API that launches with tensor maps need, through ctypes. Only the
driver itself has to be installed."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from harness.silicon.tensor_maps import (
    ELEMENTS,
    FILLS,
    INTERLEAVES,
    L2_PROMOTIONS,
    SWIZZLES,
    TensorLayout,
)

_LIBRARY = "libcuda.so.1"
_MAP_BYTES, _MAP_ALIGNMENT = 128, 64
_MOST_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_WITHOUT_ASKING = 48 << 10


class DriverError(Exception):
    """A failed driver call: the function's name and its status."""


class Context:
    """A device's context, and the driver functions that these launches need."""

    def __init__(self, library: Any) -> None:
        self._cuda = library

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status:
            raise DriverError(f"{name} failed: error {status}")

    def allocated(self, size: int) -> int:
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def write(self, address: int, data: np.ndarray) -> None:
        pointer = ctypes.c_void_p(data.ctypes.data)
        self.call(
            "cuMemcpyHtoD_v2", ctypes.c_uint64(address), pointer, ctypes.c_size_t(data.nbytes)
        )

    def read(self, address: int, size: int) -> np.ndarray:
        data = np.empty(size, np.uint8)
        pointer = ctypes.c_void_p(data.ctypes.data)
        self.call("cuMemcpyDtoH_v2", pointer, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return data

    def loaded(self, cubin: bytes) -> Any:
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        return module

    def function(self, module: Any, kernel: str) -> Any:
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
        return function

    def launch(
        self, function: Any, grid: int, block: int, shared: int, arguments: Sequence[Any]
    ) -> None:
        """Launch a kernel, and wait for it. Each argument is a ctypes object that holds the value
        to pass. Clusters have the size for which the kernel was compiled."""
        if shared > _WITHOUT_ASKING:
            self.call("cuFuncSetAttribute", function, _MOST_DYNAMIC_SHARED, shared)
        places = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        self.call("cuLaunchKernel", function, grid, 1, 1, block, 1, 1, shared, None, places, None)
        self.call("cuCtxSynchronize")

    def device_name(self) -> str:
        room = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", room, 256, 0)
        return room.value.decode()

    def version(self) -> int:
        """The newest CUDA version that the driver supports, such as 13000."""
        number = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(number))
        return number.value


@contextmanager
def opened(library: Any = None) -> Iterator[Context]:
    """Yield a context of the first device; release it at the end, even if a launch failed."""
    context = Context(library or ctypes.CDLL(_LIBRARY))
    context.call("cuInit", 0)
    device, current = ctypes.c_int(), ctypes.c_void_p()
    context.call("cuDeviceGet", ctypes.byref(device), 0)
    context.call("cuDevicePrimaryCtxRetain", ctypes.byref(current), device)
    try:
        context.call("cuCtxSetCurrent", current)
        yield context
    finally:
        context._cuda.cuCtxSetCurrent(None)
        context._cuda.cuDevicePrimaryCtxRelease_v2(device)


def tensor_map(layout: TensorLayout, address: int) -> Any:
    """Return a CUtensorMap, encoded by the driver, as a kernel argument. Raises DriverError.

    harness.backends.cuda.tensor_maps does the same for tiles, but needs the harness's packages.
    """
    room = ctypes.create_string_buffer(_MAP_BYTES + _MAP_ALIGNMENT)
    first = -ctypes.addressof(room) % _MAP_ALIGNMENT
    u32, u64, enum = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int
    if layout.im2col:
        name, channels, pixels = "cuTensorMapEncodeIm2col", layout.box[0], layout.box[1]
        box = [_array(enum, layout.lower), _array(enum, layout.upper), u32(channels), u32(pixels)]
    else:
        name, box = "cuTensorMapEncodeTiled", [_array(u32, layout.box)]
    status = getattr(ctypes.CDLL(_LIBRARY), name)(
        ctypes.c_void_p(ctypes.addressof(room) + first),
        enum(list(ELEMENTS).index(layout.element)), u32(layout.rank), ctypes.c_void_p(address),
        _array(u64, layout.shape), _array(u64, layout.byte_strides), *box,
        _array(u32, layout.step_sizes), enum(INTERLEAVES.index(layout.interleave)),
        enum(list(SWIZZLES).index(layout.swizzle)), enum(L2_PROMOTIONS.index(layout.l2)),
        enum(FILLS.index(layout.fill)),
    )  # fmt: skip
    if status:
        raise DriverError(f"the driver does not encode {layout}: error {status}")
    return (ctypes.c_char * _MAP_BYTES).from_buffer_copy(room.raw[first : first + _MAP_BYTES])


def _array(kind: Any, numbers: Sequence[int]) -> Any:
    return (kind * max(1, len(numbers)))(*numbers)
