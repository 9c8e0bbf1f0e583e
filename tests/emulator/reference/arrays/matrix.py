"""Tensor-core instructions: mma.sync, ldmatrix, stmatrix and wmma, a warp at a time.

The PTX ISA manual specifies which lane holds which element of an mma operand, by one pattern for
every type: lane 4g + t has row g and, in a register that holds p elements, columns p·t to p·t + p -
1. For wmma the manual leaves this open; here a lane holds consecutive elements in memory
order. Products are exact; sums are computed in double precision (integers: exactly) and rounded
once at the end. The hardware keeps fewer bits, in an undocumented order.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from harness.emulator.program.decode.matrix import ELEMENT_BITS, per_register
from reference.arrays.lanes import WARP, Lanes
from reference.arrays.small_floats import half

Array = NDArray[Any]

_LANE = np.arange(WARP)
_GROUP, _THREAD = _LANE[:, None, None] >> 2, _LANE[:, None, None] & 3
_TF32 = np.uint32(0xFFFFE000)
_FP8 = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


# --- between registers and matrices -----------------------------------------------------------


def _by_warp(lanes: Lanes, values: tuple[Array, ...]) -> Array:
    """Registers arranged by warp, shaped (warps, 32, registers). Every lane must be active."""
    assert lanes.full_warps
    shape = (lanes.n_rows, lanes.n_columns)
    return np.stack([lanes.to_warps(np.broadcast_to(v, shape)) for v in values], axis=2)


def _to_lanes(lanes: Lanes, registers: Array) -> tuple[Array, ...]:
    return tuple(
        lanes.from_warps(np.ascontiguousarray(registers[:, :, r]), lanes.n_rows)
        for r in range(registers.shape[2])
    )


def _elements(type_: str, registers: Array) -> Array:
    """Convert (…, registers) to (…, registers, elements) of doubles."""
    bits = ELEMENT_BITS[type_]
    if type_ in ("f64", "f32", "s32"):
        return registers[..., None].astype(np.float64)
    if type_ == "tf32":
        return (registers & _TF32).view(np.float32)[..., None].astype(np.float64)
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    fields = registers[..., None] >> shifts & np.uint32((1 << bits) - 1)
    if bits == 16:
        return half.widen(type_, fields.astype(np.uint16))
    if type_ in _FP8:
        return fields.astype(np.uint8).view(_FP8[type_]).astype(np.float64)
    values = fields.astype(np.int64)
    if type_[0] == "s":
        values = np.where(values >> (bits - 1) == 1, values - (1 << bits), values)
    return values.astype(np.float64)


def _registers(type_: str, elements: Array, *, saturates: bool) -> Array:
    """Convert results (…, elements) to registers (…, registers); halves are packed."""
    if type_ == "f16":
        raw = half.narrow("f16", elements).astype(np.uint32)
        return raw[..., 0::2] | raw[..., 1::2] << np.uint32(16)
    if type_ == "s32":
        if saturates:
            elements = np.clip(elements, -(2**31), 2**31 - 1)
        return elements.astype(np.int64).astype(np.int32)
    return elements.astype(np.float32 if type_ == "f32" else np.float64)


def _a_places(rows: int, count: int, registers: int) -> tuple[Array, Array]:
    """The row and column of each element, shaped (32, registers, elements of a register)."""
    r, j = np.arange(registers)[None, :, None], np.arange(count)[None, None, :]
    if rows == 8:
        row, column = np.broadcast_arrays(_GROUP, count * _THREAD + j + 4 * count * r)
        return row, column
    column = count * _THREAD + j + 4 * count * (r >> 1)
    row, column = np.broadcast_arrays(_GROUP + 8 * (r & 1), column)
    return row, column


def _c_places(rows: int) -> tuple[Array, Array]:
    i = np.arange(rows // 4)[None, :]
    group, thread = _GROUP[:, :, 0], _THREAD[:, :, 0]
    row, column = np.broadcast_arrays(group + 8 * (i >> 1), 2 * thread + (i & 1))
    return row, column


# --- mma.sync ---------------------------------------------------------------------------------


def mma(lanes: Lanes, variant: tuple[str, ...], *operands: Array) -> tuple[Array, ...]:
    """`mma.sync` of shape m × 8 × k; `variant`: m, k, types of d, a, b, c, and satfinite."""
    rows, depth = int(variant[0]), int(variant[1])
    d_type, a_type, b_type, c_type = variant[2:6]
    count = per_register(a_type)
    a_regs, b_regs = rows * depth // WARP // count, 8 * depth // WARP // count
    given = _by_warp(lanes, operands[:a_regs])
    a = np.zeros((len(given), rows, depth))
    row, column = _a_places(rows, count, a_regs)
    a[:, row, column] = _elements(a_type, given)
    given = _by_warp(lanes, operands[a_regs : a_regs + b_regs])
    b = np.zeros((len(given), depth, 8))
    column, row = _a_places(8, count, b_regs)
    b[:, row, column] = _elements(b_type, given)
    given = _by_warp(lanes, operands[a_regs + b_regs :])
    c = np.zeros((len(given), rows, 8))
    row, column = _c_places(rows)
    c[:, row, column] = _elements(c_type, given).reshape(len(given), WARP, -1)
    d = (a @ b + c)[:, row, column]
    return _to_lanes(lanes, _registers(d_type, d, saturates="satfinite" in variant))


# --- wmma -------------------------------------------------------------------------------------


def fragment_address(
    lanes: Lanes, variant: tuple[str, ...], base: Array, stride: Array,
    lane: Array,
) -> tuple[Array]:  # fmt: skip
    """The address of a lane's first element; `variant`: elements per lane and per row of memory,
    and the bytes of an element."""
    held, inner, size = (int(v) for v in variant)
    first = lane.astype(np.uint64) * np.uint64(held)
    row, column = first // np.uint64(inner), first % np.uint64(inner)
    offset = (row * stride.astype(np.uint64) + column) * np.uint64(size)
    return (base.astype(np.uint64) + offset,)


def column_address(
    lanes: Lanes, variant: tuple[str, ...], base: Array, stride: Array,
    lane: Array,
) -> tuple[Array]:  # fmt: skip
    """The address of one element of a matrix that is row-major in registers and column-major in
    memory.

    `variant`: elements per lane, columns of the matrix, bytes per element, and which of the lane's
    elements is meant.
    """
    held, columns, size, which = (int(v) for v in variant)
    index = lane.astype(np.uint64) * np.uint64(held) + np.uint64(which)
    row, column = index // np.uint64(columns), index % np.uint64(columns)
    offset = (column * stride.astype(np.uint64) + row) * np.uint64(size)
    return (base.astype(np.uint64) + offset,)


def wmma(lanes: Lanes, variant: tuple[str, ...], *operands: Array) -> tuple[Array, ...]:
    """`wmma.mma`; `variant`: m, n, k, the layouts of a and b, the four types, and the registers of
    a, b and c."""
    m, n, k = (int(v) for v in variant[:3])
    d_type, a_type, b_type, c_type = variant[5:9]
    counts = [int(v) for v in variant[9:12]]
    parts, at = [], 0
    for count in counts:
        parts.append(_by_warp(lanes, operands[at : at + count]))
        at += count
    a = _fragment(a_type, parts[0], m, k, variant[3])
    b = _fragment(b_type, parts[1], k, n, variant[4])
    c = _fragment(c_type, parts[2], m, n, "row")
    d = (a @ b + c).reshape(len(a), WARP, -1)
    return _to_lanes(lanes, _registers(d_type, d, saturates="satfinite" in variant))


def _fragment(type_: str, registers: Array, rows: int, columns: int, layout: str) -> Array:
    """A matrix from the registers of a warp, without the elements beyond a lane's share, which are
    copies."""
    warps, held = len(registers), rows * columns // WARP
    elements = _elements(type_, registers).reshape(warps, WARP, -1)[:, :, :held]
    if layout == "row":
        return elements.reshape(warps, rows, columns)
    return elements.reshape(warps, columns, rows).swapaxes(1, 2)


# --- ldmatrix and stmatrix --------------------------------------------------------------------


def matrix_rows(lanes: Lanes, variant: tuple[str, ...], addresses: Array) -> tuple[Array, ...]:
    """Convert the addresses of rows, which lanes 8i to 8i + 7 give for matrix i, to the addresses
    of words.

    Lane 4g + t gets word t of row g of each matrix.
    """
    rows = _by_warp(lanes, (addresses.astype(np.uint64),))[:, :, 0]
    count = int(variant[0])
    within = (4 * (_LANE % 4)).astype(np.uint64)
    words = [rows[:, 8 * i + _LANE // 4] + within for i in range(count)]
    return _to_lanes(lanes, np.stack(words, axis=2))


def transpose_8x8(lanes: Lanes, __: tuple[str, ...], *words: Array) -> tuple[Array, ...]:
    """Transpose each register, taken as an 8 × 8 matrix of halves distributed over the warp."""
    given = _by_warp(lanes, words)
    low, high = given & np.uint32(0xFFFF), given >> np.uint32(16)
    matrix = np.stack([low, high], axis=2).reshape(len(given), 8, 8, len(words))
    flipped = matrix.swapaxes(1, 2).reshape(len(given), WARP, 2, len(words))
    return _to_lanes(lanes, flipped[:, :, 0] | flipped[:, :, 1] << np.uint32(16))
