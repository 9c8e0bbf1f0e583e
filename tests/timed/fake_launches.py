"""The launches of a fake workspace: they compute 2 x, or do what the variant's name says."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.backends.base import (
    Array,
    Batch,
    Change,
    Right,
    fault,
)
from harness.backends.launch_outcomes import Launched
from harness.cases import Case
from harness.errors import DeviceFault, NotInstalled, OutOfMemory
from harness.job import Job
from harness.journal.records import Round
from harness.problem import Buffer
from harness.worker.pipe import Pipe

TIMED = 1024


def flag(name: str) -> Path:
    """A file by which processes signal each other, and by which the test controls them."""
    return Path(os.environ.get("FAKE_FLAGS", "/nowhere")) / name


class FakeLaunches:
    """Launches that compute y = 2 x, or misbehave as the variant does."""

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
            if flag(f"full-{buffer.count}").exists():
                raise OutOfMemory(f"`{buffer.name}` needs {buffer.nbytes:,} bytes; 17 are free")
        self.refill(inputs)

    def refill(self, inputs: Mapping[str, Array]) -> None:
        self._inputs = {name: np.array(array) for name, array in inputs.items()}
        self._x = {name: array.copy() for name, array in self._inputs.items()}

    def alternate(self, changes: Mapping[str, Change]) -> None:
        self._changes = changes

    def _enter(self, is_other: bool) -> None:
        """Set the inputs to one state or the other; other changes remain."""
        for name, (where, others) in self._changes.items():
            self._x[name][where] = others if is_other else self._inputs[name][where]

    # Single launches

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
        """Return whether the launch is part of a round; before rounds, a worker times two launches
        of each case."""
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
        """Simulate a GPU that falls off its bus: a fault, after which the device is gone."""
        if self._launches > 40 and not flag("mended").exists():
            flag("lost").touch()
            raise DeviceFault("unspecified launch failure")

    def hang_card(self) -> None:
        """Simulate a launch that never ends, after which the GPU does not respond."""
        if self._launches > 40 and not flag("mended").exists():
            flag("lost").touch()
            time.sleep(3600)

    def ecc_error(self) -> None:
        if self._launches > 40 and not flag("mended").exists():
            raise fault(self._case.id, "uncorrectable ECC error encountered")

    def die_once(self) -> None:
        """Be killed from outside, once, in the middle of a round."""
        if self._launches > 40 and not flag("mended").exists():
            flag("mended").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def die(self) -> None:
        """Be killed from outside, whenever this point is reached."""
        if self._launches > 40 and not flag("mended").exists():
            os.kill(os.getpid(), signal.SIGKILL)

    def dawdle(self) -> None:
        if not self._has_dawdled:
            self._has_dawdled = True
            time.sleep(float(flag("slow").read_text()))

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
        if self._in_rounds():  # more numbers than a change of state writes
            self._x["input"][5:205] = 7.0

    def write_past(self) -> None:
        self._guard = True

    def keep_answer(self) -> None:
        """Compute ten times, and return the last result in all later calls."""
        if self._timed[self._case.id] > 10 and self._known is not None:
            self._y = self._known.copy()
        self._known = self._y.copy()

    def keep_by_shape(self) -> None:
        """Return, for all inputs of one shape, the result for the first inputs of that shape."""
        self._y = self._by_shape.setdefault(self._y.size, self._y.copy()).copy()

    def hash_inputs(self) -> None:
        """Store a result for each combination of the inputs' contents: the result is correct, and
        all inputs are read."""
        content = self._x["input"].tobytes()
        self._by_content.setdefault(content, self._y.copy())
        self._y = self._by_content[content].copy()

    def forge(self) -> None:
        """Write an invented round into the pipe of the current process."""
        if self._timed[self._case.id] == 3:
            every = gc.get_objects()
            pipe = next(each for each in every if isinstance(each, Pipe))
            job = next(each for each in every if isinstance(each, Job))
            pipe.record(Round(self._case.id, "cold", 0, False, (1.0,), placement=job.placement))

    def patch_checks(self) -> None:
        """Return stored results, and disable the checks that would find them."""
        self.keep_answer()
        if self._in_rounds():
            judged = Launched.judged

            def silent(self: Launched, right: Right | None, changed: str) -> Batch:
                return replace(judged(self, right, changed), wrong=0, kept=0)

            Launched.judged = silent  # type: ignore[method-assign]

    def work_late(self) -> None:
        """Report completion before one of the results is written."""
        if self._in_rounds():
            self._late = True

    def vary(self) -> None:
        """Give different results in every second launch, so that detection does not depend on
        chance."""
        if self._launches % 2:
            self.vary_now()

    def vary_rarely(self) -> None:
        """Give different results only when timed, in every third launch."""
        if self._launches > 32 and self._launches % 3 == 0:
            self.vary_now()

    def vary_now(self) -> None:
        self._y[0] = np.nextafter(self._y[0], np.float32(9))


MISDEEDS: dict[str, Callable[[FakeLaunches], None]] = {
    name: function
    for name, function in vars(FakeLaunches).items()
    if callable(function)
    and name in {
        "hang", "crash", "fault", "fault_when_timed", "hang_when_timed", "wrong", "nan",
        "wrong_later", "wrong_sometimes", "change_input", "change_input_when_timed", "write_past",
        "vary", "vary_rarely", "lose_card", "hang_card", "ecc_error", "die_once", "die", "dawdle",
        "keep_answer", "keep_by_shape", "hash_inputs", "work_late",
        "forge", "patch_checks",
    }
}  # fmt: skip
