"""Constant expressions: integers, in C's notation, that ptxas evaluates.

The values have 64 bits and are signed, unless a literal ends in U or needs the 64th bit; ptxas
(13.0) decides what the PTX ISA leaves open, such as the type of `a | b`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.emulator.errors import PtxSyntaxError
from harness.emulator.ptx.lexer import Tokens, parse_integer

_BITS = 64
_MOST_NESTING = 64
_LEVELS: Mapping[str, int] = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
"""Operator → how strongly it binds."""
_LONG = ("||", "&&", "==", "!=", "<=", ">=", "<<", ">>")


@dataclass(frozen=True)
class _Value:
    value: int
    is_unsigned: bool


def begins(tokens: Tokens) -> bool:
    """Return whether an operand that begins here is a constant expression, or may be a literal."""
    at = 0
    while tokens.peek(at) in ("(", "-", "+", "!", "~"):
        at += 1
        if at >= _MOST_NESTING or not tokens.peek(at):
            return False
    return tokens.peek(at)[:1].isdigit()


def evaluate(tokens: Tokens) -> int:
    """Take a constant expression and return its value. Raises PtxSyntaxError, with its text."""
    begun = tokens.at
    try:
        return _conditional(tokens, 0).value
    except ZeroDivisionError:
        text = " ".join(tokens.tokens[begun : tokens.at])
        raise PtxSyntaxError(tokens.line, f"a division by zero in {text!r}") from None


def follows(tokens: Tokens) -> bool:
    """Return whether an operator comes next, so that what was read is part of an expression."""
    return tokens.peek() == "?" or bool(_operator(tokens))


def _conditional(tokens: Tokens, depth: int) -> _Value:
    if depth > _MOST_NESTING:
        raise PtxSyntaxError(tokens.line, "a constant expression that is nested too deeply")
    found = _binary(tokens, 1, depth)
    if not tokens.accept("?"):
        return found
    first = _conditional(tokens, depth + 1)
    tokens.take(":")
    second = _conditional(tokens, depth + 1)
    return first if found.value else second


def _operator(tokens: Tokens) -> str:
    """The operator that comes next; empty if there is none. The marks of a long one are tokens."""
    one = tokens.peek()
    two = one + tokens.peek(1) if one else ""
    return two if two in _LONG else one if one in _LEVELS else ""


def _binary(tokens: Tokens, level: int, depth: int) -> _Value:
    left = _unary(tokens, depth)
    while _LEVELS.get(operator := _operator(tokens), 0) >= level:
        tokens.at += 2 if operator in _LONG else 1
        right = _binary(tokens, _LEVELS[operator] + 1, depth + 1)
        left = _applied(operator, left, right)
    return left


def _unary(tokens: Tokens, depth: int) -> _Value:
    if depth > _MOST_NESTING:
        raise PtxSyntaxError(tokens.line, "a constant expression that is nested too deeply")
    token = tokens.take()
    if token == "(":
        found = _conditional(tokens, depth + 1)
        tokens.take(")")
        return found
    if token in ("+", "-", "!", "~"):
        of = _unary(tokens, depth + 1)
        if token == "!":
            return _Value(int(not of.value), False)
        if token == "~":
            return _wrapped(~of.value, True)
        return _wrapped(-of.value if token == "-" else of.value, of.is_unsigned)
    try:
        value = parse_integer(token)
    except ValueError:
        raise tokens.unexpected("an integer in a constant expression", token) from None
    return _Value(value, token.endswith("U") or bool(value >> (_BITS - 1)))


def _applied(operator: str, left: _Value, right: _Value) -> _Value:
    a, b = left.value, right.value
    if operator == "&&":
        return _Value(int(bool(a and b)), False)
    if operator == "||":
        return _Value(int(bool(a or b)), False)
    if operator in ("<<", ">>"):
        by = b % _BITS
        return _wrapped(a << by if operator == "<<" else a >> by, left.is_unsigned)
    # A remainder is that of unsigned numbers, whatever the operands are.
    is_unsigned = left.is_unsigned or right.is_unsigned or operator == "%"
    a, b = _wrapped(a, is_unsigned).value, _wrapped(b, is_unsigned).value
    compared = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
    if operator in compared:
        return _Value(int(compared[operator]), False)
    return _wrapped(_arithmetic(operator, a, b), is_unsigned)


def _arithmetic(operator: str, a: int, b: int) -> int:
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "&":
            return a & b
        case "|":
            return a | b
        case "^":
            return a ^ b
        case "%":
            return a % b
    quotient = abs(a) // abs(b)  # towards zero, as in C
    return quotient if (a < 0) == (b < 0) else -quotient


def _wrapped(value: int, is_unsigned: bool) -> _Value:
    value &= (1 << _BITS) - 1
    if not is_unsigned and value >> (_BITS - 1):
        value -= 1 << _BITS
    return _Value(value, is_unsigned)
