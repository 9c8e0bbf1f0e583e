"""A device that exists nowhere: it tells the time, and its kernels do what their names say.

The command line does not offer it; tests name it `fake_device:open_backend`. A variant is called
after what it does, `honest` or one of MISDEEDS, with any number behind it. What it costs stands in
COSTS by its name, else 1,000 ns. A misdeed is done at the timed size only: n = 1024.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from pausing import pause

from harness.backends.base import (
    OTHER_RESULT,
    Array,
    Batch,
    Execution,
    Right,
    broken_promises,
    fault,
    poison,
)
from harness.build.compile import Built
from harness.cases import Case, Device, Flush
from harness.errors import BackendUnavailable, DeviceFault, NotInstalled, OutOfMemory
from harness.measure.ceilings import written
from harness.measure.event_cost import IN_AND_OUT_NS
from harness.problem import Buffer, Problem
from harness.records import Cache

TIMED = 1024
NOISE = 0.0005
"""Of a launch's time, as a part of it."""


def open_backend(arch: str | None) -> FakeBackend:
    if _flag("lost").exists():
        raise BackendUnavailable("the CUDA driver does not start: no CUDA-capable device is found")
    return FakeBackend(arch or "sm_90", _seat())


def _seat() -> int | None:
    """Of a device with as many seats as the file `seats` says, one that is free.

    A process keeps it as long as it lives. Raises OutOfMemory where all are taken.
    """
    if not _flag("seats").exists():
        return None
    most = int(_flag("seats").read_text())
    for number in range(most):
        file = os.open(_flag(f"seat-{number}"), os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            continue
        return file
    _flag("turned-away").touch()
    raise OutOfMemory("the device has no memory left for another process of ours")


def _flag(name: str) -> Path:
    """A file by which processes tell each other, and the test tells them, what is the matter."""
    return Path(os.environ.get("FAKE_FLAGS", "/nowhere")) / name


def device(arch: str = "sm_90") -> Device:
    return Device("a device that exists nowhere", arch, 132, 32, 50 * 2**20, 2**37, 1024,
                  (1024, 1024, 64), (2**31 - 1, 65535, 65535), 227 * 1024)  # fmt: skip


class FakeBackend:
    """In the file `processes`, where there is one, it notes which process worked at which size."""

    name = "fake"

    def __init__(self, arch: str, seat: int | None = None) -> None:
        self.device, self._seat = device(arch), seat

    def workspace(
        self, problem: Problem | None, buffers: Sequence[Buffer], inputs: Mapping[str, Array]
    ) -> FakeWorkspace:
        if _flag("processes").exists():
            with _flag("processes").open("a") as file:
                file.write(f"{os.getpid()} {buffers[0].count}\n")
        return FakeWorkspace(buffers, inputs)

    def event_costs(self, cache: str, launches: int) -> tuple[float, ...]:
        """Its events cost nothing: a kernel that times itself is only seen to begin and to end."""
        return (IN_AND_OUT_NS,) * launches

    def rest(self) -> None: ...

    def close(self) -> None: ...


class FakeWorkspace:
    """y = 2 x, or what the variant does instead."""

    def __init__(self, buffers: Sequence[Buffer], inputs: Mapping[str, Array]) -> None:
        self._buffers = buffers
        self._rng = np.random.default_rng(int.from_bytes(os.urandom(8), "little"))
        self._launches = 0
        self._timed: Counter[str] = Counter()
        self._y = np.zeros(1)
        self._guard = self._has_dawdled = False
        for buffer in buffers:
            if _flag(f"full-{buffer.count}").exists():
                raise OutOfMemory(f"`{buffer.name}` needs {buffer.nbytes:,} bytes; 17 are free")
        self.refill(inputs)

    def refill(self, inputs: Mapping[str, Array]) -> None:
        self._inputs = {name: np.array(array) for name, array in inputs.items()}
        self._x = {name: array.copy() for name, array in self._inputs.items()}

    # One launch

    def _launch(self, case: Case) -> None:
        self._launches += 1
        self._case = case
        if case.compiled:
            raise NotInstalled("torch.compile needs Triton, which is not installed")
        x = self._x["input"]
        self._y = 2 * x
        if case.variant == "wrong_small" and case.sizes["n"] != TIMED:
            self.wrong_first()
        if case.sizes["n"] == TIMED:
            misdeed = MISDEEDS.get(case.variant.rstrip("0123456789_"))
            if misdeed:
                misdeed(self)

    def _in_rounds(self) -> bool:
        """Whether the launch is one of a round, before which a worker times two of each case."""
        return self._timed[self._case.id] > 2

    def hang(self) -> None:
        time.sleep(3600)

    def crash(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def fault(self) -> None:
        raise DeviceFault("an illegal memory access was encountered")

    def fault_when_timed(self) -> None:
        if self._in_rounds():
            raise DeviceFault("an illegal memory access was encountered")

    def lose_card(self) -> None:
        """What a GPU that falls off its bus looks like: a fault, and then nothing is there."""
        if self._launches > 40 and not _flag("mended").exists():
            _flag("lost").touch()
            raise DeviceFault("unspecified launch failure")

    def hang_card(self) -> None:
        """A launch that never ends, after which the GPU does not answer."""
        if self._launches > 40 and not _flag("mended").exists():
            _flag("lost").touch()
            time.sleep(3600)

    def ecc_error(self) -> None:
        if self._launches > 40 and not _flag("mended").exists():
            raise fault(self._case.id, "uncorrectable ECC error encountered")

    def die_once(self) -> None:
        """Killed from outside, in the middle of a round."""
        if self._launches > 40 and not _flag("mended").exists():
            _flag("mended").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def die(self) -> None:
        """Killed from outside, whenever it gets there."""
        if self._launches > 40 and not _flag("mended").exists():
            os.kill(os.getpid(), signal.SIGKILL)

    def dawdle(self) -> None:
        if not self._has_dawdled:
            self._has_dawdled = True
            time.sleep(float(_flag("slow").read_text()))

    def hang_when_timed(self) -> None:
        if self._in_rounds():
            time.sleep(3600)

    def wrong(self) -> None:
        self._y[3] += 1

    def wrong_first(self) -> None:
        self._y[0] += 1

    def nan(self) -> None:
        self._y[0] = np.nan

    def wrong_later(self) -> None:
        if self._in_rounds():
            self._y[3] += 1

    def wrong_sometimes(self) -> None:
        if self._rng.random() < 0.1:
            self._y[3] += 1

    def change_input(self) -> None:
        self._x["input"][5] = 7.0

    def change_input_when_timed(self) -> None:
        if self._in_rounds():
            self._x["input"][5] = 7.0

    def write_past(self) -> None:
        self._guard = True

    def vary(self) -> None:
        """In every second launch, so that no chance can hide it."""
        if self._launches % 2:
            self.vary_now()

    def vary_rarely(self) -> None:
        """Not before it is timed, and then in every third launch."""
        if self._launches > 20 and self._launches % 3 == 0:
            self.vary_now()

    def vary_now(self) -> None:
        self._y[0] = np.nextafter(self._y[0], np.float32(9))

    # What the harness asks

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
        errors = np.abs(self._y.astype(np.float64) - self._reference) / self._bound
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

    def bounds(self, reference: Mapping[str, Array], bound: Mapping[str, Any]) -> None:
        self._reference, self._bound = reference["output"], bound["output"]

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
        wrong, other, times = 0, 0, []
        for _ in range(launches):
            self._timed[case.id] += 1
            if case.problem != "ceilings":
                self._launch(case)
            if right and self._hash() != right.hashes:
                is_wrong = not right.varies or bool(self._out_of_bounds())
                wrong, other = wrong + is_wrong, other + (not is_wrong)
            cost = COSTS.get(case.variant, 1000.0) * (0.8 if cache == "warm" else 1.0)
            times.append((cost * (1 + NOISE * self._rng.standard_normal()),))
        return Batch(tuple(times), wrong, self._audited() if right else "", other)

    def noise(self, name: str) -> None: ...

    def profile(self, case: Case, built: Built | None, ranges: Sequence[str]) -> None:
        raise AssertionError("this device has no counters")

    def _hash(self) -> tuple[int, ...]:
        return (zlib.crc32(self._y.tobytes()),)

    def _out_of_bounds(self) -> str:
        wrong = ~(np.abs(self._y.astype(np.float64) - self._reference) <= self._bound)
        return f"`output` is wrong in {np.count_nonzero(wrong)} elements" if np.any(wrong) else ""

    def _changed(self) -> bool:
        return any(not np.array_equal(self._x[n], self._inputs[n]) for n in self._inputs)

    def _audited(self) -> str:
        """What changed that must not have, put back."""
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


MISDEEDS: dict[str, Callable[[FakeWorkspace], None]] = {
    name: function
    for name, function in vars(FakeWorkspace).items()
    if callable(function)
    and name in {
        "hang", "crash", "fault", "fault_when_timed", "hang_when_timed", "wrong", "nan",
        "wrong_later", "wrong_sometimes", "change_input", "change_input_when_timed", "write_past",
        "vary", "vary_rarely", "lose_card", "hang_card", "ecc_error", "die_once", "die", "dawdle",
    }
}  # fmt: skip
COSTS: dict[str, float] = json.loads(os.environ.get("FAKE_COSTS", "{}"))
"""Variant → nanoseconds, from the environment, so that worker processes have them too."""
