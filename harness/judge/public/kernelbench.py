"""A KernelBench file as a Problem. The module's parameters are also inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import HarnessError, UsageError
from harness.judge.references import Written
from harness.judge.submissions import Problem
from harness.problem.model_file import ModelFile

MOST = 1 << 22
"""The most elements in all inputs together; more would take minutes without a GPU."""


def read(text: str, name: str, sizes: Mapping[str, int]) -> Problem:
    """The problem in a file's text, at one set of sizes. Raises UsageError if the file is not a
    KernelBench problem."""
    try:
        return _read(text, name, sizes)
    except HarnessError as error:
        raise UsageError(f"{name}: {error}") from None
    except Exception as error:  # raised by the file's own code
        told = str(error).splitlines() or [""]
        raise UsageError(f"{name}: it raises {type(error).__name__}: {told[0]}") from None


def _read(text: str, name: str, sizes: Mapping[str, int]) -> Problem:
    found = ModelFile(text, sizes)
    elements = sum(prod(v.shape) for v in found.on_meta().values() if hasattr(v, "shape"))
    if elements > MOST:
        named = ", ".join(f"{size} = {value}" for size, value in found.sizes.items())
        raise UsageError(
            f"its inputs have {elements:,} elements; at most {MOST:,} are emulated\n"
            f"  give smaller sizes; it has {named or 'none by name'}"
        )
    inputs = found.drawn(np.random.default_rng(0))
    outputs = found.compute(*(_exact(each) for each in inputs.values()))
    again = found.compute(*(_exact(each) for each in inputs.values()))
    if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(outputs, again, strict=True)):
        raise UsageError("its results differ from call to call: no kernel can be held to them")
    results = ["out"] if len(outputs) == 1 else [f"out{n}" for n in range(len(outputs))]
    clash = [each for each in results if each in inputs]
    results = [f"{each}_" if clash else each for each in results]
    # Matrix sizes are positive; other values, such as a padding of 0, remain as in the file.
    given = {size: value for size, value in found.sizes.items() if value > 0} or {"once": 1}
    types = {**_types(inputs), **_types(dict(zip(results, outputs, strict=True)))}
    return Problem(
        _reference(text, found.sizes if sizes else {}, tuple(inputs)),
        inputs={each: _shape(values) for each, values in inputs.items()},
        outputs={each: _shape(values) for each, values in zip(results, outputs, strict=True)},
        test={", ".join(given): [list(given.values())]} if len(given) > 1 else
             {each: [value] for each, value in given.items()},
        name=_title(name), types=types,
        draw=Written("def drawn(sizes, dtype, rng, draw):\n    return model.drawn(rng)\n", "drawn"),
    )  # fmt: skip


def _reference(text: str, sizes: Mapping[str, int], names: tuple[str, ...]) -> Written:
    source = (
        "from harness.problem.model_file import ModelFile\n\n"
        f"model = ModelFile({text!r}, {dict(sizes)!r})\n\n\n"
        "def reference(*arrays):\n    return model.compute(*arrays)\n"
    )
    return Written(source, "reference", parameters=names)


def _exact(values: Any) -> Any:
    return values.astype(np.float64) if values.dtype.kind not in "iub" else values


def _shape(values: Any) -> tuple[str, ...]:
    return tuple(map(str, values.shape)) or ("1",)


def _types(arrays: Mapping[str, Any]) -> dict[str, str]:
    """The types of the arrays that are not floats; all floats have the case's type."""
    return {n: str(each.dtype) for n, each in arrays.items() if each.dtype.kind in "iub"}


def _title(name: str) -> str:
    """A valid folder name: letters, digits and _."""
    plain = re.sub(r"\W+", "_", Path(name).stem, flags=re.ASCII).strip("_").lower()
    return plain if plain[:1].isalpha() else f"problem_{plain}"
