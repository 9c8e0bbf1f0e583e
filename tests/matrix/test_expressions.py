"""Expressions are exact integer arithmetic, and no other syntax is accepted."""

from __future__ import annotations

import ast
import math
import time
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ConfigError, ExpressionError
from harness.matrix.expressions import LARGEST, Expression, Number, is_cut

NAMES = {"n": 1_000_003, "block": 256, "warp_size": 32, "zero": 0}
"""The names in both hand-worked and generated expressions."""


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
        assert "exceeds 2^63 - 1" in found  # an intermediate value, if not the result
    else:
        assert found == expected
        assert type(found) is int


class _Truths(ast.NodeTransformer):
    """Turn Python's `a and b`, whose value is one of the two, into a bool, which is 0 or 1."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.Call:
        self.generic_visit(node)
        return ast.Call(ast.Name("bool", ast.Load()), [node], [])


@given(infix(["and", "or", "+", "<"]))
def test_and_and_or_come_to_one_or_zero_by_truth(text: str) -> None:
    if len(text) > 200:
        return
    tree = ast.fix_missing_locations(_Truths().visit(ast.parse(text, mode="eval")))
    allowed = {"__builtins__": {}, "min": min, "max": max, "bool": bool}
    expected = int(eval(compile(tree, text, "eval"), allowed, dict(NAMES)))
    assert Expression(text).evaluate(NAMES) == expected


def test_what_and_or_come_to_counts_as_a_number() -> None:
    assert Expression("min(0, 0 or -1)").evaluate(NAMES) == 0  # Python's own `or` gives -1
    assert Expression("(2 and 7) + (0 or 5)").evaluate(NAMES) == 2


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


@pytest.mark.fault(
    "an expression such as __import__('os'), 9**9**9**9 or ().__class__",
    outcome="refused within milliseconds, with what an expression may have; nothing is evaluated",
)
@pytest.mark.parametrize("kind", [Expression, Number])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__import__('os')", "is not allowed"),
        ("().__class__", "is not allowed"),
        ("[c for c in ().__class__.__base__.__subclasses__()]", "is not allowed"),
        ("9**9**9**9", "an exponent must lie between 0 and 63"),
        ("9**63 * 9**63 * 9**63", r"exceeds 2\^63 - 1"),
        ("2**63 % 0", r"exceeds 2\^63 - 1"),
        ("0 and 9**9**9**9 or 1 // 0", "divides by zero\\Z"),
        ("max(" * 49 + "9", "is not an expression"),
        ("(" * 100 + ")" * 100, "is not an expression|is not allowed"),
        ("'\\d' * 9", "is not allowed"),
    ],
)  # fmt: skip
def test_a_hostile_expression_is_refused_at_once_and_without_a_warning(
    kind: type[Expression | Number], text: str, words: str
) -> None:
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ExpressionError, match=words):
            kind(text).evaluate({})
    assert time.process_time() - begun < 0.1


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


# --- numbers that may have a fraction ------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        ("1e-5", 1e-5),
        ("1.0 / n", 1 / 1_000_003),
        ("block / 4", 64.0),  # a quotient is a fraction, even if it is a whole number
        ("-0.25 * block", -64.0),
        ("max(0.5, n)", 1_000_003),
        ("2.0 ** -10", 1 / 1024),
        ("0.5 < 1", 1),
        ("block * 2", 512),
        ("2**62 - 1 + 2**62", 2**63 - 1),  # exact if no fraction is involved
    ],
)
def test_a_number_has_its_value_and_is_an_integer_where_it_is_exact(
    text: str, value: float
) -> None:
    found = Number(text).evaluate(NAMES)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1.0 / zero", "divides by zero"),
        ("1e308 * 10", "not finite"),
        ("1e300 ** 2", "not finite"),
        ("0.5 // 2", "`0.5 // 2` is for integers, and one of them is 0.5"),
        ("n % 0.5", "is for integers"),
        ("ceil_div(n, 0.5)", "is for integers"),
        ("next_power_of_2(1.5)", "is for integers"),
        ("2 ** 0.5", "an exponent must lie between"),
        ("2 ** -1", "an exponent must lie between 0 and 63"),
        ("2.0 ** 64", "an exponent must lie between -63 and 63"),
        ("1e999", "is not allowed"),
        ("1j", "is not allowed"),
        ("n.real", "is not allowed"),
    ],
)
def test_what_is_no_number_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        Number(text).evaluate(NAMES)
    assert words in str(caught.value)


@given(infix([*OPERATORS, "/"]), st.floats(-1e3, 1e3))
def test_a_number_agrees_with_pythons_own_arithmetic(text: str, scale: float) -> None:
    names = {**NAMES, "block": scale}
    if len(text) > 200:
        return
    try:
        expected = eval(text, {"__builtins__": {}, "min": min, "max": max}, dict(names))
        found = Number(text).evaluate(names)
    except (ZeroDivisionError, OverflowError):
        with pytest.raises(ExpressionError):
            Number(text).evaluate(names)
        return
    except ExpressionError as error:
        found, expected = str(error), "a limit of ours, which Python has not"
        if any(word in found for word in ("for integers", "exceeds 2^63 - 1", "not finite")):
            expected = found
    assert found == expected


def test_an_integer_is_not_made_of_a_name_that_stands_for_a_fraction() -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression("ceil_div(n, part)").evaluate({"n": 8, "part": 0.5})
    assert "`part` is 0.5, and an integer is needed here" in str(caught.value)
    assert "where `part` is defined, write //" in str(caught.value)


@pytest.mark.parametrize("text", ["ceil_div(n", "block)", "min(n, (2)"])
def test_a_value_that_yaml_cut_at_a_comma_is_told_to_be_quoted(text: str) -> None:
    assert is_cut(text)
    with pytest.raises(ExpressionError, match=r"quote it: inside \[ \] and { } a comma ends"):
        Expression(text)


def test_an_expression_at_which_python_itself_fails_is_refused_like_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise SystemError("AST constructor recursion depth mismatch (before=54, after=48)")

    monkeypatch.setattr("harness.matrix.expressions.ast.parse", failing)
    with pytest.raises(ExpressionError, match="is not an expression"):
        _ = Expression("n + 1").names
