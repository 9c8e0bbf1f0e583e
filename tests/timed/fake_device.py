"""A simulated device: it reports times, and its kernels do what their names say.

The command line does not offer it; tests name it `fake_device:open_backend`. A variant is named
after its behaviour, `honest` or one of MISDEEDS, followed by any number. COSTS gives its cost by
name; the default is 1,000 ns. A misdeed takes place only at the timed size: n = 1024.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np
from fake_launches import TIMED, FakeLaunches, flag
from pausing import pause

from harness.backends.base import (
    OTHER_RESULT,
    Array,
    Batch,
    Execution,
    Right,
    broken_promises,
    poison,
)
from harness.backends.launch_outcomes import Launched
from harness.cases import Case, Device, Flush
from harness.compiler.compile import Built
from harness.errors import BackendUnavailable, OutOfMemory
from harness.journal.records import Cache
from harness.measure.ceilings import written
from harness.problem import Buffer, Problem
from harness.statistics.event_cost import IN_AND_OUT_NS

NOISE = 0.0005
"""The scatter of a launch's time, as a fraction of it."""


def open_backend(arch: str | None) -> FakeBackend:
    if flag("lost").exists():
        raise BackendUnavailable("the CUDA driver does not start: no CUDA-capable device is found")
    return FakeBackend(arch or "sm_90", _seat())


def _seat() -> int | None:
    """Take a free seat of a device that has as many seats as the file `seats` says.

    A process keeps the seat as long as it lives. Raises OutOfMemory if all seats are taken.
    """
    if not flag("seats").exists():
        return None
    most = int(flag("seats").read_text())
    for number in range(most):
        file = os.open(flag(f"seat-{number}"), os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            continue
        return file
    flag("turned-away").touch()
    raise OutOfMemory("the device has no memory left for another process of ours")


def device(arch: str = "sm_90") -> Device:
    return Device("a device that exists nowhere", arch, 132, 32, 50 * 2**20, 2**37, 1024,
                  (1024, 1024, 64), (2**31 - 1, 65535, 65535), 227 * 1024)  # fmt: skip


class FakeBackend:
    """A device that records in the file `processes`, if there is one, which process worked at which
    size."""

    name = "fake"

    def __init__(self, arch: str, seat: int | None = None) -> None:
        self.device, self._seat = device(arch), seat

    def workspace(
        self, problem: Problem | None, buffers: Sequence[Buffer], inputs: Mapping[str, Array]
    ) -> FakeWorkspace:
        if flag("processes").exists():
            with flag("processes").open("a") as file:
                file.write(f"{os.getpid()} {buffers[0].count}\n")
        return FakeWorkspace(buffers, inputs)

    def event_costs(self, cache: str, launches: int) -> tuple[float, ...]:
        """The events of this device cost nothing: an interval exceeds the time that the self-timed
        kernel measures only by the kernel's own begin and end."""
        return (IN_AND_OUT_NS,) * launches

    def rest(self) -> None: ...

    def close(self) -> None: ...


class FakeWorkspace(FakeLaunches):
    """The workspace's interface, implemented without a device."""

    def run(self, case: Case, built: Built | None, draw: int = 0) -> Execution:
        if case.problem == "ceilings":
            count = int(case.steps[0].args[-1])
            return Execution({"copy": written(case.variant, count, self._x["input"])})
        pause("timed size" if case.sizes["n"] == TIMED else "test sizes")
        self._launch(case)
        faults = [self._audited()] if (self._guard or self._changed()) else []
        return Execution({"output": self._y.copy()}, tuple(faults), poison=poison(draw))

    def error(self, case: Case, built: Built | None, draw: int = 0) -> float | str | None:
        found = self.run(case, built, draw)
        if found.faults:
            return "; ".join(found.faults)
        reference, bound = self._bounds[False]
        errors = np.abs(self._y.astype(np.float64) - reference) / bound
        return self._out_of_bounds() or float(errors.max())

    def right(self, case: Case, built: Built | None) -> Right | str:
        first, varies = self._hash(), False
        for _ in range(3):
            self._launch(case)
            if self._hash() != first:
                varies = True
                if wrong := self._out_of_bounds():
                    return wrong
        return self._audited() or Right(first, varies)

    def bounds(
        self, reference: Mapping[str, Array], bound: Mapping[str, Any], is_other: bool = False
    ) -> None:
        self._bounds[is_other] = reference["output"], bound["output"]

    def ready(self, case: Case, built: Built | None, right: Right) -> str:
        self._launch(case)
        if self._hash() != right.hashes and (not right.varies or self._out_of_bounds()):
            return OTHER_RESULT
        return self._audited()

    def time(
        self,
        case: Case,
        built: Built | None,
        cache: Cache,
        launches: int,
        right: Right | None = None,
        apart: bool = False,
        flush: Flush = "clean",
    ) -> Batch:
        pause("ceilings" if case.problem == "ceilings" else "rounds")
        found = Launched()
        for number in range(launches):
            self._timed[case.id] += 1
            is_other = bool(right and right.other) and bool(self._rng.integers(2))
            self._enter(is_other)
            self._late = False
            if case.problem != "ceilings":
                self._launch(case)
            found.states.append(is_other)
            found.hashes.append(self._hash())
            if right and right.varies and self._out_of_bounds(is_other):
                found.outside.add(number)
            if self._late:
                found.late.add(number)
            cost = COSTS.get(case.variant, 1000.0) * (0.8 if cache == "warm" else 1.0)
            found.times.append([cost * (1 + NOISE * self._rng.standard_normal())])
        self._enter(False)
        return found.judged(right, self._audited() if right else "")

    def kernels(self, case: Case) -> Sequence[str]:
        return [f"{case.variant}_{number}" for number in range(5)] if case.is_library else []

    def noise(self, name: str) -> None: ...

    def profile(self, case: Case, built: Built | None, ranges: Sequence[str]) -> None:
        raise AssertionError("this device has no counters")

    def _hash(self) -> tuple[int, ...]:
        return (zlib.crc32(self._y.tobytes()),)

    def _out_of_bounds(self, is_other: bool = False) -> str:
        reference, bound = self._bounds[is_other]
        wrong = ~(np.abs(self._y.astype(np.float64) - reference) <= bound)
        return f"`output` is wrong in {np.count_nonzero(wrong)} elements" if np.any(wrong) else ""

    def _changed(self) -> bool:
        return any(not np.array_equal(self._x[n], self._inputs[n]) for n in self._inputs)

    def _audited(self) -> str:
        """The illegal changes that a launch has made, after restoring the data."""
        inputs = [b for b in self._buffers if b.role == "input"]
        faults = list(broken_promises(inputs, (), self._inputs, self._x)) if self._inputs else []
        if self._guard:
            faults.append("a kernel wrote after the buffer `output`")
            self._guard = False
        if faults:
            self.refill(self._inputs)
        return "; ".join(faults)

    def __enter__(self) -> FakeWorkspace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


COSTS: dict[str, float] = json.loads(os.environ.get("FAKE_COSTS", "{}"))
"""Variant → nanoseconds, from the environment, so that worker processes have them too."""
