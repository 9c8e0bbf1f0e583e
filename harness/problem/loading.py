"""Load a problem.py and enforce its contract; a violation is reported with its location."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, get_origin

import numpy as np

from harness.errors import HarnessError, ProblemError
from harness.problem import (
    ARITHMETIC,
    MOST_WORK,
    Array,
    Buffer,
    Problem,
    Role,
    Work,
    is_integer,
    uses,
)
from harness.processes import deadline

PLANNING_S = 60.0
"""Deadline in seconds for importing a problem.py, and for each call to its buffers() and work()."""

_PLANNED = ("buffers", "work")
"""The methods called to plan a run. All others are called in workers, which have deadlines."""

_ENDLESS = f"not done within {PLANNING_S:g} s, and was stopped"


class _AsItStands(SourceFileLoader):
    """A loader that compiles a file every time.

    Python's cache of compiled files misses a change that is made within the same second and leaves
    the file's length unchanged.
    """

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def load(folder: Path) -> Problem:
    """The Problem defined by `folder/problem.py`. Raises ProblemError with the location."""
    path = folder / "problem.py"
    name = f"kernels_{folder.name}_problem"
    loader = _AsItStands(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # torch.compile looks up names there
    try:
        with deadline.within(PLANNING_S), uses.noting_imports():
            loader.exec_module(module)
    except deadline.Overrun as error:
        line = line_in(path, error)
        raise ProblemError(f"{path}{line}: its import is {_ENDLESS}") from None
    except (Exception, SystemExit) as error:
        line = line_in(path, error)
        raise ProblemError(f"{path}{line}: {type(error).__name__}: {error}") from None
    found = [
        item
        for item in vars(module).values()
        if inspect.isclass(item)
        and get_origin(item) is None  # Python 3.10 considers Mapping[str, int] a class
        and issubclass(item, Problem)
        and item.__module__ == spec.name
    ]
    if len(found) != 1:
        raise ProblemError(f"{path} defines {len(found)} subclasses of Problem; it needs one")
    missing: frozenset[str] = getattr(found[0], "__abstractmethods__", frozenset())
    if missing:
        raise ProblemError(f"{path}: {found[0].__name__} lacks {', '.join(sorted(missing))}()")
    return Checked(found[0](), path)


class Checked(Problem):
    """Forwards every call to a problem and raises an error that locates any contract violation."""

    def __init__(self, problem: Problem, path: Path) -> None:
        self._problem, self._path, self.folder = problem, path, path.parent
        self.title = problem.title
        if not isinstance(self.title, str):
            raise ProblemError(f"{path}: title is {self.title!r}; it needs a line of text")
        self.arithmetic = problem.arithmetic
        if self.arithmetic not in ARITHMETIC:
            known = ", ".join(f'"{name}"' for name in ARITHMETIC)
            raise ProblemError(f"{path}: arithmetic is {self.arithmetic!r}; it is one of {known}")
        self.timed_draw = problem.timed_draw
        if not is_integer(self.timed_draw) or self.timed_draw < 0:
            raise ProblemError(
                f"{path}: timed_draw is {self.timed_draw!r}; it needs a number, 0 or more"
            )
        self.timed_inputs = problem.timed_inputs
        if not isinstance(self.timed_inputs, str):
            raise ProblemError(f"{path}: timed_inputs is {self.timed_inputs!r}; it needs text")
        self.no_roof = problem.no_roof
        if not isinstance(self.no_roof, str):
            raise ProblemError(f"{path}: no_roof is {self.no_roof!r}; it needs a reason, as text")
        self.partly_read = self._names("partly_read", problem.partly_read)
        self.other_layouts = self._names("other_layouts", problem.other_layouts)
        self.readings = self._texts("readings", problem.readings, "outputs with units")
        self.library_arithmetic = self._texts(
            "library_arithmetic", problem.library_arithmetic, "types, each with its arithmetic"
        )
        self.changed_together = problem.changed_together
        if not isinstance(self.changed_together, Mapping) or not all(
            isinstance(name, str) and is_integer(count) and count >= 0
            for name, count in self.changed_together.items()
        ):
            raise ProblemError(
                f"{path}: changed_together is {self.changed_together!r}; it needs a number, 0 or "
                "more, for each input that it names"
            )

    def _texts(self, of: str, said: Any, what: str) -> Mapping[str, str]:
        if not isinstance(said, Mapping) or not all(isinstance(t, str) for t in said.values()):
            raise ProblemError(f"{self._path}: {of} is {said!r}; it needs {what}")
        return said

    def _names(self, of: str, said: Any) -> Sequence[str]:
        listed = isinstance(said, Sequence) and not isinstance(said, str)
        if not listed or not all(isinstance(name, str) for name in said):
            raise ProblemError(f"{self._path}: {of} is {said!r}; it needs a list of input names")
        return said

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        found = self._call("buffers", sizes, dtype)
        if not isinstance(found, Sequence) or not all(isinstance(b, Buffer) for b in found):
            raise self._wrong("buffers", "it does not return a list of Buffer(...)", (sizes, dtype))
        names = [buffer.name for buffer in found]
        if len(set(names)) < len(names):
            twice = f"it gives a name twice: {', '.join(map(str, names))}"
            raise self._wrong("buffers", twice, (sizes, dtype))
        inputs = {buffer.name for buffer in found if buffer.role == "input"}
        for of in ("partly_read", "other_layouts", "changed_together"):
            if unknown := [name for name in getattr(self, of) if name not in inputs]:
                missing = f"{of} names {', '.join(unknown)}: no input"
                raise self._wrong("buffers", missing, (sizes, dtype))
        return found

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        found = self._call("inputs", sizes, dtype, rng, draw)
        if self.other_layouts and isinstance(found, Mapping):
            found = {**found, **self.layouts(sizes, dtype, found)}
        for name in self._each("inputs", found, sizes, dtype, "input"):
            if not isinstance(found[name], np.ndarray):
                given = f"`{name}` is a {type(found[name]).__name__}; it needs a NumPy array"
                raise self._wrong("inputs", given, (sizes, dtype, rng, draw))
        return found

    def layouts(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        found = self._call("layouts", sizes, dtype, inputs)
        if not isinstance(found, Mapping) or set(found) != set(self.other_layouts):
            given = f"it needs a dict of {', '.join(self.other_layouts)}"
            raise self._wrong("layouts", given, (sizes, dtype, inputs))
        return found

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return self._outputs("reference", sizes, dtype, inputs)

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return self._outputs("tolerance", sizes, dtype, inputs)

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        found = self._call("work", sizes, dtype)
        if not isinstance(found, Work):
            given = f"it gives a {type(found).__name__}; it needs Work(...)"
            raise self._wrong("work", given, (sizes, dtype))
        work = Work(**{name: int(value) for name, value in vars(found).items()})
        limited = ("bytes", "flops", "reread_bytes", "exponentials")
        for name, value in ((name, getattr(work, name)) for name in limited):
            if value >= MOST_WORK:
                large = f"{value:,} {name}; a run records fewer than 2^63: remove the size"
                raise self._wrong("work", large, (sizes, dtype))
        return work

    def library(self, tensors: Mapping[str, Any]) -> Any:
        return self._problem.library(tensors)

    def _outputs(
        self, what: str, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Any]:
        found = self._call(what, sizes, dtype, inputs)
        for name in self._each(what, found, sizes, dtype, "output"):
            try:
                np.asarray(found[name], np.float64)
            except (TypeError, ValueError):
                raise self._wrong(what, f"`{name}` holds no numbers", (sizes, dtype)) from None
        return found

    def _each(
        self, what: str, found: Any, sizes: Mapping[str, int], dtype: str, role: Role
    ) -> Sequence[str]:
        """The names of the buffers of a role. Raises ProblemError if `found` lacks one of them."""
        if not isinstance(found, Mapping):
            given = f"it gives a {type(found).__name__}; it needs a dict"
            raise self._wrong(what, given, (sizes, dtype))
        needed = [b.name for b in self.buffers(sizes, dtype) if b.role == role]
        missing = [name for name in needed if name not in found]
        if missing:
            raise self._wrong(what, f"it lacks {', '.join(missing)}", (sizes, dtype))
        return needed

    def _call(self, what: str, *args: Any) -> Any:
        try:
            with deadline.within(PLANNING_S) if what in _PLANNED else nullcontext():
                return getattr(self._problem, what)(*args)
        except deadline.Overrun as error:
            raise self._wrong(what, f"it is {_ENDLESS}", args, error) from None
        except ProblemError as error:
            raise self._wrong(what, str(error), args, error) from None
        except (HarnessError, MemoryError):
            raise
        except Exception as error:
            raise self._wrong(what, f"{type(error).__name__}: {error}", args, error) from None

    def _wrong(
        self, what: str, problem: str, given: Sequence[Any], error: BaseException | None = None
    ) -> ProblemError:
        """Create an error that names the violation, its location and the case. `given`: the
        method's arguments."""
        line = "" if error is None else line_in(self._path, error)
        sizes, dtype, *rest = given
        case = [f"{name} = {value}" for name, value in sizes.items()] + [str(dtype)]
        case += [f"draw {rest[1]}"] if what == "inputs" and len(rest) > 1 else []
        return ProblemError(f"{self._path}{line}: {what}(): {problem}\n  for {', '.join(case)}")


def line_in(path: Path, error: BaseException) -> str:
    """`:line` of the innermost frame in the file, or of a syntax error in it."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f":{error.lineno}"
    lines = [
        frame.lineno
        for frame in inspect.getinnerframes(error.__traceback__)  # type: ignore[arg-type]
        if Path(frame.filename).resolve() == path.resolve()
    ]
    return f":{lines[-1]}" if lines else ""
