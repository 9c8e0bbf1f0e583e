"""A launch at the timed size is checked on the device, and by the host if the device cannot
decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from harness.backends.base import Execution
from harness.cases import Case
from harness.errors import LaunchError
from harness.problem import Array, Buffer, Problem, Work
from harness.worker.inputs import Inputs


class Double(Problem):
    def buffers(self, sizes: Mapping[str, int], dtype: str) -> list[Buffer]:
        return [Buffer("x", "input", dtype, sizes["n"]), Buffer("y", "output", dtype, sizes["n"])]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        return {"x": rng.standard_normal(sizes["n"]).astype(dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"y": 2.0 * inputs["x"].astype(np.float64)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"y": 1e-6}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        return Work(4 * sizes["n"], 4 * sizes["n"], sizes["n"])


CASE = Case("double", "v0", "float32", {"n": 8})


@dataclass
class Launches:
    """A workspace that returns the results that the test specifies, and counts the checks."""

    inputs: Inputs
    on_device: float | str | Exception | None = 0.25
    shift: float = 0.0
    seen: list[str] = field(default_factory=list)

    def error(self, case: Case, built: Any, draw: int = 0) -> float | str | None:
        self.seen.append("device")
        if isinstance(self.on_device, Exception):
            raise self.on_device
        return self.on_device

    def run(self, case: Case, built: Any, draw: int = 0) -> Execution:
        self.seen.append("host")
        return Execution({"y": (self.inputs.reference["y"] + self.shift).astype(np.float32)})


@pytest.fixture
def launches() -> Launches:
    return Launches(Inputs(Double(), CASE, 1, 0))


def verify(launches: Launches) -> Any:
    return launches.inputs.verify_on_device(launches, CASE, None, "before")  # type: ignore[arg-type]


def test_the_host_looks_at_the_first_case_and_the_device_at_the_others(launches: Launches) -> None:
    assert verify(launches).ok
    second = verify(launches)
    assert (second.ok, second.error) == (True, 0.25)
    assert launches.seen == ["host", "device"]


def test_the_device_is_not_asked_until_the_host_found_a_case_right(launches: Launches) -> None:
    launches.shift = 1.0
    assert not verify(launches).ok
    assert not verify(launches).ok
    assert launches.seen == ["host", "host"]


@pytest.mark.parametrize("said", [None, LaunchError("no such kernel")])
def test_where_the_device_cannot_tell_the_host_decides(launches: Launches, said: Any) -> None:
    verify(launches)
    launches.on_device = said
    assert verify(launches).ok
    assert launches.seen == ["host", "device", "host"]


def test_what_the_device_finds_wrong_the_host_describes(launches: Launches) -> None:
    verify(launches)
    launches.on_device, launches.shift = "`y` is wrong in 8 of 8 elements", 1.0
    found = verify(launches)
    assert not found.ok
    assert "worst [" in found.reason


def test_wrong_in_one_launch_and_right_in_the_next_is_wrong(launches: Launches) -> None:
    verify(launches)
    launches.on_device = "`y` is wrong in 1 of 8 elements"
    found = verify(launches)
    assert (found.ok, found.reason) == (
        False, "right in one launch, in another: `y` is wrong in 1 of 8 elements",
    )  # fmt: skip
