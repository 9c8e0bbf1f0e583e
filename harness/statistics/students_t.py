"""Student's t distribution, by the incomplete beta function's continued fraction.

SciPy has it as well, but takes longer to import than a small run takes to evaluate. The tests
compare the two.
"""

from __future__ import annotations

import math
from functools import cache

_ENOUGH = 1e-16
"""A change of the logarithm by less than this part is none."""
_MOST_TERMS = 10_000
_LARGE = 50.0


def tail(freedom: float, beyond: float) -> float:
    """The probability of a value of at least this (0 or more), on one side."""
    square = beyond * beyond / freedom
    a = freedom / 2
    if square == 0:
        return 0.5
    if math.isinf(square):
        return 0.0
    # The logarithms of x = 1 / (1 + square) and of 1 − x.
    log_x, log_rest = -math.log1p(square), math.log(square) - math.log1p(square)
    front = math.exp(a * log_x + log_rest / 2 - _log_beta(a))
    x, rest = 1 / (1 + square), square / (1 + square)
    if x < (a + 1) / (a + 2.5):
        return front * _fraction(a, 0.5, x) / (2 * a)
    return 0.5 - front * _fraction(0.5, a, rest)


@cache
def half_width(confidence: float, freedom: float) -> float:
    """The value that is not exceeded, on either side, with this probability."""
    beyond = (1 - confidence) / 2
    if beyond >= 0.5:
        return 0.0
    if beyond <= 0:
        return math.inf
    # Newton's method for the tail's logarithm over that of the value. The curve is concave, so
    # from above, the root is approached from one side; steps up are bounded, as one too far up
    # would meet a tail of 0.
    log_value = 0.0
    for _ in range(1000):
        value = math.exp(log_value)
        reached = tail(freedom, value)
        step = -0.1
        if reached > 0:
            step = reached * math.log(reached / beyond) / (value * _density(freedom, value))
        log_value += min(step, 0.5)
        if abs(step) < 1e-14:
            break
    return math.exp(log_value)


def _density(freedom: float, value: float) -> float:
    log = (freedom + 1) / 2 * math.log1p(value * value / freedom)
    return math.exp(-log - _log_beta(freedom / 2)) / math.sqrt(freedom)


def _log_beta(a: float) -> float:
    """The logarithm of the beta function of a and 1/2."""
    if a > _LARGE:  # the difference of two large logarithms would not be exact (DLMF, 5.11.13)
        ratio = math.log(a) / 2 - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5)
    else:
        ratio = math.lgamma(a + 0.5) - math.lgamma(a)
    return math.lgamma(0.5) - ratio


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF, 8.17.22), evaluated from the
    front as a product of ratios."""
    above, below, product = 1.0, 0.0, 1.0
    for n in range(1, _MOST_TERMS):
        m = n // 2
        if n % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        below = 1 / (1 + term * below)
        above = 1 + term / above
        product *= above * below
        if abs(above * below - 1) < _ENOUGH:
            break
    return 1 / product
