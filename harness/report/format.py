"""Numbers as a person reads them: base units become µs, GB/s, KiB, 2²⁰ here and nowhere else.

Three significant digits throughout, since no measurement here supports more. A value that does not
exist is said to be missing by the caller; these functions are given numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from harness.measure.statistics import Interval

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
THIN = "\u202f"
"""Narrow no-break space, between a number and its unit."""


def is_number(value: Any) -> bool:
    """Whether a table's cell holds a finite number."""
    return isinstance(value, int | float) and math.isfinite(value)


def three(value: float) -> str:
    """Three significant digits: 0.0123, 4.4, 96.2, 4,400, 2.68 × 10⁸."""
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    if abs(rounded) >= 1e7 or abs(rounded) < 1e-4:
        power = math.floor(math.log10(abs(rounded)))
        return f"{rounded / 10**power:.3g} × 10{str(power).translate(_SUPERSCRIPT)}"
    digits = 2 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(digits, 0)}f}"


def power_of_two(value: int) -> str | None:
    """2²⁰ for 1048576; None for what is no power of two, or small enough to read as it stands."""
    if value < 2**14 or value & (value - 1):
        return None
    return "2" + str(value.bit_length() - 1).translate(_SUPERSCRIPT)


def count(value: float) -> str:
    """A whole number: a power of two, with separators, or from ten million on in three digits."""
    if value == int(value):
        return power_of_two(int(value)) or (f"{value:,.0f}" if abs(value) < 1e7 else three(value))
    return three(value)


def amount(value: float) -> str:
    """How many: with separators below ten million, then 13.6 million, 2.10 billion."""
    if abs(value) < 1e7:
        return f"{value:,.0f}" if value == int(value) else three(value)
    for scale, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if abs(value) >= scale:
            return f"{three(value / scale)} {name}"
    raise AssertionError(value)


def assignments(values: Mapping[str, int]) -> str:
    """Sizes or launch keys: `n = 2²⁸`, `m = 512, k = 64`."""
    return ", ".join(f"{name} = {count(value)}" for name, value in values.items())


def between(values: Sequence[int]) -> str:
    """1 … 1,000,003; one value by itself."""
    low, high = min(values), max(values)
    return count(low) if low == high else f"{count(low)} … {count(high)}"


_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def time_unit(ns: float) -> tuple[float, str]:
    """The unit that a time reads best in: nanoseconds a unit, and its name."""
    return next((unit for unit in _TIMES if abs(ns) >= unit[0]), _TIMES[-1])


def time(ns: float) -> str:
    scale, unit = time_unit(ns)
    return f"{three(ns / scale)}{THIN}{unit}"


def interval(value: Interval, scale: float = 1.0, unit: str = "") -> str:
    """`248 µs (247–249)`; where the ends read the same, the larger half-width in per cent."""
    median, low, high = (three(x / scale) for x in (value.value, value.low, value.high))
    name = unit if unit in {"", "×"} else THIN + unit
    if low == high:
        width = max(value.high / value.value, value.value / value.low) - 1
        return f"{median}{name} (±{percent(100 * width)})" if width else f"{median}{name} (±0)"
    return f"{median}{name} ({low}–{high})"


def time_interval(value: Interval) -> str:
    return interval(value, *time_unit(value.value))


def ratio(value: Interval) -> str:
    """A speed-up: near 1, with as many digits as tell its interval from 1 and its ends apart."""
    digits = _digits(value)
    if digits is None:
        return interval(value, unit="×")
    median, low, high = (f"{x:.{digits}f}" for x in (value.value, value.low, value.high))
    return f"{median}× ({low}–{high})"


def times(value: Interval) -> str:
    """A speed-up's median alone, in the same digits."""
    digits = _digits(value)
    return f"{three(value.value) if digits is None else f'{value.value:.{digits}f}'}×"


_NEAR = 0.05
"""Within so much of 1, three significant digits can hide which side of 1 a ratio lies on."""


def _digits(value: Interval) -> int | None:
    """Decimals for a ratio near 1; None where three significant digits suffice."""
    if abs(value.value - 1) > _NEAR:
        return None
    for digits in (2, 3, 4, 5):
        median, low, high = (f"{x:.{digits}f}" for x in (value.value, value.low, value.high))
        told = all(x == 1 or float(text) != 1 for x, text in (
            (value.value, median), (value.low, low), (value.high, high)))  # fmt: skip
        if told and (low != high or value.low == value.high):
            return digits
    return 5


def percent(value: float) -> str:
    """Of a number already in per cent; below 0.01 nothing is resolved."""
    if 0 < abs(value) < 0.01:
        return f"< 0.01{THIN}%"
    shown = three(value) if abs(value) >= 1 else f"{value:.2g}"
    return f"{shown}{THIN}%"


def data(value: float) -> str:
    """Bytes, in the binary unit that memory is sold and allocated in."""
    for scale, unit in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= scale:
            return f"{three(value / scale)}{THIN}{unit}"
    return f"{value:.0f}{THIN}B"


def hertz(value: float) -> str:
    """A clock, to the megahertz, as the driver gives it."""
    return f"{value / 1e6:,.0f}{THIN}MHz"
