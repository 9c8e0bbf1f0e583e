"""Compare outputs with the float64 reference. NaN never passes; each kind of failure has its own
name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.backends.base import Execution

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Check:
    """ok, or the reason for failure. `error`: the largest |output − reference| over its bound."""

    ok: bool
    reason: str = ""
    error: float | None = None


def check(
    execution: Execution, reference: Mapping[str, Array], tolerance: Mapping[str, Array | float]
) -> Check:
    """Check that a verified launch computed what the problem defines, and had no faults."""
    if execution.faults:
        return Check(False, "; ".join(execution.faults))
    if not reference.keys() == tolerance.keys() == execution.outputs.keys():
        return Check(False, "problem.py: reference() and tolerance() must give every output: "
                     + ", ".join(execution.outputs))  # fmt: skip
    worst: float | None = None
    for name, expected in reference.items():
        found = _compare(name, execution, expected, tolerance[name])
        if not found.ok:
            return found
        worst = max(worst or 0.0, found.error or 0.0)
    return Check(True, error=worst)


def _compare(name: str, execution: Execution, expected: Array, bound: Array | float) -> Check:
    output = execution.outputs[name].reshape(-1)
    exact = np.asarray(expected).reshape(-1)
    for what, values in (("reference", exact), ("tolerance", bound)):
        if np.iscomplexobj(values):
            return Check(
                False, f"problem.py: the {what} of `{name}` is complex; return its real or "
                "imaginary part, or make each of them an output",
            )  # fmt: skip
    expected = exact.astype(np.float64)
    limit = np.asarray(bound, np.float64).reshape(-1)  # one per element, or one for all
    if limit.size not in (1, expected.size):
        return Check(
            False, f"problem.py: the tolerance of `{name}` has {limit.size} elements, its "
            f"reference {expected.size}",
        )  # fmt: skip
    limit = np.broadcast_to(limit, expected.shape)
    if output.shape != expected.shape:
        return Check(False, f"`{name}` has {output.size} elements, its reference {expected.size}")
    if not (np.all(np.isfinite(expected)) and np.all(limit >= 0) and np.all(np.isfinite(limit))):
        return Check(
            False, f"problem.py: the reference or tolerance of `{name}` is not usable: "
            "a reference is finite, a tolerance is 0 or more and finite",
        )  # fmt: skip
    values = _values(output)
    error = _over_bound(_differences(output, values, exact), limit)
    wrong = ~(error <= 1)  # written so that NaN is wrong
    if not np.any(wrong):
        return Check(True, error=float(error.max()))
    unwritten = _is_poison(output, execution.poison) & wrong
    if np.any(unwritten):
        return Check(False, _at(name, unwritten, "was never written"))
    if np.any(np.isnan(values)):
        return Check(False, _at(name, np.isnan(values), "is NaN"))
    if np.any(np.isinf(values)):
        return Check(False, _at(name, np.isinf(values), "is infinite"))
    at = int(np.argmax(error))
    return Check(
        False,
        _at(name, wrong, f"is wrong: worst [{at}] = {values[at]:.9g}, expected "
            f"{expected[at]:.9g} ± {limit[at]:.2g}"),
        float(min(error.max(), np.finfo(np.float64).max)),  # the journal cannot store infinity
    )  # fmt: skip


def _values(output: Array) -> npt.NDArray[np.float64]:
    """The elements as numbers. A bool is compared as its byte: NumPy treats any non-zero byte as
    True."""
    return (output.view(np.uint8) if output.dtype == np.bool_ else output).astype(np.float64)


def _differences(
    output: Array, values: npt.NDArray[np.float64], exact: Array
) -> npt.NDArray[np.float64]:
    """|output − reference|; for 64-bit integers the difference is formed before anything is
    rounded."""
    whole = output.dtype.kind in "iu" and output.itemsize == 8 and exact.dtype.kind in "iu"
    if whole and np.can_cast(exact.dtype, output.dtype):
        low, high = np.minimum(output, exact), np.maximum(output, exact)
        return (high.astype(np.uint64) - low.astype(np.uint64)).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.abs(values - exact.astype(np.float64))


def _over_bound(
    difference: npt.NDArray[np.float64], limit: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The error as a fraction of its bound. If the bound is 0, the fraction is 0 or infinity."""
    exact = np.where(difference == 0, 0.0, np.inf)  # written so that NaN is wrong
    with np.errstate(over="ignore", invalid="ignore"):
        return np.divide(difference, limit, out=exact, where=limit > 0)


def _is_poison(output: Array, pattern: int) -> npt.NDArray[np.bool_]:
    """The elements that still hold the four-byte fill pattern."""
    found = output.view(np.uint8)
    filled = np.resize(np.frombuffer(pattern.to_bytes(4, "little"), np.uint8), found.size)
    return np.all((found == filled).reshape(output.size, -1), axis=1)


def _at(name: str, where: npt.NDArray[np.bool_], what: str) -> str:
    count = int(np.count_nonzero(where))
    of = f" ({count} of {where.size} elements)" if where.size > 1 else ""
    return f"`{name}[{int(np.argmax(where))}]` {what}{of}"
