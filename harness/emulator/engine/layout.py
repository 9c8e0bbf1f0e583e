"""The structs that Python and `machine/machine.h` share, field by field."""

from __future__ import annotations

import ctypes
import struct
from ctypes import POINTER, c_double, c_int32, c_int64, c_uint32, c_void_p
from typing import Any

import numpy as np

MAX_RESULTS = 8
MAX_SOURCES = 12
LANES = 32

OP = np.dtype([
    ("handler", "i4"), ("site", "i4"), ("width", "i4"), ("count", "i4"), ("space", "i4"),
    ("kind", "i4"), ("cost", "i4"), ("wide_base", "i4"), ("immediate", "i8"),
    ("result", "i4", MAX_RESULTS), ("source", "i4", MAX_SOURCES),
])  # fmt: skip

BLOCK = np.dtype([
    (name, "i4")
    for name in (
        "first", "last", "ending", "target", "otherwise", "predicate", "taken_if", "charge",
        "reduction", "result", "number", "count", "arrives", "line", "first_target", "targets",
        "pointer", "site", "first_site",
    )
])  # fmt: skip
ROWS_OF_A_BLOCK = ("predicate", "result", "number", "count", "pointer")

JUMP, BRANCH, SWITCH, BARRIER, EXIT, TRAP = range(6)
SPACES = {"global": 0, "shared": 1, "local": 2, "": 3, "const": 4}
SHUFFLES = ("idx", "up", "down", "bfly")
REDUCTIONS = {"": 0, "popc": 1, "and": 2, "or": 3}
ONE_BY_ONE, COUNTS_UP, COMPARES, COMBINED, UNCOUNTED, VECTOR = range(6)
"""How an atomic is served; of a vector, VECTOR and the number of its elements."""
DONE, PAUSED, SUSPECT, OVER_BUDGET = range(4)
VERDICTS = 27
"""What the judge may find, told by `verdicts`."""


_OF_A_BUFFER: list[tuple[str, Any]] = [
    ("base", c_int64), ("size", c_int64), ("data", c_void_p), ("sectors_read", c_void_p),
    ("sectors_written", c_void_p), ("writable", c_int32), ("watched", c_int32),
    ("written", c_void_p), ("read", c_void_p), ("unfolded", c_void_p), ("saved", c_void_p),
    ("filled", c_void_p),
]  # fmt: skip


class Buffer(ctypes.Structure):
    """A buffer of global memory."""

    _fields_ = _OF_A_BUFFER


BUFFER = struct.Struct("@" + "".join(kind._type_ for _, kind in _OF_A_BUFFER))
"""The same, whose fields can be set all at once."""


class Texture(ctypes.Structure):
    """What a handle among the arguments stands for: a texture, or a surface."""

    _fields_ = [
        ("data", c_void_p), ("kind", c_int32), ("width", c_int32), ("height", c_int32),
        ("depth", c_int32), ("channels", c_int32), ("format", c_int32), ("address", c_int32 * 3),
        ("linear", c_int32), ("normalized", c_int32), ("as_fractions", c_int32),
        ("is_surface", c_int32),
    ]  # fmt: skip


class Launch(ctypes.Structure):
    """Everything that a run needs to know."""

    _fields_ = [
        ("ops", c_void_p), ("blocks", c_void_p), ("switch_targets", c_void_p),
        ("buffers", POINTER(Buffer)), ("constants", c_void_p), ("constant_offsets", c_void_p),
        ("special_offsets", c_void_p), ("op_count", c_int32), ("block_count", c_int32),
        ("site_count", c_int32), ("buffer_count", c_int32), ("constant_count", c_int32),
        ("register_bytes", c_int32), ("zeroed_bytes", c_int32), ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3), ("shared_bytes", c_int32), ("shared_static", c_int32),
        ("local_bytes", c_int32), ("global_grain", c_int32), ("shared_grain", c_int32),
        ("local_grain", c_int32), ("global_granule", c_int32), ("shared_granule", c_int32),
        ("checks", c_int32), ("jobs", c_int32),
        ("global_one_width", c_int32), ("shared_one_width", c_int32), ("budget", c_int64),
        ("textures", POINTER(Texture)), ("texture_count", c_int32),
    ]  # fmt: skip


