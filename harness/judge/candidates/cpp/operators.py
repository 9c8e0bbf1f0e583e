"""Operators in host code on numbers and pointers, and conversion to a variable's type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.judge.candidates.cpp.values import (
    Dim3,
    dim3,
    divided,
    dtype_of,
    told,
)  # fmt: skip
from harness.judge.candidates.errors import Refused
from harness.judge.candidates.recording import Place


def computed(sign: str, left: Any, right: Any) -> Any:
    if isinstance(left, Place) and isinstance(right, int) and sign in ("+", "-"):
        item = dtype_of(left.type)
        if item is None:
            raise Refused("pointer arithmetic in host code with a type of its own")
        return Place(left.array, left.offset + (right if sign == "+" else -right), left.type)
    if sign in ("==", "!="):
        return (left == right) == (sign == "==")
    for each in (left, right):
        if not isinstance(each, bool | int | np.floating):
            raise Refused(f"`{sign}` of a {told(each)} in host code")
    if sign in ("/", "%"):
        return divided(left, right, sign == "%")
    return _checked(_SIGNS[sign](left, right))


_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "<": lambda a, b: a < b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
}  # fmt: skip


def _checked(value: Any) -> Any:
    """Reject integers that do not fit in 32 bits, because C++ would truncate them unless their
    types are wider."""
    if isinstance(value, int) and not -(2**31) <= value < 2**32:
        raise Refused(f"its host code computes {value}, which an int does not hold")
    return value


def like(before: Any, value: Any, name: str) -> Any:
    """Convert a value to the type of the variable to which it is assigned."""
    if isinstance(before, np.float32) and isinstance(value, int | np.floating):
        return np.float32(value)
    if isinstance(before, np.float64) and isinstance(value, int | np.floating):
        return np.float64(value)
    if isinstance(before, bool) and isinstance(value, int):
        return bool(value)
    if isinstance(before, int) and isinstance(value, np.floating):
        return int(value)
    if isinstance(before, Dim3):
        return dim3(value)
    return value
