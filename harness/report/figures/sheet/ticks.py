"""Round values within a range, for the ticks of an axis."""

from __future__ import annotations

import math

MOST = 9
"""An axis has at most this many intervals, however long it is."""
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def steps(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2, 2.5 or 5 times a power of ten, with as many intervals as there is room
    for."""
    low, high = min(low, high), max(low, high)
    least = (high - low) / min(max(most, 1), MOST)
    power = math.floor(math.log10(least))
    sizes = [step * 10.0**each for each in (power - 1, power) for step in _STEPS[:-1]]
    sizes.append(10.0 ** (power + 1))
    # Rounding errors must not exclude the step that fits exactly.
    first = next(i for i, size in enumerate(sizes) if size >= least * (1 - 1e-10))
    for size in reversed(sizes[: first + 1]):
        slack = 1e-10 * (high - low) / size
        start, end = math.ceil(low / size - slack), math.floor(high / size + slack)
        if end > start:
            break
    return [number * size for number in range(start, end + 1)]


def powers(low: float, high: float, base: float, most: int) -> list[float]:
    """Powers of the base at equal distances: as many as there is room for, and of those, the
    farthest apart."""
    first = math.ceil(math.log(low, base) - 1e-10)
    last = math.floor(math.log(high, base) + 1e-10)
    room = min(max(most, 2), MOST)
    found = [
        range(start, last + 1, stride)
        for stride in range(1, max(last - first, 0) + 2)
        for start in range(first, min(first + stride, last + 1))
    ]
    fitting = [each for each in found if len(each) <= room]
    best = max(fitting, key=lambda x: (len(x), x.step, x.start % x.step == 0, -x.start), default=())
    return [float(base) ** exponent for exponent in best]
