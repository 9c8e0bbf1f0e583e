"""A definition of FlashInfer-Bench or SOL-ExecBench as a Problem.

The definition's variable axes are the sizes; constant axes are written into the shapes. The
reference is a text with a function `run`, which takes and returns tensors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from harness.dtypes import is_float
from harness.errors import UsageError
from harness.judge.references import Written
from harness.judge.submissions import Problem

TESTED = (1, 7, 34)
"""Values of a variable axis at which kernels are verified, if none are given."""

_TYPES = {
    "float8_e4m3fn": "float8_e4m3", **{each: each for each in (
        "float64", "float32", "float16", "bfloat16", "float8_e5m2", "int64", "int32", "int16",
        "int8", "bool")},
}  # fmt: skip


def read(text: str, name: str, sizes: Mapping[str, int], scalars: Mapping[str, float]) -> Problem:
    """The problem in a definition's text. Raises UsageError if it cannot be judged."""
    try:
        found = json.loads(text)
        own = _Definition(found["axes"], found["inputs"], found["outputs"], found["reference"])
        return own.problem(str(found["name"]), found, dict(sizes), dict(scalars))
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        told = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error)
        raise UsageError(f"{name} is no definition of a problem: {told}") from None


class _Definition:
    def __init__(self, axes: Any, inputs: Any, outputs: Any, reference: str) -> None:
        self._axes, self._inputs, self._outputs = axes, inputs, outputs
        self._reference = reference
        self._constants = {n: int(a["value"]) for n, a in axes.items() if a["type"] == "const"}

    def problem(
        self, name: str, whole: Mapping[str, Any], sizes: dict[str, int], scalars: dict[str, float]
    ) -> Problem:
        if entry := whole.get("custom_inputs_entrypoint"):
            raise UsageError(f"its inputs are made by its `{entry}`, which is not called")
        arrays = {n: each for n, each in self._inputs.items() if each["shape"] is not None}
        numbers = [n for n, each in self._inputs.items() if each["shape"] is None]
        if missing := [n for n in numbers if n not in scalars]:
            raise UsageError(f"it takes a number `{missing[0]}`\n  give it: {missing[0]}=…")
        kinds = {n: self._kind(n, each) for n, each in {**arrays, **self._outputs}.items()}
        drawn = [n for n in arrays if is_float(kinds[n]) or kinds[n] == "bool"]
        if indices := [n for n in arrays if n not in drawn]:
            raise UsageError(
                f"`{indices[0]}` is of {kinds[indices[0]]}, and what it may hold stands in a "
                "workload's file, which is not read"
            )
        self._constants |= {n: sizes.pop(n) for n in list(sizes) if n in self._constants}
        main = next((kind for kind in kinds.values() if is_float(kind)), "float32")
        return Problem(
            Written(self._reference, "run"),
            inputs={n: self._shape(each) for n, each in arrays.items()},
            outputs={n: self._shape(each) for n, each in self._outputs.items()},
            test=self._test(sizes), name=_title(name), dtypes=(main,),
            types={n: kind for n, kind in kinds.items() if kind != main},
            scalars={n: scalars[n] for n in numbers}, tensors=True,
        )  # fmt: skip

    def _kind(self, name: str, array: Mapping[str, Any]) -> str:
        kind = _TYPES.get(str(array["dtype"]))
        if kind is None:
            raise UsageError(f"`{name}` is of {array['dtype']}, which kernels here cannot have")
        return kind

    def _shape(self, array: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(self._extent(str(each)) for each in array["shape"]) or ("1",)

    def _extent(self, axis: str) -> str:
        """The length of an axis as an expression over the sizes."""
        if axis in self._constants:
            return str(self._constants[axis])
        if axis.isdigit():
            return axis
        found = self._axes[axis]
        if found["type"] == "var":
            return axis
        parts = re.sub(r"[A-Za-z_]\w*", lambda m: self._extent(m[0]), found["expression"])
        return f"({parts})"

    def _test(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        names = [n for n, each in self._axes.items() if each["type"] == "var"]
        if unknown := sorted(set(sizes) - set(names)):
            raise UsageError(f"it has no axis `{unknown[0]}`; it has {', '.join(self._axes)}")
        if not names:
            return {"once": [1]}
        rows = [[sizes.get(n, TESTED[(row + at) % len(TESTED)]) for at, n in enumerate(names)]
                for row in range(len(TESTED))]  # fmt: skip
        distinct = [row for at, row in enumerate(rows) if row not in rows[:at]]
        return {", ".join(names): distinct if len(names) > 1 else [row[0] for row in distinct]}


def _title(name: str) -> str:
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
    return plain if plain[:1].isalpha() else f"problem_{plain}"
