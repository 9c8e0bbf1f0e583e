"""Instructions by which the lanes of a warp exchange values.

Values are arranged by warp, shaped (warps, 32). A lane that does not execute the instruction
contributes nothing; a shuffle from such a lane, which is undefined on hardware, gives the reader
its own value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.arrays import floats
from reference.arrays.lanes import WARP, Lanes

Array = NDArray[Any]

_LANE = np.arange(WARP)
_BIT = np.uint32(1) << _LANE.astype(np.uint32)


def _rows(*values: Array) -> int:
    return max(value.shape[0] for value in values)


def _laid_out(lanes: Lanes, value: Array, rows: int) -> Array:
    if value.shape[0] != rows:
        value = np.broadcast_to(value, (rows, value.shape[1]))
    return lanes.to_warps(value)


def shuffle(
    mode: str, lanes: Lanes, value: Array, b: Array, c: Array, _mask: Array
) -> tuple[Array, Array]:
    """`shfl.sync`: the value of another lane, and whether that lane was in range."""
    rows = _rows(value, b, c)
    values = _laid_out(lanes, value, rows)
    source, in_range = source_lanes(mode, _laid_out(lanes, b, rows), _laid_out(lanes, c, rows))
    taken = np.take_along_axis(values, source, axis=1)
    active = np.take_along_axis(lanes.warp_mask(rows), source, axis=1)
    taken = np.where(active, taken, values)
    return lanes.from_warps(taken, rows), lanes.from_warps(in_range, rows)


def source_lanes(mode: str, b: Array, c: Array) -> tuple[Array, Array]:
    """The lane that each lane reads, and whether it is in range (PTX ISA, shfl)."""
    b = b.astype(np.int64) & 31
    clamp, segment = c.astype(np.int64) & 31, c.astype(np.int64) >> 8 & 31
    top = (_LANE & segment) | (clamp & ~segment)
    bottom = _LANE & segment
    if mode == "up":
        source = _LANE - b
        in_range = source >= top
    elif mode == "down":
        source = _LANE + b
        in_range = source <= top
    elif mode == "bfly":
        source = _LANE ^ b
        in_range = source <= top
    else:
        source = bottom | (b & ~segment)
        in_range = source <= top
    source = np.where(in_range, source, _LANE)
    return source & 31, in_range


def _participants(lanes: Lanes, mask: Array, rows: int) -> Array:
    """The lanes that execute the instruction and are named in its member mask."""
    named = (_laid_out(lanes, mask, rows) & _BIT) != 0
    return named & lanes.warp_mask(rows)


def _to_all(lanes: Lanes, per_warp: Array, rows: int) -> Array:
    spread = np.broadcast_to(per_warp[:, None], (len(per_warp), WARP))
    return lanes.from_warps(spread, rows)


def vote(mode: str, lanes: Lanes, predicate: Array, mask: Array) -> Array:
    """`vote.sync`: all, any, uni or ballot over the participating lanes."""
    rows = _rows(predicate, mask)
    who = _participants(lanes, mask, rows)
    holds = _laid_out(lanes, predicate, rows)
    if mode == "ballot":
        return _to_all(lanes, _bits(holds & who), rows)
    every: Array = np.all(holds | ~who, axis=1)
    some: Array = np.any(holds & who, axis=1)
    if mode == "all":
        return _to_all(lanes, every, rows)
    if mode == "any":
        return _to_all(lanes, some, rows)
    return _to_all(lanes, every | ~some, rows)


def _bits(flags: Array) -> Array:
    summed: Array = np.where(flags, _BIT, np.uint32(0)).sum(axis=-1, dtype=np.uint32)
    return summed


def active_mask(lanes: Lanes) -> Array:
    """`activemask`: the lanes that execute the instruction."""
    return _to_all(lanes, _bits(lanes.warp_mask(1)), 1)


def match(mode: str, lanes: Lanes, value: Array, mask: Array) -> tuple[Array, Array]:
    """`match.sync`: the participating lanes that hold this lane's value, or whether all do."""
    rows = _rows(value, mask)
    who = _participants(lanes, mask, rows)
    values = _laid_out(lanes, value, rows)
    same = (values[:, :, None] == values[:, None, :]) & who[:, None, :]
    if mode == "any":
        found = _bits(same)
        return lanes.from_warps(found, rows), lanes.from_warps(found != 0, rows)
    everyone = (same | ~who[:, None, :]).all(axis=2)
    found = np.where(everyone, _bits(who)[:, None], np.uint32(0))
    return lanes.from_warps(found, rows), lanes.from_warps(everyone, rows)


def reduce(operation: str, lanes: Lanes, value: Array, mask: Array) -> Array:
    """`redux.sync` over the participating lanes."""
    rows = _rows(value, mask)
    who = _participants(lanes, mask, rows)
    values = _laid_out(lanes, value, rows)
    if values.dtype.kind == "f":
        return _to_all(lanes, _extreme(operation, values, who), rows)
    limits = np.iinfo(values.dtype)
    identity, ufunc = {
        "add": (0, np.add), "min": (limits.max, np.minimum), "max": (limits.min, np.maximum),
        "and": (0xFFFFFFFF, np.bitwise_and), "or": (0, np.bitwise_or),
        "xor": (0, np.bitwise_xor),
    }[operation]  # fmt: skip
    filled = np.where(who, values, values.dtype.type(identity))
    return _to_all(lanes, ufunc.reduce(filled, axis=1, dtype=values.dtype), rows)


def _extreme(operation: str, values: Array, who: Array) -> Array:
    """The smallest or the largest float of each row, computed lane by lane."""
    name, _, modifier = operation.partition(".")
    found = values[np.arange(len(values)), np.argmax(who, axis=1)]
    for lane in range(values.shape[1]):
        both = floats.minimum_maximum(name == "min", modifier == "NaN", found, values[:, lane])
        found = np.where(who[:, lane], both, found)
    return found


def elect(lanes: Lanes, mask: Array) -> tuple[Array, Array]:
    """`elect.sync`: the lowest participating lane, and whether this lane is it."""
    rows = _rows(mask)
    who = _participants(lanes, mask, rows)
    leader = np.argmax(who, axis=1).astype(np.uint32)
    chosen = leader[:, None] == _LANE
    return _to_all(lanes, leader, rows), lanes.from_warps(chosen, rows)
