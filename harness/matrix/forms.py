"""The written form of each matrix value, for the JSON Schema that editors use.

A schema covers kinds and choices. Each form is declared next to its validator in values.py, which
makes finer checks, such as whether an expression is valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import WithJsonSchema

Form = dict[str, Any]

_WHOLE: Form = {"type": ["integer", "string"]}
_NUMERIC: Form = {"type": ["number", "string"]}


def _several(item: Form, **more: Any) -> Form:
    return {"type": "array", "items": item, "minItems": 1, **more}


def _or_several(item: Form, **more: Any) -> Form:
    return {"anyOf": [item, _several(item, **more)]}


WHOLE = WithJsonSchema(_WHOLE)
"""An integer, or an expression."""
NUMERIC = WithJsonSchema(_NUMERIC)
EXTENTS = WithJsonSchema(_or_several(_WHOLE, maxItems=3))
LOOKS = WithJsonSchema(_or_several({"type": "integer", "minimum": 3, "maximum": 1000}))
ROUNDS = WithJsonSchema(
    {"anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 6, "maximum": 1000}]}
)
AXES = WithJsonSchema(
    {"type": "object",
     "additionalProperties": {"anyOf": [_WHOLE, _several(_or_several(_WHOLE))]}}
)  # fmt: skip
"""Lists of numbers under one name, or lists of rows under several names."""


def one_of(names: Iterable[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": list(names)})


def some_of(names: Iterable[str]) -> WithJsonSchema:
    """A value, a list of values, or none."""
    one: Form = {"type": "string", "enum": list(names)}
    return WithJsonSchema({"anyOf": [one, _several(one), {"type": "null"}]})


def argument(
    name: str, lists: Mapping[str, int], wanted: Iterable[str], choices: Mapping[str, Iterable[str]]
) -> WithJsonSchema:
    """A number, a name, or a mapping. `lists`: key → the maximum number of expressions in its list.
    `choices`: key → the words that are valid for it."""
    keys: Form = {name: {"type": "string"}}
    keys |= {key: _or_several(_WHOLE, maxItems=most) for key, most in lists.items()}
    keys |= {key: {"type": "string", "enum": list(known)} for key, known in choices.items()}
    mapping = {
        "type": "object", "additionalProperties": False, "required": [name, *wanted],
        "properties": keys,
    }  # fmt: skip
    return WithJsonSchema({"anyOf": [_NUMERIC, mapping]})


def matching(pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern})


def budgets(names: Iterable[str]) -> WithJsonSchema:
    marked = {
        "type": "object", "additionalProperties": False, "required": ["limit", "may_be_unchecked"],
        "properties": {"limit": _NUMERIC, "may_be_unchecked": {"type": "boolean"}},
    }  # fmt: skip
    return WithJsonSchema(
        {"type": "object", "minProperties": 1, "propertyNames": {"enum": list(names)},
         "additionalProperties": {"anyOf": [_NUMERIC, marked, {"type": "null"}]}}
    )  # fmt: skip
