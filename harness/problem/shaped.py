"""A problem defined by the shapes of its arrays and a reference function.

    class Softmax(ShapedProblem):
        title = "softmax"
        arrays = {
            "x": Array("input", lambda rows, cols: (rows, cols)),
            "y": Array("output", lambda rows, cols: (rows, cols)),
        }
        compute = staticmethod(softmax)
        takes = ("x",)

Inputs, buffers, tolerance and compulsory traffic are derived from these attributes. harness/judge
generates such a class in a problem.py; users may also write one.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from harness.dtypes import is_float, numpy_dtype, rounded
from harness.errors import ProblemError
from harness.problem import Array as Values
from harness.problem import Buffer, Problem, Role, Work

__all__ = ["Array", "ShapedProblem", "ceil_div", "function_in", "module_of", "next_power_of_2"]

TOLERANCES: Mapping[str, tuple[float, float]] = {
    "float64": (1e-7, 1e-7),
    "float32": (1.3e-6, 1e-5),
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float8_e4m3": (0.125, 1e-2),
    "float8_e5m2": (0.25, 1e-2),
}
"""The default relative and absolute tolerance of each type: that of torch.testing.assert_close or,
for types that it does not cover, one unit in the last place."""

WHOLE = 4
"""The second draw of a float array without limits consists of integers up to this magnitude. Their
sums are exact, so a single lost element shows."""

_LOW, _HIGH = -100, 100
"""The range of the random integers in an array without limits; if unsigned, they begin at 0."""

_WIDE_ENOUGH = 2
"""If an input's range is at least this wide, its second draw consists of integers."""


