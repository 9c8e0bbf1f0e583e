"""A device that exists nowhere: it tells the time, and its kernels do what their names say.

The command line does not offer it; tests name it `fake_device:open_backend`. A variant is called
after what it does, `honest` or one of MISDEEDS, with any number behind it. What it costs stands in
COSTS by its name, else 1,000 ns. A misdeed is done at the timed size only: n = 1024.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import signal
import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from pausing import pause

from harness.backends.base import (
    OTHER_RESULT,
    Array,
    Batch,
    Change,
    Execution,
    Right,
    broken_promises,
    fault,
    poison,
)
from harness.backends.launch_outcomes import Launched
from harness.cases import Case, Device, Flush
from harness.compiler.compile import Built
from harness.errors import BackendUnavailable, DeviceFault, NotInstalled, OutOfMemory
from harness.job import Job
from harness.journal.records import Cache, Round
from harness.measure.ceilings import written
from harness.problem import Buffer, Problem
from harness.statistics.event_cost import IN_AND_OUT_NS
from harness.worker.pipe import Pipe

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
        self._changes: Mapping[str, Change] = {}
        self._bounds: dict[bool, tuple[Array, Any]] = {}
        self._known: Array | None = None
        self._by_shape: dict[int, Array] = {}
        self._by_content: dict[bytes, Array] = {}
        self._late = False
        for buffer in buffers:
            if _flag(f"full-{buffer.count}").exists():
                raise OutOfMemory(f"`{buffer.name}` needs {buffer.nbytes:,} bytes; 17 are free")
        self.refill(inputs)

    def refill(self, inputs: Mapping[str, Array]) -> None:
        self._inputs = {name: np.array(array) for name, array in inputs.items()}
        self._x = {name: array.copy() for name, array in self._inputs.items()}

    def alternate(self, changes: Mapping[str, Change]) -> None:
        self._changes = changes

    def _enter(self, is_other: bool) -> None:
        """The inputs' places in one state or the other; whatever else has changed stays so."""
        for name, (where, others) in self._changes.items():
            self._x[name][where] = others if is_other else self._inputs[name][where]

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
        if self._in_rounds():  # more numbers than a launch's state writes anyway
            self._x["input"][5:205] = 7.0

    def write_past(self) -> None:
        self._guard = True

    def keep_answer(self) -> None:
        """Computes ten times, and gives its last answer from then on."""
        if self._timed[self._case.id] > 10 and self._known is not None:
            self._y = self._known.copy()
        self._known = self._y.copy()

    def keep_by_shape(self) -> None:
        """Gives the answer to the first inputs of this shape again."""
        self._y = self._by_shape.setdefault(self._y.size, self._y.copy()).copy()

    def hash_inputs(self) -> None:
        """Keeps an answer for each content of all inputs: it is right, and reads all of them."""
        content = self._x["input"].tobytes()
        self._by_content.setdefault(content, self._y.copy())
        self._y = self._by_content[content].copy()

    def forge(self) -> None:
        """Writes a round of its own into the pipe of the process that it is in."""
        if self._timed[self._case.id] == 3:
            every = gc.get_objects()
            pipe = next(each for each in every if isinstance(each, Pipe))
            job = next(each for each in every if isinstance(each, Job))
            pipe.record(Round(self._case.id, "cold", 0, False, (1.0,), placement=job.placement))

    def patch_checks(self) -> None:
        """Gives kept answers, and has nothing found wrong with them."""
        self.keep_answer()
        if self._in_rounds():
            judged = Launched.judged

            def silent(self: Launched, right: Right | None, changed: str) -> Batch:
                return replace(judged(self, right, changed), wrong=0, kept=0)

            Launched.judged = silent  # type: ignore[method-assign]

    def work_late(self) -> None:
        """One of its results is there only after it said that it was done."""
        if self._in_rounds():
            self._late = True

    def vary(self) -> None:
        """In every second launch, so that no chance can hide it."""
        if self._launches % 2:
            self.vary_now()

    def vary_rarely(self) -> None:
        """Not before it is timed, and then in every third launch."""
        if self._launches > 32 and self._launches % 3 == 0:
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
        "keep_answer", "keep_by_shape", "hash_inputs", "work_late",
        "forge", "patch_checks",
    }
}  # fmt: skip
COSTS: dict[str, float] = json.loads(os.environ.get("FAKE_COSTS", "{}"))
"""Variant → nanoseconds, from the environment, so that worker processes have them too."""
