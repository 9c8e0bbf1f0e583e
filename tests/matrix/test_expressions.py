"""Expressions are exact integer arithmetic, and nothing else gets in."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ConfigError, ExpressionError
from harness.matrix.expressions import LARGEST, Expression

NAMES = {"n": 1_000_003, "block": 256, "warp_size": 32, "zero": 0}
"""For hand-worked and generated expressions alike."""


def infix(operators: list[str]) -> st.SearchStrategy[str]:
    leaves = st.integers(0, 1000).map(str) | st.sampled_from(list(NAMES))
    return st.recursive(
        leaves,
        lambda inner: (
            st.builds("({} {} {})".format, inner, st.sampled_from(operators), inner)
            | inner.map("(-{})".format)
            | inner.map("(not {})".format)
            | st.builds("min({}, {})".format, inner, inner)
            | st.builds("max({}, {}, {})".format, inner, inner, inner)
        ),
        max_leaves=8,
    )


OPERATORS = ["+", "-", "*", "//", "%", "<", "<=", ">", ">=", "==", "!="]


@given(infix(OPERATORS))
def test_a_value_agrees_with_pythons_own_integer_arithmetic(text: str) -> None:
    if len(text) > 200:
        return
    try:
        # The generated text holds nothing but the operators, functions and names above.
        expected = int(eval(text, {"__builtins__": {}, "min": min, "max": max}, dict(NAMES)))
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="divides by zero"):
            Expression(text).evaluate(NAMES)
        return
    try:
        found: int | str = Expression(text).evaluate(NAMES)
    except ExpressionError as error:
        found = str(error)
    if isinstance(found, str):
        assert "exceeds 2^63 - 1" in found  # on the way, if not in the end
    else:
        assert found == expected
        assert type(found) is int


@given(infix(["and", "or"]))
def test_and_and_or_come_to_one_or_zero_by_truth(text: str) -> None:
    if len(text) > 200:
        return
    truth = bool(eval(text, {"__builtins__": {}, "min": min, "max": max}, dict(NAMES)))
    assert bool(Expression(text).evaluate(NAMES)) == truth
    whole = Expression(f"({text}) and 7") if len(text) < 190 else Expression("7 and 7")
    assert whole.evaluate(NAMES) in (0, 1)


@given(st.text(max_size=60))
def test_any_text_is_an_expression_or_refused_by_name(text: str) -> None:
    try:
        value = Expression(text).evaluate(NAMES)
    except ExpressionError:
        return
    assert type(value) is int
    assert abs(value) <= LARGEST


@given(st.integers(0, 10**9), st.integers(1, 10**6))
def test_ceil_div_is_the_least_number_of_pieces_that_covers(a: int, b: int) -> None:
    pieces = Expression("ceil_div(a, b)").evaluate({"a": a, "b": b})
    assert pieces * b >= a
    assert (pieces - 1) * b < a


@given(st.integers(1, 2**62))
def test_next_power_of_2_is_the_least_that_reaches(a: int) -> None:
    power = Expression("next_power_of_2(a)").evaluate({"a": a})
    assert math.log2(power).is_integer()
    assert power >= a > power // 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ceil_div(n, 2 * block)", 1954),  # 1 000 003 / 512 = 1953.1…
        ("6 * 132", 792),
        ("2**28", 268_435_456),
        ("100_003", 100_003),
        ("0x10", 16),
        ("block >= 64 and block <= 512", 1),
        ("64 < block < 256", 0),
        ("not block", 0),
        ("-7 // 2", -4),  # rounds down, as in Python
        ("-7 % 3", 2),
        ("ceil_div(-7, 2)", -3),
        ("next_power_of_2(0)", 1),
        ("  n  ", 1_000_003),
        (f"{LARGEST}", 2**63 - 1),
        ("2**62 - 1 + 2**62", 2**63 - 1),
    ],
)
def test_a_hand_worked_expression_has_its_value(text: str, value: int) -> None:
    assert Expression(text).evaluate(NAMES) == value


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "1.5", "1e3", "1j", "True", "None", "...", '"n"', "f'{n}'", "n.real", "n[0]",
        "[n]", "{n}", "(n, n)", "n if n else n", "~n", "+n", "n << 2", "n | 1", "n & 1", "n ^ 1",
        "n @ n", "n in n", "n is n", "lambda: n", "(lambda: n)()", "(n := 1)", "n := 1", "yield",
        "await n", "*n", "n; n", "n\nn", "n n", "import os", "__import__('os')", "eval('n')",
        "abs(n)", "ceil_div", "ceil_div(n)", "ceil_div(n, n, n)", "ceil_div(a=n, b=n)",
        "ceil_div(*n)", "min()", "min(n)", "min(n, *n)", "max(n)", "next_power_of_2(n, n)",
        "n.__class__", "min.__self__", "1)(", "(", "\\", "\0", "07", "n / 2", "9223372036854775808",
        "9" * 150, "n" * 201, "-" * 5000 + "1", "(" * 5000,
    ],
)  # fmt: skip
def test_what_is_not_an_integer_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        # A bare function's name parses as a name, and is then unknown.
        Expression(text).evaluate({"n": 3})


def test_a_call_of_something_else_is_refused_when_written_not_when_evaluated() -> None:
    with pytest.raises(ExpressionError, match=r"`__import__\('os'\)` is not allowed"):
        Expression("0 and __import__('os')")


def test_division_with_a_slash_is_told_what_to_write() -> None:
    with pytest.raises(ExpressionError, match=r"write // \(rounds down\) or ceil_div"):
        Expression("n / block")


@pytest.mark.parametrize(
    "text", ["2**63", "2**64", "2**-1", "3**63", "2**62 * 4 // 8", "n * 2**62", "-(2**62) * 3",
             "next_power_of_2(2**62 + 1)"]
)  # fmt: skip
def test_a_value_beyond_64_bits_is_refused_even_halfway(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"exceeds 2\^63 - 1|exponent must lie"):
        Expression(text).evaluate({"n": 1_000_003})


@pytest.mark.parametrize("text", ["n // zero", "n % zero", "ceil_div(n, zero)"])
def test_a_division_by_zero_says_with_which_values(text: str) -> None:
    with pytest.raises(ExpressionError, match="divides by zero with n = 1000003, zero = 0"):
        Expression(text).evaluate(NAMES)


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ExpressionError, match=r"`blok` is unknown\n  known: n, block"):
        Expression("n // blok").evaluate({"n": 1, "block": 2})


def test_the_second_half_of_and_is_not_evaluated_when_the_first_decides() -> None:
    assert Expression("zero != 0 and n // zero > 1").evaluate(NAMES) == 0


def test_the_names_are_those_the_value_depends_on_and_not_the_functions() -> None:
    assert Expression("ceil_div(n, 2 * block) + min(n, 3)").names == {"n", "block"}


def test_an_expression_error_is_a_configuration_error() -> None:
    assert issubclass(ExpressionError, ConfigError)
