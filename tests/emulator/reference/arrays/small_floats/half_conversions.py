"""`cvt` to and from bf16, to packed halves, and to tf32, with `.relu` and `.satfinite`.

Conversions between f16 and the other plain types are in `conversions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.program.ir import element
from reference.arrays import conversions
from reference.arrays.floats import flush
from reference.arrays.small_floats import half

Array = NDArray[Any]

_LARGEST = {"f16": 65504.0, "bf16": float(np.array(0x7F7F0000, np.uint32).view(np.float32))}
_TF32_REST = np.uint32(0x1FFF)


def concerns(to: str, source: str, modifiers: tuple[str, ...]) -> bool:
    """Return whether this module implements the conversion."""
    special = {to, source} & {"bf16", "f16x2", "bf16x2", "tf32"}
    return bool(special) or "relu" in modifiers or "satfinite" in modifiers


def conversion(to: str, source: str, modifiers: tuple[str, ...]) -> Callable[..., Array]:
    """The function that implements a `cvt`; packed conversions take the upper half first, as in
    PTX."""
    if to == "tf32":
        return lambda a: _to_tf32(a, modifiers)
    if source == "bf16" and to != "bf16":
        rest = conversions.conversion(to, "f32", modifiers)
        return lambda a: rest(half.widen("bf16", a).astype(np.float32))
    format_ = element(to)

    def convert(a: Array) -> Array:
        if "ftz" in modifiers and source == "f32" and format_ == "bf16":
            a = flush(a)
        value = half.widen("bf16", a) if source == "bf16" else _to_double(a)
        return _narrowed(format_, value, modifiers)

    if to.endswith("x2"):
        return lambda upper, lower: half.joined([convert(lower), convert(upper)])
    if to == "f16":
        return lambda a: convert(a).view(np.float16)
    return convert


def _narrowed(format_: str, value: Array, modifiers: tuple[str, ...]) -> Array:
    rounding = next((m for m in modifiers if m.startswith("r") and m != "relu"), "rn")
    if rounding.endswith("i"):
        value, rounding = conversions.ROUNDINGS[rounding[:2]](value), "rn"
    if "sat" in modifiers:
        value = np.where(value > 0, np.minimum(value, 1.0), 0.0)
    if "relu" in modifiers:
        value = np.where(value <= 0, 0.0, value)
    if "satfinite" in modifiers:
        value = np.clip(value, -_LARGEST[format_], _LARGEST[format_])
    return half.narrow(format_, value, rounding)


def _to_double(a: Array) -> Array:
    """The number as a double, exactly or, for a wide integer, rounded to odd."""
    if a.dtype.kind == "f" or a.dtype.itemsize < 8:
        return a.astype(np.float64)
    low = a.dtype.type(0xFFF)
    cut = np.where(a & low != 0, (a & ~low) | a.dtype.type(0x800), a)
    big = (a > a.dtype.type(1 << 52)) | (a < a.dtype.type(0 if a.dtype.kind == "u" else -(1 << 52)))
    exact: Array = np.where(big, cut, a).astype(np.float64)
    return exact


def _to_tf32(a: Array, modifiers: tuple[str, ...]) -> Array:
    """A float with the 10-bit fraction of tf32; its other fraction bits are zero."""
    if "relu" in modifiers:
        a = np.where(a <= 0, np.float32(0), a)
    raw = a.view(np.uint32)
    magnitude, sign = raw & np.uint32(0x7FFFFFFF), raw & np.uint32(0x80000000)
    if "rz" in modifiers:
        rounded = magnitude
    elif "rna" in modifiers:
        rounded = magnitude + np.uint32(0x1000)
    else:
        rounded = magnitude + np.uint32(0xFFF) + (magnitude >> np.uint32(13) & np.uint32(1))
    if "satfinite" in modifiers:
        rounded = np.minimum(rounded, np.uint32(0x7F7FFFFF))
    rounded = np.where(np.isfinite(a), rounded, magnitude)
    nan = (raw if "rna" in modifiers else np.uint32(0x7FFFFFFF)) & ~_TF32_REST
    cut = np.where(np.isnan(a), nan, (rounded & ~_TF32_REST) | sign)
    return cut.astype(np.uint32)
