"""A tensor map as an argument of a step: its written form, and its values at one size.

`{tensor_map: a, shape: [k, m], box: [64, 128], swizzle: 128B}`. Dimensions are listed innermost
first, as in the driver API and in PTX coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator

from harness.cases import TensorMap
from harness.console.suggestions import did_you_mean
from harness.dtypes import tensor_map_element
from harness.matrix import forms
from harness.matrix.expressions import Expression
from harness.matrix.values import argument, expression
from harness.problem import Buffer
from harness.silicon.tensor_maps import FILLS, L2_PROMOTIONS, MOST_RANK, SWIZZLES, TensorLayout

_LISTS = ("shape", "box", "strides")
_CHOICES = {"swizzle": tuple(SWIZZLES), "fill": FILLS, "l2": L2_PROMOTIONS}
KEYS = ("tensor_map", *_LISTS, *_CHOICES)

Whole = Callable[[Expression, str, int], int]
"""A function that evaluates an expression of a list, given the list's key and the position in the
list."""


@dataclass(frozen=True)
class WrittenTensorMap:
    """A tensor map before its expressions are evaluated; the tensor begins at `buffer`.

    `shape`, `box`: in elements. `strides`: in bytes, for all dimensions except the innermost; by
    default there are no gaps between rows.
    """

    buffer: str
    shape: tuple[Expression, ...]
    box: tuple[Expression, ...]
    strides: tuple[Expression, ...] = ()
    swizzle: str = "none"
    fill: str = "zero"
    l2: str = "none"

    @property
    def names(self) -> frozenset[str]:
        """The names that the map's expressions use."""
        return frozenset().union(*(each.names for key in _LISTS for each in getattr(self, key)))

    def written(self) -> dict[str, Any]:
        """Return the map as it is written in a matrix."""
        lists = {key: [str(each) for each in getattr(self, key)] for key in _LISTS}
        found = {"tensor_map": self.buffer, **lists}
        found |= {key: getattr(self, key) for key in _CHOICES}
        return {key: value for key, value in found.items() if value}

    def at(self, buffer: Buffer, whole: Whole) -> TensorMap | str:
        """The map of a buffer at one size, or the reason why the driver would reject it."""
        element = tensor_map_element(buffer.dtype)
        if not element:
            return f"`{buffer.name}` is {buffer.dtype}: a tensor map has no such elements"
        lists: dict[str, Any] = {
            key: tuple(whole(each, key, n) for n, each in enumerate(getattr(self, key)))
            for key in _LISTS
        }
        layout = TensorLayout(element, swizzle=self.swizzle, fill=self.fill, l2=self.l2, **lists)
        if why := layout.refused():
            return why
        if layout.extent > buffer.nbytes:
            return f"a tensor of {layout.extent:,} bytes: `{buffer.name}` has {buffer.nbytes:,}"
        return TensorMap(buffer.name, layout)

    def __str__(self) -> str:
        said = ", ".join(
            f"{key}: [{', '.join(value)}]" if isinstance(value, list) else f"{key}: {value}"
            for key, value in self.written().items()
        )
        return f"{{{said}}}"


def _step_argument(value: Any) -> str | int | float | WrittenTensorMap:
    if isinstance(value, WrittenTensorMap):
        return value
    return _tensor_map(value) if isinstance(value, dict) else argument(value)


def _tensor_map(value: dict[str, Any]) -> WrittenTensorMap:
    for key in value:
        if key not in KEYS:
            near = did_you_mean(str(key), KEYS)
            raise ValueError(f"{key}: unknown key{near}; known here: {', '.join(KEYS)}")
    for key in ("tensor_map", "shape", "box"):
        if key not in value:
            raise ValueError(
                f"`{key}` is missing: write {{tensor_map: a, shape: [k, m], box: [64, 128]}}"
            )
    buffer = value["tensor_map"]
    if not isinstance(buffer, str):
        raise ValueError("tensor_map: write the name of a buffer")
    found: dict[str, Any] = {key: _numbers(key, value[key]) for key in _LISTS if key in value}
    for key, known in _CHOICES.items():
        if key in value and value[key] not in known:
            raise ValueError(f"{key}: `{value[key]}` is not one of {', '.join(known)}")
    found |= {key: value[key] for key in _CHOICES if key in value}
    return WrittenTensorMap(buffer, **found)


def _numbers(key: str, value: Any) -> tuple[Expression, ...]:
    items: Sequence[Any] = value if isinstance(value, list) else [value]
    if not 1 <= len(items) <= MOST_RANK:
        raise ValueError(f"{key}: a tensor has one to {MOST_RANK} dimensions")
    try:
        return tuple(map(expression, items))
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


StepArgument = Annotated[
    str | int | float | WrittenTensorMap, BeforeValidator(_step_argument),
    forms.argument("tensor_map", dict.fromkeys(_LISTS, MOST_RANK), ("shape", "box"), _CHOICES),
]  # fmt: skip
