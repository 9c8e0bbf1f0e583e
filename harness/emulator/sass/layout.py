"""The structs that Python and `machine/sass.h` share, field by field; sizes are checked."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_double, c_int32, c_int64, c_uint32, c_void_p

import numpy as np

LANES = 32
PREDICATES_OF_EACH_KIND = 8
DONE, PAUSED, FAULTY = range(3)
FAULTS = (
    "", "out of bounds", "misaligned", "read-only", "deadlock", "budget", "trap", "bad target",
    "left code",
)  # fmt: skip

SOURCE = np.dtype([
    ("row", "i4"), ("high", "i4"), ("constant", "i4"), ("keep", "u4"), ("flip", "u4"),
    ("plus", "u4"), ("half", "i4"),
])  # fmt: skip
INSTRUCTION = np.dtype([
    ("handler", "i4"), ("flags", "i4"), ("guard", "i4"), ("guard_inverted", "i4"),
    ("uniform", "i4"), ("result", "i4", 2), ("result_predicate", "i4", 2), ("source_count", "i4"),
    ("source", SOURCE, 4), ("source_predicate", "i4", 3), ("source_inverted", "i4", 3),
    ("control", "i4"), ("target", "i4"), ("barrier", "i4"), ("space", "i4"), ("width", "i4"),
    ("is_wide", "i4"), ("immediate", "i8"),
], align=True)  # fmt: skip


class Buffer(ctypes.Structure):
    """A buffer of global memory."""

    _fields_ = [
        ("base", c_int64), ("size", c_int64), ("data", c_void_p), ("writable", c_int32),
        ("slack", c_int32),
    ]  # fmt: skip


class Launch(ctypes.Structure):
    """Everything that a run needs to know."""

    _fields_ = [
        ("instructions", c_void_p), ("constants", c_void_p), ("banks", c_void_p),
        ("bank_sizes", c_void_p), ("buffers", POINTER(Buffer)), ("instruction_count", c_int32),
        ("constant_rows", c_int32), ("buffer_count", c_int32), ("registers", c_int32),
        ("shared_bytes", c_int32), ("local_bytes", c_int32), ("shared_start", c_int32),
        ("slice", c_int32), ("grid", c_uint32 * 3), ("block", c_uint32 * 3), ("budget", c_int64),
    ]  # fmt: skip


COUNTS = (
    "warps", "threads", "on", "requests", "sectors", "shared_requests", "wavefronts",
    "wavefronts_ideal", "branches", "divergent", "colliding", "warps_again", "threads_again",
)  # fmt: skip


class Counts(ctypes.Structure):
    """Arrays of 64-bit counts, by instruction."""

    _fields_ = [(name, c_void_p) for name in COUNTS]


class Verdict(ctypes.Structure):
    """How a run ended."""

    _fields_ = [
        ("outcome", c_int32), ("fault", c_int32), ("instruction", c_int32), ("thread", c_int32),
        ("block", c_int64), ("address", c_int64),
    ]  # fmt: skip


def declare(library: ctypes.CDLL) -> None:
    """Give the library's functions their types. Raises RuntimeError if a struct differs."""
    library.sass_begin.argtypes = [POINTER(Launch), POINTER(Counts)]
    library.sass_begin.restype = c_void_p
    library.sass_run.argtypes = [c_void_p, c_double, POINTER(Verdict)]
    library.sass_run.restype = None
    library.sass_end.argtypes = [c_void_p]
    library.sass_end.restype = None
    structs = (Buffer, Launch, Counts, Verdict)
    own = (SOURCE.itemsize, INSTRUCTION.itemsize, *map(ctypes.sizeof, structs))
    theirs = tuple(library.sass_size(number) for number in range(len(own)))
    if own != theirs:
        raise RuntimeError(f"layout.py and machine/sass.h differ: {own} and {theirs} bytes")
