"""The rules that the engine uses, `bank_and_sector_rules.h`, with the interface of the reference's
rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine import layout
from harness.emulator.engine.c_header import CHeader
from harness.emulator.engine.compiled_library import compiled
from harness.emulator.sass.layout import SOURCES

Array = NDArray[Any]

_HERE = Path(__file__).parent
_HEADER = CHeader(_HERE / "rules.h")
_RULES = compiled("rules", _HEADER, _HERE, layout.MACHINE, SOURCES)
_LANES = 1 << np.arange(layout.LANES, dtype=np.uint64)


def _costs(rule: str, addresses: Array, active: Array, *how: int) -> Array:
    """Compute the costs warp by warp; a warp without an active lane executes nothing."""
    laid_out = np.ascontiguousarray(addresses, np.int64)
    ask = getattr(_RULES, rule)
    masks = (active * _LANES).sum(axis=1)
    return np.array([
        ask(_HEADER.ffi.cast("int64_t *", warp.ctypes.data), int(mask), *how) if mask else 0
        for warp, mask in zip(laid_out, masks, strict=True)
    ])  # fmt: skip


def global_requests(active: Array) -> Array:
    """There is no rule for requests: the engine counts one for each warp that executes the
    instruction."""
    return np.asarray(active.any(axis=1), np.int64)


def global_sectors(addresses: Array, active: Array, width: int) -> Array:
    return _costs("global_sectors", addresses, active, width)


def global_atomic_sectors(addresses: Array, active: Array) -> Array:
    return _costs("global_atomic_sectors", addresses, active)


def shared_wavefronts(addresses: Array, active: Array, width: int, *, is_load: bool) -> Array:
    return _costs("shared_wavefronts", addresses, active, width, is_load)


def shared_wavefronts_ideal(addresses: Array, active: Array, width: int, *, is_load: bool) -> Array:
    return _costs("shared_wavefronts_ideal", addresses, active, width, is_load)


def shared_atomic_wavefronts(
    addresses: Array, active: Array, operation: str, *, counts_up: bool = False
) -> Array:
    cost = layout.COMPARES if operation == "cas" else layout.ONE_BY_ONE
    return _costs(
        "shared_atomic_wavefronts", addresses, active, layout.COUNTS_UP if counts_up else cost
    )
