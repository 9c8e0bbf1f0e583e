"""A problem: the single definition of what its kernels must compute.

`kernels/<problem>/problem.py` defines a subclass of Problem; nothing else needs to be registered.
Inputs, the float64 reference, the error bound and the work model are stated here once; every check,
bandwidth and roofline point derives from them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from harness.dtypes import machine_epsilon, numpy_dtype, smallest_normal
from harness.errors import ProblemError

__all__ = [
    "Array", "Buffer", "Problem", "Role", "Work", "machine_epsilon", "numpy_dtype",
    "summation_bound",
]  # fmt: skip

MOST_WORK = 2**63
"""A number of bytes or flops that is not below this cannot be recorded in the journal."""

ARITHMETIC = ("", "tf32")
"""The kinds of arithmetic that a problem may state."""

Array = npt.NDArray[Any]
Role = Literal["input", "output", "scratch", "zeroed"]


@dataclass(frozen=True)
class Buffer:
    """A device array that kernels take by name.

    input: uploaded, and not changed by a kernel unless its variant `overwrites` it. output:
    poisoned before a verified launch and compared after it. scratch: poisoned, never compared.
    zeroed: zero before the first launch, and left zero by every launch.
    """

    name: str
    role: Role
    dtype: str
    count: int

    def __post_init__(self) -> None:
        if not is_integer(self.count):
            raise ProblemError(
                f"buffer {self.name} has {self.count!r} elements, which is not an integer"
            )
        if self.count < 1:
            raise ProblemError(f"buffer {self.name} has {self.count} elements; it needs at least 1")
        if self.role not in get_args(Role):
            known = ", ".join(get_args(Role))
            raise ProblemError(
                f"buffer {self.name} has the role {self.role!r}; known roles are {known}"
            )
        try:
            numpy_dtype(self.dtype)
        except ProblemError as error:
            raise ProblemError(f"buffer {self.name} has {error}") from None

    @property
    def nbytes(self) -> int:
        return self.count * numpy_dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Work:
    """The minimum that any implementation must do.

    `read_bytes` and `written_bytes`: each input once, each output once (compulsory traffic).
    `flops`: the arithmetic of the definition; an addition or multiplication counts as one.
    `reread_bytes`: bytes that must be read a second time unless the chip keeps them in the
    meantime, because no output can be computed until all of them have been read. `exponentials`:
    how many of the operations are exponentials.
    """

    read_bytes: int
    written_bytes: int
    flops: int
    reread_bytes: int = 0
    exponentials: int = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not is_integer(value) or value < 0:
                raise ProblemError(f"{name} is {value!r}; it needs an integer, 0 or more")

    @property
    def bytes(self) -> int:
        return self.read_bytes + self.written_bytes


def is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


class Problem(ABC):
    """One computation.

    `sizes` uses the names in the matrix. `dtype` is one of the matrix's `dtypes`, a string such as
    "bfloat16"; numpy_dtype(dtype) is NumPy's dtype of that name.
    """

    title: str = ""
    """One line for the report that says what is computed."""

    arithmetic: str = ""
    """The arithmetic of the problem's flops, if the type does not imply it: "tf32" for tensor
    cores."""

    library_arithmetic: Mapping[str, str] = {}
    """Type → the arithmetic that libraries use for it, such as "3 tf32", if the kernels use a
    different one."""

    no_roof: str = ""
    """The reason, as a clause, why none of the machine's limits applies to its kernels; otherwise
    empty."""

    folder: Path = Path()
    """The folder of its problem.py; set when it is loaded."""

    timed_draw: int = 0
    """The draw of `inputs` that is timed and counted: a typical one."""

    timed_inputs: str = ""
    """A description of that draw for the pages: why it is typical, and whether speed depends on
    it."""

    partly_read: Sequence[str] = ()
    """Inputs that a correct kernel need not read completely: an index selects the bytes, or a
    search ends early. Every other input must be read completely."""

    other_layouts: Sequence[str] = ()
    """Inputs with the same values as another input in a different order, for libraries whose users
    store them that way. Kernels read the other input; `layouts` computes these."""

    readings: Mapping[str, str] = {}
    """Single-number outputs that a kernel measures itself, such as cycles, each with its unit. The
    values of several launches are recorded; the reference and its bound only exclude impossible
    values."""

    changed_together: Mapping[str, int] = {}
    """Input → how many consecutive numbers belong together, such as the 4 coordinates of a box; 0
    if the input must not be changed. In all other inputs, any number may replace any other. This is
    how the inputs of timed launches are made to differ (harness/worker/states.py)."""

    @abstractmethod
    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        """Every array that a kernel's arguments may name."""

    @abstractmethod
    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        """Generate random contents for each input buffer, never constant ones.

        Every launch shape is verified on draw 0 and on draw 1, which may differ in kind: real
        numbers reveal errors of arithmetic, and whole numbers with exact sums reveal the loss of a
        single element. Timing uses `timed_draw`, which is typical of user data: it has no
        infinities, NaN or subnormal numbers in its type (`dtypes.rounded`). Draws designed to find
        errors are for verification only.
        """

    def layouts(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """Compute the contents of the inputs in `other_layouts` from those of the others."""
        return {}

    @abstractmethod
    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """Compute each output in float64, or in 64-bit integers if it has that type."""

    @abstractmethod
    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        """The largest acceptable |error| of each output, derived from the arithmetic.

        0 if the result is exact.
        """

    @abstractmethod
    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        """The work model."""

    def library(self, tensors: Mapping[str, Any]) -> Any:
        """Compute the outputs with torch, given a tensor for each buffer (`library: torch`)."""
        raise ProblemError(f"{type(self).__name__} defines no library() for `library: torch`")


def summation_bound(count: int, magnitude: float, dtype: str) -> float:
    """A bound for |computed − exact| of a sum of `count` terms, added in any order.

    γ(n) Σ|x| with γ(n) = n u / (1 − n u), u = eps / 2 (Higham, Accuracy and Stability of Numerical
    Algorithms, 2nd ed., section 4.2). For large n this bound far exceeds the error of any sensible
    order, so the probabilistic form is used beyond n = 1024: √n in place of n, with λ = 8 (Higham
    and Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019). A correct kernel
    exceeds that bound with a probability below 2 n exp(−λ² / 2) ≈ 1e-14 n.
    """
    u = machine_epsilon(dtype) / 2
    terms = float(count) if count <= 1024 else max(1024.0, 8 * math.sqrt(count))
    gamma = terms * u / (1 - terms * u)
    return gamma * magnitude + smallest_normal(dtype)
