"""`cvt`: between integers and floats of every width, with every rounding and saturation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.program.ir import is_float
from reference.arrays.floats import directed, flush

Array = NDArray[Any]

ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "rn": np.rint, "rz": np.trunc, "rm": np.floor, "rp": np.ceil,
}  # fmt: skip


def _dtype(type_: str) -> np.dtype[Any]:
    return np.dtype(f"{ {'u': 'u', 's': 'i', 'f': 'f'}[type_[0]] }{int(type_[1:]) // 8}")


def conversion(to: str, source: str, modifiers: tuple[str, ...]) -> Callable[[Array], Array]:
    """The function that implements a `cvt.<modifiers>.<to>.<source>`."""
    target = _dtype(to)
    rounding = next((m for m in modifiers if m.startswith("r")), "")
    saturates = "sat" in modifiers
    if is_float(source):
        if is_float(to):
            convert = _float_to_float(target, _dtype(source), rounding, saturates)
        else:
            convert = _float_to_integer(target, rounding[:2] or "rz", source == "f64")
    elif is_float(to):
        convert = _integer_to_float(target, rounding, saturates)
    else:
        convert = _integer_to_integer(target, saturates)
    if "ftz" not in modifiers:
        return convert

    def flushing(a: Array) -> Array:
        result = convert(flush(a) if source == "f32" and to != "f16" else a)
        return flush(result) if to == "f32" else result

    return flushing


def _integer_to_integer(target: np.dtype[Any], saturates: bool) -> Callable[[Array], Array]:
    def convert(a: Array) -> Array:
        if saturates:
            limits = np.iinfo(target)
            own = np.iinfo(a.dtype)
            a = np.clip(a, max(limits.min, own.min), min(limits.max, own.max))
        return a.astype(target)

    return convert


def _float_to_integer(
    target: np.dtype[Any], rounding: str, of_double: bool
) -> Callable[[Array], Array]:
    """Values out of range are clamped. NaN gives zero or, from a double or to 64 bits, only the
    highest bit."""
    limits = np.iinfo(target)
    top = np.array(1 << limits.bits - 1, f"u{target.itemsize}").astype(target)
    of_nan = top if of_double or limits.bits == 64 else target.type(0)

    def convert(a: Array) -> Array:
        # Double precision holds every float; its bounds below hold every integer type's range.
        rounded = ROUNDINGS[rounding](a.astype(np.float64))
        top, bottom = float(limits.max), float(limits.min)
        high, low = rounded >= top, rounded <= bottom
        inside = np.where(high | low | np.isnan(rounded), 0.0, rounded).astype(target)
        inside = np.where(np.isnan(rounded), of_nan, inside)
        return np.where(
            high, target.type(limits.max), np.where(low, target.type(limits.min), inside)
        )

    return convert


def _integer_to_float(
    target: np.dtype[Any], rounding: str, saturates: bool
) -> Callable[[Array], Array]:
    def convert(a: Array) -> Array:
        nearest = a.astype(target)
        if saturates:  # to 0 or 1, which need no rounding
            return np.clip(nearest, target.type(0), target.type(1))
        if rounding in ("", "rn"):
            return nearest
        return directed(nearest, _compare_integer(nearest, a), rounding)

    return convert


def _compare_integer(rounded: Array, exact: Array) -> Array:
    """The sign of `rounded - exact`, computed exactly: the integer's low part is small, so it is
    split off."""
    out = np.empty(exact.shape, np.int8)
    for at in np.ndindex(exact.shape):
        value = float(rounded[at])
        if np.isinf(value):
            out[at] = 1 if value > 0 else -1
        else:
            out[at] = (int(value) > int(exact[at])) - (int(value) < int(exact[at]))
    return out


def _float_to_float(
    target: np.dtype[Any], source: np.dtype[Any], rounding: str, saturates: bool
) -> Callable[[Array], Array]:
    def convert(a: Array) -> Array:
        if rounding.endswith("i"):  # to an integral value, in the same or a wider type
            result = ROUNDINGS[rounding[:2]](a).astype(target)
        else:
            result = a.astype(target)
            if rounding in ("rz", "rm", "rp") and target.itemsize < source.itemsize:
                wide = result.astype(source)
                result = directed(result, np.sign(wide - a), rounding)
        if saturates:
            result = np.where(result > 0, np.minimum(result, target.type(1)), target.type(0))
        return result

    return convert
