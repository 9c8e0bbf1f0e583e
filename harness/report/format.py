"""Format numbers for people; only here do base units become µs, GB/s, KiB or 2²⁰.

All functions use three significant digits, since no measurement of the harness supports more. They
receive only numbers; callers handle absent values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from harness.statistics.intervals import Interval

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
THIN = "\u202f"
"""Narrow no-break space, between a number and its unit."""


def is_number(value: Any) -> bool:
    """Return whether a table's cell holds a finite number."""
    return isinstance(value, int | float) and math.isfinite(value)


def three(value: float) -> str:
    """Three significant digits: 0.0123, 4.4, 96.2, 4,400, 2.68 × 10⁸."""
    if value == 0:
        return "0"
    rounded = f"{value:.2e}"
    mantissa, exponent = rounded.split("e")
    power = int(exponent)
    if not -4 <= power < 7:
        return f"{float(mantissa):.3g} × 10{str(power).translate(_SUPERSCRIPT)}"
    return f"{float(rounded):,.{max(2 - power, 0)}f}"


def power_of_two(value: int) -> str | None:
    """2²⁰ for 1048576; None for a number that is not a power of two, or is small enough to read as
    it is."""
    if value < 2**14 or value & (value - 1):
        return None
    return "2" + str(value.bit_length() - 1).translate(_SUPERSCRIPT)


def count(value: float) -> str:
    """A whole number: as a power of two, with separators or, for ten million or more, with three
    significant digits."""
    if value == int(value):
        return power_of_two(int(value)) or (f"{value:,.0f}" if abs(value) < 1e7 else three(value))
    return three(value)


def amount(value: float) -> str:
    """A count: with separators below ten million, then 13.6 million, 2.10 billion."""
    if abs(value) < 1e7:
        return f"{value:,.0f}" if value == int(value) else three(value)
    for scale, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if abs(value) >= scale:
            return f"{three(value / scale)} {name}"
    raise AssertionError(value)


def assignments(values: Mapping[str, int]) -> str:
    """Sizes or launch keys: `n = 2²⁸`, `m = 512, k = 64`. All digits are kept, because they
    distinguish sizes."""
    return ", ".join(
        f"{name} = {power_of_two(value) or f'{value:,}'}" for name, value in values.items()
    )


def between(values: Sequence[int]) -> str:
    """A range of values, such as `1 … 1,000,003`; a single value is shown alone."""
    low, high = min(values), max(values)
    return count(low) if low == high else f"{count(low)} … {count(high)}"


_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def time_unit(ns: float) -> tuple[float, str]:
    """The most readable unit for a time: nanoseconds per unit, and its name."""
    return next((unit for unit in _TIMES if abs(ns) >= unit[0]), _TIMES[-1])


def time(ns: float) -> str:
    scale, unit = time_unit(ns)
    return f"{three(ns / scale)}{THIN}{unit}"


def half_width(value: Interval) -> float:
    """Half an interval's width as a fraction of the value: intervals are symmetric in
    logarithms."""
    return math.sqrt(value.high / value.low) - 1


def within(value: Interval) -> str:
    """`± 0.06 %`: every interval is written in this one form."""
    width = 100 * half_width(value)
    shown = "0" if width == 0 else f"{width:.2g}" if width >= 0.01 else "< 0.01"
    return f"±{THIN}{shown}{THIN}%"


def interval(value: Interval, scale: float = 1.0, unit: str = "") -> str:
    """`248 µs ± 0.06 %`."""
    name = unit if unit in {"", "×"} else THIN + unit
    return f"{three(value.value / scale)}{name} {within(value)}"


def time_interval(value: Interval) -> str:
    return interval(value, *time_unit(value.value))


def ratio(value: Interval) -> str:
    """A speed-up with its interval: `11.1× ± 0.05 %`."""
    return f"{times(value)} {within(value)}"


def verdict(said: str) -> str:
    """The words for a verdict: `the same`, `unclear`, `faster`."""
    return "the same" if said == "same" else said


def speedup(value: Interval, said: str) -> str:
    """A speed-up or, if there is none, the verdict: `11.1×`, `1.007× (the same)`."""
    return times(value) + ("" if said in {"faster", "slower"} else f" ({verdict(said)})")


def times(value: Interval) -> str:
    """A speed-up; near 1, with enough digits to distinguish it and its interval from 1."""
    digits = _digits(value)
    return f"{three(value.value) if digits is None else f'{value.value:.{digits}f}'}×"


_NEAR = 0.05
"""If a ratio is this close to 1, three significant digits can hide which side of 1 it is on."""


def _digits(value: Interval) -> int | None:
    """Decimals for a ratio near 1; None if three significant digits suffice."""
    if abs(value.value - 1) > _NEAR:
        return None
    for digits in (2, 3, 4):
        shown = float(f"{value.value:.{digits}f}")
        told = shown != 1 or value.value == 1
        if told and 10.0**-digits <= max(2 * half_width(value), 1e-4):
            return digits
    return 5


def slower(ratio_: Interval) -> str:
    """Express a speed ratio as the additional time that the slower one takes: `0.2 % slower`."""
    longer = 1 / ratio_.value
    return f"{percent(100 * (longer - 1))} slower" if longer < 1.5 else f"{three(longer)}× slower"


def share(value: float, of: str = "") -> str:
    """`94.1 % of copying`, with a decimal even above 100 %, where the tenths matter."""
    shown = f"{value:.1f}{THIN}%" if value >= 99.95 else percent(value)
    return f"{shown} of {of}" if of else shown


def percent(value: float) -> str:
    """Format a number already in per cent: two digits below 1, nothing finer than 0.01."""
    if value == 0:
        return f"0{THIN}%"
    if abs(value) < 0.01:
        return f"< 0.01{THIN}%"
    shown = three(value) if abs(value) >= 1 else f"{value:.2g}"
    return f"{shown}{THIN}%"


def compact(value: float) -> str:
    """A number for a narrow column: 815, 4.19k, 13.6M, 2.10G."""
    for scale, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= scale:
            return f"{three(value / (scale if scale > 1e4 else 1e3))}{letter}"
    return f"{value:,.0f}" if value == int(value) else three(value)


def data(value: float) -> str:
    """Bytes, in a binary unit, as is usual for memory."""
    for scale, unit in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= scale:
            return f"{three(value / scale)}{THIN}{unit}"
    return f"{value:.0f}{THIN}B"


def hertz(value: float) -> str:
    """A clock frequency, to the megahertz, which is the driver's resolution."""
    return f"{value / 1e6:,.0f}{THIN}MHz"
