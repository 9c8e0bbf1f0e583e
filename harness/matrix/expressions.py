"""The expressions that a matrix may use for grids, blocks, shared memory, limits and numbers.

`ceil_div(n, 2 * block)`, `6 * sm_count`, `block >= 64 and block <= 512`. An expression is parsed
into a syntax tree, and only the nodes listed here are accepted; nothing ever reaches `eval`.
Integers are exact and bounded in size, so an expression can neither run long nor overflow silently.
Expressions for numbers rather than counts (arguments, macros) may also use fractions and `/`.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.errors import ExpressionError

LARGEST = 2**63 - 1
"""Integers that do not fit in 64 signed bits are rejected, both intermediate values and results."""

_MOST_CHARACTERS = 200
_LARGEST_EXPONENT = 63

Value = int | float


class _Fault(Exception):
    """An error during evaluation; the caller adds the expression in which it occurred."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what, self.remedy = what, remedy


def ceil_div(a: int, b: int) -> int:
    """Divide a by b, rounding up."""
    return -(-a // b)


def next_power_of_2(a: int) -> int:
    """The smallest power of two that is at least a (1 for a <= 1)."""
    return 1 << max(a - 1, 0).bit_length()


def _power(a: Value, b: Value) -> Value:
    least = -_LARGEST_EXPONENT if isinstance(a, float) else 0
    if not isinstance(b, int) or not least <= b <= _LARGEST_EXPONENT:
        raise _Fault(f"an exponent must lie between {least} and {_LARGEST_EXPONENT}, not {b}")
    return a**b


FUNCTIONS: Mapping[str, tuple[Callable[..., Value], int | None]] = {
    "ceil_div": (ceil_div, 2),
    "min": (min, None),
    "max": (max, None),
    "next_power_of_2": (next_power_of_2, 1),
}
"""Name → function and its number of arguments (None: two or more)."""

_BINARY: Mapping[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_WHOLE = (ast.FloorDiv, ast.Mod)
"""Operators that require integers, like ceil_div() and next_power_of_2()."""
_COMPARE: Mapping[type[ast.cmpop], Callable[[Value, Value], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ALLOWED = (
    "integers, names, + - * // % **, comparisons, and, or, not, " + ", ".join(FUNCTIONS) + "()"
)
_WRITE_INSTEAD = "write // (rounds down) or ceil_div(a, b)"
QUOTE_IT = (
    "quote it: inside [ ] and { } a comma ends a YAML value, so write "
    '"ceil_div(n, block)" with its quotation marks'
)


def is_cut(text: str, brackets: str = "()") -> bool:
    """Return whether brackets are unbalanced, which happens if YAML split the text at a comma."""
    pairs = zip(brackets[::2], brackets[1::2], strict=True)
    return any(text.count(opening) != text.count(closing) for opening, closing in pairs)


@dataclass(frozen=True)
class _Parsed:
    """A text that uses only the syntax listed above. Creating one raises ExpressionError for
    anything else."""

    text: str

    def __post_init__(self) -> None:
        _check(self._tree, self.text, isinstance(self, Number))

    @cached_property
    def _tree(self) -> ast.expr:
        if len(self.text) > _MOST_CHARACTERS:
            raise ExpressionError(
                f"an expression of {len(self.text)} characters",
                remedy=f"at most {_MOST_CHARACTERS}",
            )
        try:
            with warnings.catch_warnings():  # Python warns about text that is rejected anyway
                warnings.simplefilter("ignore")
                return ast.parse(self.text.strip(), mode="eval").body
        # With too many parentheses, Python 3.11 occasionally raises SystemError instead.
        except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
            remedy = QUOTE_IT if is_cut(self.text) else f"allowed: {_ALLOWED}"
            raise ExpressionError(f"`{self.text}` is not an expression", remedy=remedy) from None

    @property
    def names(self) -> frozenset[str]:
        """The sizes, launch keys, `let` names and device facts that the value depends on."""
        called = {id(node.func) for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        return frozenset(
            node.id
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Name) and id(node) not in called
        )

    def _evaluate(self, values: Mapping[str, Value]) -> Value:
        try:
            return _value(self._tree, values, isinstance(self, Number))
        except ZeroDivisionError:
            raise ExpressionError(
                f"`{self.text}` divides by zero{_shown(self.names, values)}"
            ) from None
        except OverflowError:
            raise ExpressionError(f"in `{self.text}`: the value is not finite") from None
        except _Fault as fault:
            raise ExpressionError(f"in `{self.text}`: {fault.what}", remedy=fault.remedy) from None

    def __str__(self) -> str:
        return self.text


class Expression(_Parsed):
    """An integer expression over sizes, launch keys and device facts.

    Construction raises ExpressionError if the text is invalid. Comparisons yield 1 or 0.
    """

    def evaluate(self, values: Mapping[str, Value]) -> int:
        """The value. Raises ExpressionError for an unknown name, a fraction or a large value."""
        return int(self._evaluate(values))


class Number(_Parsed):
    """An expression whose value may be fractional: `0.5`, `1.0 / n`. Without `/` the value is
    exact."""

    def evaluate(self, values: Mapping[str, Value]) -> Value:
        """The value, an int if no fraction was involved. Raises ExpressionError."""
        return self._evaluate(values)


def _shown(names: frozenset[str], values: Mapping[str, Value]) -> str:
    known = [f"{name} = {values[name]}" for name in sorted(names) if name in values]
    return f" with {', '.join(known)}" if known else ""


def _check(node: ast.expr, text: str, fractions: bool) -> None:
    """Reject every kind of node that `_value` does not handle."""
    parts: list[ast.expr] = []
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            if value > LARGEST:
                raise ExpressionError(f"{value} is larger than 2^63 - 1")
        case ast.Constant(value=float(value)) if fractions and math.isfinite(value):
            pass
        case ast.Name():
            pass
        case ast.BinOp(op=ast.Div()) if not fractions:
            raise ExpressionError(f"`{text}` divides with /", remedy=_WRITE_INSTEAD)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            parts = [left, right]
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            parts = [operand]
        case ast.BoolOp(values=values):
            parts = values
        case ast.Compare(left=left, ops=ops, comparators=rest) if all(
            type(op) in _COMPARE for op in ops
        ):
            parts = [left, *rest]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            _check_count(name, len(arguments))
            parts = arguments
        case _:
            piece = ast.get_source_segment(text.strip(), node) or type(node).__name__
            raise ExpressionError(
                f"`{piece}` is not allowed in an expression", remedy=f"allowed: {_ALLOWED}"
            )
    for part in parts:
        _check(part, text, fractions)


def _check_count(name: str, given: int) -> None:
    wanted = FUNCTIONS[name][1]
    if given != wanted and not (wanted is None and given > 1):
        raise ExpressionError(f"{name}() takes {wanted or 'two or more'} arguments, not {given}")


def _value(node: ast.expr, values: Mapping[str, Value], fractions: bool) -> Value:
    def of(part: ast.expr) -> Value:
        return _value(part, values, fractions)

    match node:
        case ast.Constant(value=int() | float() as value):
            result: Value = value
        case ast.Name(id=name):
            result = _named(name, values, fractions)
        case ast.BinOp(left=left, op=op, right=right):
            operands = of(left), of(right)
            _need_whole(node, operands if isinstance(op, _WHOLE) else ())
            result = _BINARY[type(op)](*operands)
        case ast.UnaryOp(op=op, operand=operand):
            result = -of(operand) if isinstance(op, ast.USub) else int(not of(operand))
        case ast.BoolOp(op=op, values=parts):
            result = int((all if isinstance(op, ast.And) else any)(map(of, parts)))
        case ast.Compare(left=left, ops=ops, comparators=rest):
            terms = [of(term) for term in (left, *rest)]
            result = int(
                all(_COMPARE[type(op)](terms[i], terms[i + 1]) for i, op in enumerate(ops))
            )
        case ast.Call(func=ast.Name(id=name), args=arguments):
            given = [of(argument) for argument in arguments]
            _need_whole(node, () if name in ("min", "max") else given)
            result = FUNCTIONS[name][0](*given)
        case _:  # _check has rejected everything else
            raise AssertionError(ast.dump(node))
    return _within(result)


def _within(result: Value) -> Value:
    if isinstance(result, float) and not math.isfinite(result):
        raise _Fault("the value is not finite")
    if isinstance(result, int) and abs(result) > LARGEST:
        raise _Fault("the value exceeds 2^63 - 1")
    return result


def _named(name: str, values: Mapping[str, Value], fractions: bool) -> Value:
    if name not in values:
        raise _Fault(f"`{name}` is unknown", f"known: {', '.join(values)}")
    found = values[name]
    if isinstance(found, float) and not fractions:
        raise _Fault(
            f"`{name}` is {found}, and an integer is needed here",
            f"where `{name}` is defined, {_WRITE_INSTEAD}",
        )
    return found


def _need_whole(node: ast.expr, operands: Sequence[Value]) -> None:
    for operand in operands:
        if isinstance(operand, float):
            raise _Fault(f"`{ast.unparse(node)}` is for integers, and one of them is {operand}")
