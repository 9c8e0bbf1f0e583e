"""Read the C header of a C++ engine, so that Python lays out structs exactly as the compiler does.

Parsing a header takes as long as importing NumPy. The header is therefore parsed once, and the
result is kept in the user's cache, as the Python module that cffi generates for this purpose. The
module is one call with literal arguments, which are read without executing the module.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import struct
import sys
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import _cffi_backend  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from harness.files import scratch

_OF_BITS = "".join(
    f"typedef {sign}int{bits}_t {letter}{bits};\n"
    for letter, sign in (("i", ""), ("u", "u"))
    for bits in (8, 16, 32, 64)
)
_FOR_THE_COMPILER = re.compile(r"^#ifdef __cplusplus$.*?^#endif$|^#[^\n]*$", re.M | re.S)


class CHeader:
    """The structs, constants and functions that a header declares. The header may use integer types
    such as `i32`, but nothing else from the files that it includes."""

    def __init__(self, path: Path) -> None:
        self.ffi = _parsed(_OF_BITS + _FOR_THE_COMPILER.sub("", path.read_text()))

    @cached_property
    def constants(self) -> Any:
        """The header's constants and enum names, as attributes."""
        return self.ffi.dlopen(None)

    def new(self, struct_: str, **fields: Any) -> Any:
        """Create a struct, which lives as long as a Python object refers to it."""
        return self.ffi.new(f"{struct_} *", fields)

    def at(self, array: NDArray[Any]) -> Any:
        """The address of an array's elements, for any field or parameter that is a pointer."""
        return self.ffi.cast("void *", array.ctypes.data)

    def fields(self, struct_: str) -> tuple[str, ...]:
        return tuple(name for name, _ in self.ffi.typeof(struct_).fields)

    def dtype(self, struct_: str) -> np.dtype[Any]:
        """Return the dtype for arrays of a struct, with pointers as numbers."""
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
        """Return a packer that writes all fields of a struct at once. The fields must be plain
        numbers or pointers."""
        dtype = self.dtype(struct_)
        codes = "".join(field[0].char for field in (dtype.fields or {}).values())
        packed = struct.Struct("@" + codes)
        assert packed.size == dtype.itemsize, f"{struct_} has bytes between its fields"
        return packed


def cache_folder() -> Path:
    """The folder for compiled files: in `$XDG_CACHE_HOME` or `~/.cache`."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "kernel-harness"


def _made(module: ast.Module) -> Any:
    """Return the FFI object of cffi's module: `ffi = _cffi_backend.FFI(literals)`."""
    (call,) = (each.value for each in module.body if isinstance(each, ast.Assign))
    if not isinstance(call, ast.Call):
        raise ValueError("no call")
    given = [ast.literal_eval(each) for each in call.args]
    return _cffi_backend.FFI(
        *given, **{str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    )


def _parsed(text: str) -> Any:
    """Return cffi's FFI for the declarations, parsed now or earlier."""
    parts = _cffi_backend.__version__, sys.version, text
    name = f"header-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:20]}.py"
    with suppress(Exception):  # missing or damaged: parse the header again
        return _made(ast.parse((cache_folder() / name).read_text()))
    from cffi import FFI
    from cffi.recompiler import make_py_source

    ffi = FFI()
    ffi.cdef(text)
    with suppress(OSError, RuntimeError):  # RuntimeError: the home folder is unknown
        cache_folder().mkdir(parents=True, exist_ok=True)
        with scratch.folder(cache_folder()) as folder:
            written = folder / name
            ffi.set_source("header", None)
            make_py_source(ffi, "header", str(written))
            written.replace(cache_folder() / name)
    return ffi
