"""What a problem is: the one place that states what its kernels must compute.

`kernels/<problem>/problem.py` defines a subclass of Problem and nothing else needs to be
registered. Inputs, the float64 reference, the error bound and the work model are stated here once;
every check, bandwidth and roofline point derives from them.
"""

from __future__ import annotations

import importlib.util
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_origin

import numpy as np
import numpy.typing as npt

from harness.errors import ProblemError

Array = npt.NDArray[Any]
Role = Literal["input", "output", "scratch", "zeroed"]


@dataclass(frozen=True)
class Buffer:
    """A device array that kernels take by name.

    input: uploaded, and unchanged unless the variant says that it overwrites it. output: poisoned
    before a verified launch and compared after it. scratch: poisoned, never compared. zeroed: zero
    before the first launch, and left zero by every launch.
    """

    name: str
    role: Role
    dtype: str
    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ProblemError(f"buffer {self.name} has {self.count} elements; it needs at least 1")

    @property
    def nbytes(self) -> int:
        return self.count * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Work:
    """What any implementation must do at least.

    read_bytes and written_bytes: each input once, each output once (compulsory traffic).
    flops: the arithmetic of the definition, an addition or multiplication counting one.
    """

    read_bytes: int
    written_bytes: int
    flops: int

    @property
    def bytes(self) -> int:
        return self.read_bytes + self.written_bytes


class Problem(ABC):
    """One computation. Sizes are what bench.yaml names; dtype is one of its `dtypes`."""

    title: str = ""
    """One line for the report: what is computed."""

    @abstractmethod
    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        """Every array that a kernel may name in its arguments."""

    @abstractmethod
    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        """Random contents for each input buffer, never constant.

        Every launch shape is verified on draw 0 and on draw 1, which may differ in kind: real
        numbers find errors of arithmetic, whole numbers with exact sums find one lost element.
        Timings use draw 0.
        """

    @abstractmethod
    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """Each output in float64."""

    @abstractmethod
    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        """The largest acceptable |error| of each output, as the arithmetic bounds it."""

    @abstractmethod
    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        """The work model."""

    def library(self, tensors: Mapping[str, Any]) -> Any:
        """Compute the outputs with torch, given a tensor for each buffer (`library: torch`)."""
        raise ProblemError(f"{type(self).__name__} defines no library() for `library: torch`")


def load(folder: Path) -> Problem:
    """The Problem that `folder/problem.py` defines. Raises ProblemError with its place."""
    path = folder / "problem.py"
    spec = importlib.util.spec_from_file_location(f"kernels_{folder.name}_problem", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        line = _line_in(path, error)
        raise ProblemError(f"{path}{line}: {type(error).__name__}: {error}") from None
    found = [
        item
        for item in vars(module).values()
        if inspect.isclass(item)
        and get_origin(item) is None  # Python 3.10 takes Mapping[str, int] for a class
        and issubclass(item, Problem)
        and item.__module__ == spec.name
    ]
    if len(found) != 1:
        raise ProblemError(f"{path} defines {len(found)} subclasses of Problem; it needs one")
    missing: frozenset[str] = getattr(found[0], "__abstractmethods__", frozenset())
    if missing:
        raise ProblemError(f"{path}: {found[0].__name__} lacks {', '.join(sorted(missing))}()")
    return found[0]()


def _line_in(path: Path, error: BaseException) -> str:
    """`:line` of the innermost frame in the file, or of a syntax error in it."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f":{error.lineno}"
    lines = [
        frame.lineno
        for frame in inspect.getinnerframes(error.__traceback__)  # type: ignore[arg-type]
        if frame.filename == str(path)
    ]
    return f":{lines[-1]}" if lines else ""


def machine_epsilon(dtype: str) -> float:
    """The unit in the last place of 1.0: 2^-23 for float32, 2^-52 for float64."""
    return float(np.finfo(dtype).eps)


def summation_bound(count: int, magnitude: float, dtype: str) -> float:
    """A bound for |computed − exact| of a sum of `count` terms in any order of additions.

    γ(n) Σ|x| with γ(n) = n u / (1 − n u), u = eps / 2 (Higham, Accuracy and Stability of Numerical
    Algorithms, 2nd ed., section 4.2). For large n it exceeds what any sensible order does by far,
    so the probabilistic form is used beyond n = 1024: √n in place of n with λ = 8 (Higham and Mary,
    A New Approach to Probabilistic Rounding Error Analysis, 2019), which a correct kernel fails
    with a probability below 2 n exp(−λ² / 2) ≈ 1e-14 n.
    """
    u = machine_epsilon(dtype) / 2
    terms = float(count) if count <= 1024 else max(1024.0, 8 * math.sqrt(count))
    gamma = terms * u / (1 - terms * u)
    return gamma * magnitude + np.finfo(dtype).tiny