def ceil_div(a: int, b: int) -> int:
    """Divide a by b, rounding up."""
    return -(-a // b)


def next_power_of_2(a: int) -> int:
    """The smallest power of two that is at least a (1 for a <= 1)."""
    return 1 << max(a - 1, 0).bit_length()


@dataclass(frozen=True)
class Array:
    """An array of a problem.

    `shape`: a function of the sizes that it names. `dtype`: None for the case's type. `limits`: for
    an input, a function of the sizes that gives two limits. Random numbers lie between them,
    excluding the second.
    """

    role: Role
    shape: Callable[..., Sequence[int]]
    dtype: str | None = None
    limits: Callable[..., tuple[float, float]] | None = None


class ShapedProblem(Problem):
    """A Problem whose methods are derived from `arrays` and `compute`.

    Float inputs are passed to `compute` as float64, each in its shape.
    """

    arrays: Mapping[str, Array] = {}
    compute: Callable[..., Any]
    """The reference: a function of `takes` that returns the only output, a tuple of all outputs, or
    a dict."""
    takes: Sequence[str] = ()
    """Inputs, sizes and scalars, in the order of the parameters of `compute`."""
    scalars: Mapping[str, float] = {}
    wants_tensors: bool = False
    """True if `compute` takes and returns torch tensors."""
    relative_and_absolute: tuple[float, float] | None = None
    """The tolerance of float outputs: relative · |expected| + absolute; None for TOLERANCES."""
    draw: Callable[..., Mapping[str, Values]] | None = None
    """A function that replaces the random numbers: draw(sizes, dtype, rng, draw) returns each
    input's values by its name."""
    flops: Callable[..., int] | None = None
    """The arithmetic of the definition, a function of the sizes."""

    def __init__(self) -> None:
        self._last: tuple[Any, Mapping[str, Values]] = (None, {})

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        return [
            Buffer(name, each.role, each.dtype or dtype, math.prod(self.shape(name, sizes)))
            for name, each in self.arrays.items()
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Values]:
        own = type(self).draw
        if own is not None:
            return own(dict(sizes), dtype, rng, draw)
        return {
            name: self._drawn(name, sizes, dtype, rng, draw)
            for name, each in self.arrays.items()
            if each.role == "input"
        }

    def _drawn(
        self, name: str, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Values:
        each, shape = self.arrays[name], self.shape(name, sizes)
        kind = each.dtype or dtype
        own = numpy_dtype(kind)
        limits = _of_sizes(each.limits, sizes) if each.limits else None
        if own == np.bool_:
            return rng.integers(0, 2, shape).astype(np.bool_)
        if not is_float(kind):
            low, high = limits or (_LOW if own.kind == "i" else 0, _HIGH)
            return rng.integers(int(low), int(high), shape).astype(own)
        if limits is None:
            if draw == 1:
                return rng.integers(-WHOLE, WHOLE + 1, shape).astype(np.float64).astype(own)
            return rounded(rng.standard_normal(shape), kind)
        low, high = limits
        first, last = math.ceil(low), math.ceil(high)
        if draw == 1 and last - first >= _WIDE_ENOUGH:
            return rng.integers(first, last, shape).astype(np.float64).astype(own)
        return rounded(low + (high - low) * rng.random(shape), kind)

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Values]
    ) -> Mapping[str, Values]:
        given: dict[str, Any] = {**sizes, **self.scalars}
        for name, values in inputs.items():
            kind = self.arrays[name].dtype or dtype
            shaped = np.asarray(values).reshape(self.shape(name, sizes))
            exact = shaped.astype(np.float64) if is_float(kind) else shaped.copy()
            given[name] = _tensor(exact) if self.wants_tensors else exact
        found = type(self).compute(*(given[name] for name in self.takes))
        results = self._by_name(found, sizes)
        self._last = (inputs, results)
        return results

    def _by_name(self, found: Any, sizes: Mapping[str, int]) -> Mapping[str, Values]:
        outputs = [name for name, each in self.arrays.items() if each.role == "output"]
        if not isinstance(found, Mapping):
            several = found if isinstance(found, tuple | list) and len(outputs) > 1 else (found,)
            if len(several) != len(outputs):
                raise ProblemError(
                    f"the reference returns {len(several)} arrays for the outputs "
                    f"{', '.join(outputs)}: return a tuple in that order, or a dict by name"
                )
            found = dict(zip(outputs, several, strict=True))
        results = {}
        for name in outputs:
            if name not in found:
                raise ProblemError(f"the reference returns no `{name}`")
            values, wanted = _array(found[name]), self.shape(name, sizes)
            if np.iscomplexobj(values):
                raise ProblemError(
                    f"the reference returns complex values for `{name}`: return their real or "
                    "imaginary parts, or make each of them an output"
                )
            if values.size != math.prod(wanted):
                raise ProblemError(
                    f"the reference returns `{name}` in the shape {values.shape}; "
                    f"the problem says {tuple(wanted)}"
                )
            results[name] = values
        return results

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Values]
    ) -> Mapping[str, Values | float]:
        known, results = self._last
        if known is not inputs:
            results = self.reference(sizes, dtype, inputs)
        return {name: self._bound(name, dtype, values) for name, values in results.items()}

    def _bound(self, name: str, dtype: str, expected: Values) -> Values | float:
        kind = self.arrays[name].dtype or dtype
        if not is_float(kind):
            return 0.0
        relative, absolute = self.relative_and_absolute or TOLERANCES[kind]
        return absolute + relative * np.abs(expected.astype(np.float64))

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        def moved(role: Role) -> int:
            return sum(b.nbytes for b in self.buffers(sizes, dtype) if b.role == role)

        own = type(self).flops
        flops = int(_of_sizes(own, sizes)) if own is not None else 0
        return Work(moved("input"), moved("output"), flops)

    def shape(self, name: str, sizes: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape of an array at these sizes."""
        return tuple(int(extent) for extent in _of_sizes(self.arrays[name].shape, sizes))


def function_in(path: str, name: str) -> Any:
    """Return what a Python file or extension defines as `name`, such as `Class.method`."""
    found: Any = module_of(path)
    for part in name.split("."):
        if not hasattr(found, part):
            raise ProblemError(f"{path} defines no `{name}`")
        found = getattr(found, part)
    return found


def module_of(path: str) -> ModuleType:
    """Load a Python file, or a compiled extension, which may be one of torch's."""
    file = Path(path)
    is_compiled = file.suffix != ".py"
    # A compiled module's name must match its initialisation function.
    module = file.name.partition(".")[0] if is_compiled else f"reference_{file.stem}"
    spec = importlib.util.spec_from_file_location(module, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise ProblemError(f"{path}, which a function of this problem is in, is not there")
    if is_compiled and importlib.util.find_spec("torch"):
        importlib.import_module("torch")  # loads the libraries that its extensions need
    found = importlib.util.module_from_spec(spec)
    sys.modules[module] = found
    sys.path.append(str(file.parent))  # for modules in the same folder
    spec.loader.exec_module(found)
    return found


def _of_sizes(function: Callable[..., Any], sizes: Mapping[str, Any]) -> Any:
    """Call a function with the sizes that its parameters name."""
    return function(**{name: sizes[name] for name in inspect.signature(function).parameters})


def _tensor(values: Values) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(values))


def _array(values: Any) -> Values:
    """Convert a reference's result, which may be a torch tensor, to a NumPy array."""
    if not hasattr(values, "detach"):
        return np.asarray(values)
    found = values.detach().cpu()
    # NumPy cannot convert torch's bfloat16.
    narrow = str(getattr(found, "dtype", "")).startswith(("torch.bfloat16", "torch.float8"))
    return np.asarray((found.double() if narrow else found).numpy())