BY_SITE = (
    "requests", "sectors", "colliding", "shared_requests", "wavefronts", "wavefronts_ideal",
    "atomic_lanes", "atomic_addresses", "atomic_most_lanes",
)  # fmt: skip
BY_BLOCK = ("block_warps", "block_lanes", "taken_lanes", "diverged_warps")
"""What is counted, in 64 bits each: for all sites, or all basic blocks, and then the next."""


IS_FENCE, REACHES_ALL, IS_LOAD, IS_STORE, SPECULATIVE, OF_MBARRIER = (1 << bit for bit in range(6))
PRINT = ctypes.CFUNCTYPE(c_int32, c_int64, c_int64, ctypes.c_uint64, ctypes.c_uint64)


class Observed(ctypes.Structure):
    """By byte of a buffer: 1 + the site that was the first to do it, or 0."""

    _fields_ = [(name, c_void_p) for name in ("read", "written", "read_before_write")]


class Judged(ctypes.Structure):
    """What the judge needs to know besides."""

    _fields_ = [
        ("traits", c_void_p), ("heads", c_void_p), ("watched", c_void_p), ("meetings", c_void_p),
        ("unset", c_void_p), ("observed", POINTER(Observed)), ("print", PRINT),
        ("head_count", c_int32), ("meeting_count", c_int32), ("unset_count", c_int32),
        ("clocks", c_int32), ("chunk_blocks", c_int32), ("stack_end", c_int32),
        ("zeroed_at", c_int32), ("zeroed_bytes", c_int32),
    ]  # fmt: skip


class Verdict(ctypes.Structure):
    """How a run ended; `block_number` is a basic block, `block` the number of a thread block."""

    _fields_ = [
        ("outcome", c_int32), ("reason", c_int32), ("site", c_int32), ("block_number", c_int32),
        ("block", c_int64), ("thread", c_int32), ("padding", c_int32), ("ticks", c_int64),
    ]  # fmt: skip


def declare(library: ctypes.CDLL) -> None:
    """Give the library's functions their types. Raises RuntimeError if it has other structs."""
    structs = [*map(ctypes.sizeof, (Buffer, Launch, Verdict, Observed, Judged, Texture))]
    structs.append(ctypes.sizeof(c_void_p) * len(BY_SITE + BY_BLOCK))
    mine = [OP.itemsize, BLOCK.itemsize, *structs, VERDICTS]
    theirs = (c_int32 * len(mine))()
    library.machine_sizes(theirs)
    if list(theirs) != mine:
        raise RuntimeError(f"its structs have {list(theirs)} bytes, expected {mine}")
    library.machine_begin.argtypes = [POINTER(Launch), c_void_p, c_int32]
    library.machine_begin.restype = c_void_p
    library.machine_run.argtypes = [c_void_p, c_double, POINTER(Verdict)]
    library.machine_run.restype = None
    library.machine_restore.argtypes = [c_void_p]
    library.machine_restore.restype = c_int32
    library.machine_end.argtypes = [c_void_p]
    library.machine_end.restype = None
    library.judge_begin.argtypes = [POINTER(Launch), POINTER(Judged), c_void_p]
    library.judge_begin.restype = c_void_p
    library.judge_run.argtypes = [c_void_p, c_double, POINTER(Verdict)]
    library.judge_run.restype = None
    for numbers in (library.judge_details, library.judge_let_pass):
        numbers.argtypes = [c_void_p, POINTER(c_int64), c_int32]
        numbers.restype = c_int32
    library.judge_peek.argtypes = [c_void_p, c_int32, c_int64, c_void_p, c_int32]
    library.judge_peek.restype = c_int32
    library.judge_end.argtypes = [c_void_p]
    library.judge_end.restype = None
