"""The types of a submission's fields: what may be given, and how it is validated."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from harness.dtypes import BY_NAME
from harness.errors import ConfigError
from harness.judge.references import Imported, Reference, Written, reference
from harness.matrix.expressions import Expression
from harness.matrix.values import name as checked_name

_LONGEST_NAME = 200
"""In bytes; file systems take 255, of which an ending is a part."""

CONFIG = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
Extent = int | str
"""A number, or an expression over sizes, launch keys and `let`."""


def _extents(value: Any) -> Any:
    """Turn one or several dimensions into a tuple."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _shape(value: Any) -> Any:
    """Turn `"rows, cols"`, `"n"`, `["rows", 4]` or `("rows", "cols // 2")` into expressions."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        parts = (parts,)
    found = tuple(str(part).strip() for part in parts)
    for part in found:
        expression(part)
    return found


def expression(text: str) -> Expression:
    try:
        return Expression(text)
    except ConfigError as error:
        raise ValueError(str(error)) from None


def _named(value: str) -> str:
    checked_name(value)
    return value


def listed_dtypes(value: Any) -> Any:
    found = (value,) if isinstance(value, str) else value
    for each in found:
        checked_dtype(each)
    return found


def checked_dtype(value: str) -> str:
    if value not in BY_NAME:
        raise ValueError(f"{value!r} is no element type; known are {', '.join(BY_NAME)}")
    return value


def _short(value: str) -> str:
    length = len(value.encode(errors="replace"))
    if length > _LONGEST_NAME:
        raise ValueError(f"a name of {length:,} bytes; at most {_LONGEST_NAME}")
    return value


def _of_short_parts(value: str) -> str:
    for part in value.split("/"):
        _short(part)
    return value


def _finite(value: Any) -> Any:
    """Reject infinity and NaN; leave texts to the matrix."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not finite")
    return value


def _finite_sizes(sizes: dict[str, Any]) -> dict[str, Any]:
    for values in sizes.values():
        for row in values if isinstance(values, list | tuple) else (values,):
            for each in row if isinstance(row, list | tuple) else (row,):
                _finite(each)
    return sizes


def _limits(value: tuple[Any, Any]) -> tuple[Any, Any]:
    return _finite(value[0]), _finite(value[1])


def _tolerance(value: float | tuple[float, float] | None) -> float | tuple[float, float] | None:
    for each in value if isinstance(value, tuple) else (value or 0.0,):
        if not _finite(each) >= 0:
            raise ValueError(f"{each:g} is negative; a tolerance is 0 or more")
    return value


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def title(told: str) -> str:
    """Turn the name of a file or function into a valid file name on any system."""
    letters = "".join(c if c.isascii() and c.isalnum() else "_" for c in told).strip("_")
    return letters if letters[:1].isalpha() else f"kernel_{letters}".rstrip("_")


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


ShortName = Annotated[str, AfterValidator(_short)]
"""The name of something that may become a file's name."""
ShortPath = Annotated[str, AfterValidator(_of_short_parts)]
OneOrMore = str | list[str]
Name = Annotated[str, BeforeValidator(_named)]
_SeveralExtents = BeforeValidator(_extents, json_schema_input_type=Extent | list[Extent])
Extents = Annotated[tuple[Extent, ...], _SeveralExtents, Field(min_length=1)]
MaybeExtents = Annotated[tuple[Extent, ...], _SeveralExtents]
Shape = Annotated[
    tuple[str, ...], BeforeValidator(_shape, json_schema_input_type=Extent | list[Extent])
]
Names = Annotated[tuple[str, ...], BeforeValidator(_listed, json_schema_input_type=OneOrMore)]
AReference = Annotated[
    Reference, BeforeValidator(reference, json_schema_input_type=Written | Imported | str)
]
Source = Annotated[str, BeforeValidator(_text, json_schema_input_type=str)]
Dtype = Annotated[str, BeforeValidator(checked_dtype)]
Scalar = Annotated[int | float, AfterValidator(_finite)]
Limits = Annotated[tuple[Extent | float, Extent | float], AfterValidator(_limits)]
Tolerance = Annotated[float | tuple[float, float] | None, AfterValidator(_tolerance)]
Sizes = Annotated[dict[str, Any], AfterValidator(_finite_sizes)]
"""As in bench.yaml: `{"n": [1, 33]}`, or `{"rows, cols": [[1, 1], [5, 3]]}`."""
