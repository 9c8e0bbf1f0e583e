"""A Python function of a problem's folder, loaded and bound: what its parameters get, by name.

    def sum_with_triton(tensors, stream, n, blocks): ...

`tensors` maps each buffer's name to a one-dimensional torch tensor on the same memory, `stream` is
the handle of the CUDA stream on which everything is to be enqueued; any other parameter is a size,
a launch key or a `let` of the matrix. torch is whatever the caller passes: nothing here imports it.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.cases import Case
from harness.errors import HarnessError, LaunchError
from harness.near import did_you_mean
from harness.problem import line_in

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def load(folder: Path, function: str) -> Callable[..., Any]:
    """The function of `file.py:function`, below the problem's folder. Raises LaunchError."""
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
    """The file as a module, once for as long as it does not change.

    What compiles itself (a Triton kernel) keeps what it compiled in its module.
    """
    module_name = f"kernels_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # where dataclasses and pickles look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        raise _fault(path, error) from None
    return module


def bind(
    function: Callable[..., Any], case: Case, tensors: Mapping[str, Any], stream: int
) -> Callable[[], Any]:
    """A call without arguments. Raises LaunchError for a parameter that nothing fills."""
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
    except TypeError:  # an object that can be called
        path = Path(case.function.partition(":")[0])

    def call() -> Any:
        try:
            return function(**given)
        except HarnessError:
            raise
        except Exception as error:
            raise _fault(path, error) from None

    return call


def _fault(path: Path, error: BaseException) -> LaunchError:
    return LaunchError(f"{path}{line_in(path, error)}: {type(error).__name__}: {error}")
