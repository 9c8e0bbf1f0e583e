"""The integer expressions that bench.yaml may use for grids, blocks, shared memory and limits.

`ceil_div(n, 2 * block)`, `6 * sm_count`, `block >= 64 and block <= 512`. An expression is parsed
into a syntax tree of which only the nodes listed here are accepted; nothing is ever handed to
`eval`. Values are exact Python integers with a bound on their size, so an expression can neither
run long nor overflow silently.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from harness.errors import ExpressionError

LARGEST = 2**63 - 1
"""Results and intermediate values beyond a signed 64-bit integer are refused."""

_MOST_CHARACTERS = 200
_LARGEST_EXPONENT = 63


def ceil_div(a: int, b: int) -> int:
    """How many pieces of size b cover a."""
    return -(-a // b)


def next_power_of_2(a: int) -> int:
    """The smallest power of two that is at least a (1 for a <= 1)."""
    return 1 << max(a - 1, 0).bit_length()


def _power(a: int, b: int) -> int:
    if not 0 <= b <= _LARGEST_EXPONENT:
        raise ExpressionError(f"an exponent must lie between 0 and {_LARGEST_EXPONENT}, not {b}")
    return int(a**b)


FUNCTIONS: Mapping[str, tuple[Callable[..., int], int | None]] = {
    "ceil_div": (ceil_div, 2),
    "min": (min, None),
    "max": (max, None),
    "next_power_of_2": (next_power_of_2, 1),
}
"""Name → function and its number of arguments (None: two or more)."""

_BINARY: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
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


@dataclass(frozen=True)
class Expression:
    """An integer expression over sizes, launch keys and device facts.

    Construction raises ExpressionError when the text is not one. Comparisons come to 1 or 0.
    """

    text: str

    def __post_init__(self) -> None:
        _check(self._tree, self.text)

    @cached_property
    def _tree(self) -> ast.expr:
        if len(self.text) > _MOST_CHARACTERS:
            raise ExpressionError(
                f"an expression of {len(self.text)} characters",
                remedy=f"at most {_MOST_CHARACTERS}",
            )
        try:
            return ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ExpressionError(
                f"`{self.text}` is not an expression", remedy=f"allowed: {_ALLOWED}"
            ) from None

    @property
    def names(self) -> frozenset[str]:
        """The sizes, launch keys and device facts that the value depends on."""
        called = {id(node.func) for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        return frozenset(
            node.id
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Name) and id(node) not in called
        )

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The value. Raises ExpressionError for an unknown name or a value too large."""
        try:
            return _value(self._tree, values)
        except ZeroDivisionError:
            raise ExpressionError(
                f"`{self.text}` divides by zero with {_shown(self.names, values)}"
            ) from None
        except ExpressionError as error:
            raise ExpressionError(f"in `{self.text}`: {error}") from None

    def __str__(self) -> str:
        return self.text


def _shown(names: frozenset[str], values: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {values[name]}" for name in sorted(names) if name in values)


def _check(node: ast.expr, text: str) -> None:
    """Refuse every kind of node that _value does not know."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            if value > LARGEST:
                raise ExpressionError(f"{value} is larger than 2^63 - 1")
            return
        case ast.Name():
            return
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
            wanted = FUNCTIONS[name][1]
            if len(arguments) != wanted and not (wanted is None and len(arguments) > 1):
                raise ExpressionError(
                    f"{name}() takes {wanted or 'two or more'} arguments, not {len(arguments)}"
                )
            parts = arguments
        case ast.BinOp(op=ast.Div()):
            raise ExpressionError(
                f"`{text}` divides with /", remedy="write // (rounds down) or ceil_div(a, b)"
            )
        case _:
            piece = ast.get_source_segment(text.strip(), node) or type(node).__name__
            raise ExpressionError(
                f"`{piece}` is not allowed in an expression", remedy=f"allowed: {_ALLOWED}"
            )
    for part in parts:
        _check(part, text)


def _value(node: ast.expr, values: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            result = value
        case ast.Name(id=name):
            if name not in values:
                raise ExpressionError(f"`{name}` is unknown", remedy=f"known: {', '.join(values)}")
            result = values[name]
        case ast.BinOp(left=left, op=op, right=right):
            result = _BINARY[type(op)](_value(left, values), _value(right, values))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            result = -_value(operand, values)
        case ast.UnaryOp(operand=operand):
            result = int(not _value(operand, values))
        case ast.BoolOp(op=ast.And(), values=parts):
            result = int(all(_value(part, values) for part in parts))
        case ast.BoolOp(values=parts):
            result = int(any(_value(part, values) for part in parts))
        case ast.Compare(left=left, ops=ops, comparators=rest):
            terms = [_value(term, values) for term in (left, *rest)]
            result = int(
                all(_COMPARE[type(op)](terms[i], terms[i + 1]) for i, op in enumerate(ops))
            )
        case ast.Call(func=ast.Name(id=name), args=arguments):
            result = FUNCTIONS[name][0](*(_value(argument, values) for argument in arguments))
        case _:  # _check has refused everything else
            raise AssertionError(ast.dump(node))
    if abs(result) > LARGEST:
        raise ExpressionError("the value exceeds 2^63 - 1")
    return result
