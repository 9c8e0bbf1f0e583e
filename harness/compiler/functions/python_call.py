"""Load a Python function from a problem's folder, and bind its parameters by name.

    def sum_with_triton(tensors, stream, n, blocks): ...

`tensors` maps each buffer's name to a one-dimensional torch tensor on the same memory. `stream` is
the handle of the CUDA stream on which everything is to be enqueued. Any other parameter is a size,
a launch key or a `let` of the matrix. The caller passes torch; this module never imports it.

A library's function may return its results in newly allocated tensors, as it does for its users:
one tensor if there is only one output, or a mapping of each output's name to its tensor. The
results are copied into the buffers outside the timed interval.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.cases import Case
from harness.console.suggestions import did_you_mean
from harness.errors import HarnessError, LaunchError, NotInstalled
from harness.problem.loading import line_in

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def load(folder: Path, function: str) -> Callable[..., Any]:
    """Load the function `file.py:function` from the problem's folder. Raises LaunchError."""
    file, _, name = function.partition(":")
    path = folder / file
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise _fault(path, error) from None
    found = getattr(_module(path, changed), name, None)
    if not callable(found):
        raise LaunchError(f"{path} defines no function `{name}`")
    return found


@cache
def _module(path: Path, changed: int) -> ModuleType:
    """Load the file as a module, and reuse the module until the file changes.

    A function that compiles itself (a Triton kernel) keeps the result in its module.
    """
    module_name = f"kernels_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # where dataclasses and pickle look up the module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        raise _fault(path, error) from None
    return module


def bind(
    function: Callable[..., Any],
    case: Case,
    tensors: Mapping[str, Any],
    stream: int,
    by: Callable[..., Any] | None = None,
) -> Callable[[], Any]:
    """Bind all arguments and return the call. Raises LaunchError if a parameter has no value.

    `by`: the callable to use instead of the function, such as a compiled version of it.
    """
    known = {**case.sizes, **case.launch, **case.let, "tensors": tensors, "stream": stream}
    wrong = []
    given = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in _BY_NAME and name in known:
            given[name] = known[name]
        else:
            wrong.append(str(parameter) if parameter.kind not in _BY_NAME else name)
    if wrong:
        names = ", ".join(known)
        near = did_you_mean(wrong[0], known)
        raise LaunchError(
            f"{case.function} takes {', '.join(f'`{each}`' for each in wrong)}, which is none of "
            f"{names}{near}"
        )

    try:
        path = Path(inspect.getfile(inspect.unwrap(function)))
    except TypeError:  # a callable object
        path = Path(case.function.partition(":")[0])

    def call() -> Any:
        try:
            return (by or function)(**given)
        except HarnessError:
            raise
        except Exception as error:
            if type(error).__name__ == "OutOfMemoryError":  # torch's; avoids importing it
                raise
            raise _fault(path, error) from None

    return call


def results(
    returned: Any,
    case: Case,
    buffers: Mapping[str, Any],
    outputs: Sequence[str],
    plain: type | None = None,
) -> list[tuple[Any, Any]]:
    """List the copies still to be made: pairs of a buffer's tensor and its result.

    `buffers`: each buffer's tensor, by name. `plain`: torch.Tensor. A result must be exactly of
    this class, because a subclass may compute when it is copied. Raises LaunchError for anything
    that cannot be a result. One such case is a view of a buffer: a function that returns a view has
    computed nothing.
    """
    if returned is None:
        return []
    if not isinstance(returned, Mapping):
        if len(outputs) != 1:
            names = ", ".join(outputs)
            raise LaunchError(f"{case.variant} returns one result for several outputs: {names}")
        returned = {outputs[0]: returned}
    found = []
    for name, result in returned.items():
        if name not in outputs:
            raise LaunchError(f"{case.variant} returns `{name}`, which is no output")
        buffer = buffers[name]
        if not hasattr(result, "untyped_storage"):
            given = type(result).__name__
            raise LaunchError(f"{case.variant} returns a {given} for `{name}`; it needs a tensor")
        if plain is not None and type(result) is not plain:
            raise LaunchError(
                f"{case.variant} returns a {type(result).__name__} for `{name}`, which may compute "
                "when it is copied; it needs a plain torch.Tensor"
            )
        if result.numel() != buffer.numel() or not _alike(result, buffer):
            raise LaunchError(
                f"{case.variant} returns {result.numel()} × {result.dtype} for `{name}`, which is "
                f"{buffer.numel()} × {buffer.dtype}"
            )
        if result.data_ptr() == buffer.data_ptr():
            continue  # already written into the buffer
        _check_memory(result, name, case, buffers)
        found.append((buffer, result))
    return found


def _alike(result: Any, buffer: Any) -> bool:
    """Return whether the types are the same, or both are integers, since a library may return wider
    integers."""
    floating = result.is_floating_point(), buffer.is_floating_point()
    return bool(result.dtype == buffer.dtype or not any(floating))


def _check_memory(result: Any, name: str, case: Case, buffers: Mapping[str, Any]) -> None:
    """Check that a result has memory of its own for every element."""
    memory = result.untyped_storage()
    for other, buffer in buffers.items():
        first = buffer.data_ptr()
        if first <= memory.data_ptr() < first + buffer.numel() * buffer.element_size():
            raise LaunchError(f"{case.variant} returns a view of `{other}` for `{name}`")
    if memory.nbytes() < result.numel() * result.element_size():
        raise LaunchError(f"{case.variant} returns a view that repeats elements for `{name}`")


def _fault(path: Path, error: BaseException) -> LaunchError:
    kind = NotInstalled if isinstance(error, ModuleNotFoundError) else LaunchError
    return kind(f"{path}{line_in(path, error)}: {type(error).__name__}: {error}")
