"""Read the C header of a machine, so that structs are laid out exactly as the compiler does it."""

from __future__ import annotations

import re
import struct
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from cffi import FFI
from numpy.typing import NDArray

_OF_BITS = "".join(
    f"typedef {sign}int{bits}_t {letter}{bits};\n"
    for letter, sign in (("i", ""), ("u", "u"))
    for bits in (8, 16, 32, 64)
)
_FOR_THE_COMPILER = re.compile(r"^#ifdef __cplusplus$.*?^#endif$|^#[^\n]*$", re.M | re.S)


class CHeader:
    """A header's structs, constants and functions; it may use `i32` etc. and no other includes."""

    def __init__(self, path: Path) -> None:
        self.ffi = FFI()
        self.ffi.cdef(_OF_BITS + _FOR_THE_COMPILER.sub("", path.read_text()))

    @cached_property
    def constants(self) -> Any:
        """Constants and the names in enums are its attributes."""
        return self.ffi.dlopen(None)

    def new(self, struct_: str, **fields: Any) -> Any:
        """Create one of them, which exists as long as something refers to it."""
        return self.ffi.new(f"{struct_} *", fields)

    def at(self, array: NDArray[Any]) -> Any:
        """The address of its elements, for any field or parameter that is a pointer."""
        return self.ffi.cast("void *", array.ctypes.data)

    def fields(self, struct_: str) -> tuple[str, ...]:
        return tuple(name for name, _ in self.ffi.typeof(struct_).fields)

    def dtype(self, struct_: str) -> np.dtype[Any]:
        """The dtype for arrays of a struct, in which pointers are numbers."""
        return self._dtype(self.ffi.typeof(struct_))

    def _dtype(self, of: Any) -> np.dtype[Any]:
        if of.kind == "array":
            return np.dtype((self._dtype(of.item), (of.length,)))
        if of.kind == "struct":
            names, fields = zip(*of.fields, strict=True)
            return np.dtype({
                "names": names, "formats": [self._dtype(field.type) for field in fields],
                "offsets": [field.offset for field in fields], "itemsize": self.ffi.sizeof(of),
            })  # fmt: skip
        unsigned = of.kind == "pointer" or of.cname.startswith("u")
        return np.dtype(f"{'u' if unsigned else 'i'}{self.ffi.sizeof(of)}")

    def packer(self, struct_: str) -> struct.Struct:
        """Return a packer for a struct of plain numbers and pointers, whose fields are set all at
        once."""
        dtype = self.dtype(struct_)
        codes = "".join(field[0].char for field in (dtype.fields or {}).values())
        packed = struct.Struct("@" + codes)
        assert packed.size == dtype.itemsize, f"{struct_} has bytes between its fields"
        return packed
