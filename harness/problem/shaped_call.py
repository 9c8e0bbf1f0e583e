"""Call a function of arrays with the buffers of a matrix, each as a torch tensor in its shape.

If a submission's kernel is a Python function, harness/judge adds such a call to the function's
file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.errors import LaunchError
from harness.problem.shaped import ShapedProblem


class ShapedCall:
    """A function that is bound to the arrays of a problem.

    `takes`: arrays, sizes, launch keys and scalars by name, `stream` or `tensors`, in the order of
    the function's parameters. The function writes the outputs among its parameters and must return
    the others. They are copied into their buffers on the same stream, and the copy is part of the
    timed interval.
    """

    def __init__(
        self, problem: ShapedProblem, function: Callable[..., Any], takes: Sequence[str]
    ) -> None:
        self._problem, self._function, self._takes = problem, function, takes
        outputs = [name for name, each in problem.arrays.items() if each.role == "output"]
        self._returned = [] if "tensors" in takes else [n for n in outputs if n not in takes]

    def __call__(
        self, tensors: Mapping[str, Any], stream: int, names: Mapping[str, int | float]
    ) -> None:
        """Call the function. `tensors`: one-dimensional, by buffer. `names`: sizes and launch keys.

        Raises LaunchError if a result is missing, or does not fit its buffer.
        """
        import torch

        arrays = {n: each.view(self._problem.shape(n, names)) for n, each in tensors.items()}
        known = {
            **names, **self._problem.scalars, **arrays, "tensors": tensors, "stream": stream
        }  # fmt: skip
        with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
            found = self._function(*(known[name] for name in self._takes))
            for name, result in self._by_name(found).items():
                arrays[name].copy_(_fitting(name, result, arrays[name]))

    def _by_name(self, found: Any) -> Mapping[str, Any]:
        """The returned results, by output name."""
        names = self._returned
        if isinstance(found, Mapping):
            by_name = dict(found)
        else:
            several = found if isinstance(found, tuple | list) and len(names) > 1 else (found,)
            by_name = dict(zip(names, several, strict=False))
        if missing := [name for name in names if by_name.get(name) is None]:
            raise LaunchError(
                f"the function returns no `{missing[0]}`: return a tensor for each output that is "
                f"none of its parameters ({', '.join(names)}), in that order, or a dict by name"
            )
        return {name: by_name[name] for name in names}


def _fitting(name: str, result: Any, buffer: Any) -> Any:
    """The result, if it has the shape and the type of its buffer; integers may have any width."""
    if not hasattr(result, "is_floating_point"):
        raise LaunchError(
            f"the function returns a {type(result).__name__} for `{name}`, and no tensor"
        )
    floats = result.is_floating_point() or buffer.is_floating_point()
    if result.shape != buffer.shape or (floats and result.dtype != buffer.dtype):
        raise LaunchError(
            f"the function returns {tuple(result.shape)} × {result.dtype} for `{name}`, which is "
            f"{tuple(buffer.shape)} × {buffer.dtype}"
        )
    return result
