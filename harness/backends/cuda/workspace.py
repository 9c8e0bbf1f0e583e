"""A problem's buffers in device memory: verified launches, timed launches, and launches to profile.

A timed launch is also checked. Before the first of its two events, outputs and scratch are
poisoned, the module's variables and overwritten inputs are restored, and the inputs are put into
one of two states at random. Right after the last event, the results are sampled and hashed, and
compared bit for bit with the verified ones for that state. Once the device is idle, the sample must
be unchanged. After every batch, the inputs and the guards around all buffers are hashed too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import TracebackType

import nvtx
import pycuda.driver as cuda

from harness.backends.base import (
    LATE,
    LONG_NS,
    NVTX_DOMAIN,
    OTHER_RESULT,
    Array,
    Batch,
    Execution,
    Right,
    broken_promises,
    poison,
)
from harness.backends.cuda import library_kernels
from harness.backends.cuda.buffers import DeviceBuffers
from harness.backends.cuda.calls import (
    Call,
    Module,
    deliver,
    discard,
)
from harness.backends.cuda.launch_phase import empty_kernels
from harness.backends.cuda.memory import Allocation
from harness.backends.cuda.stream import NotHeldError
from harness.backends.cuda.verification.states import KERNELS
from harness.backends.launch_outcomes import Launched
from harness.cases import Case, Flush
from harness.compiler.compile import Built
from harness.journal.records import Cache
from harness.problem import Role

_CACHES: tuple[Cache, ...] = ("cold", "warm", "cold", "warm", "cold")
"""The cache states of the launches that are compared to see whether a result varies. A result that
differs half of the time goes unnoticed for one set of inputs out of 32, and there are two sets."""

_AROUND: Mapping[Cache, int] = {"cold": 5, "warm": 3}
"""The number of helper kernels around a timed launch: one holds the stream, one poisons
outputs and scratch, one hashes the results and, for a cold launch, two flush the L2 cache."""

_BEYOND_DOUBLES = ("int64", "uint64")
"""Types whose numbers may be rounded in double precision, so that the host has to compare them."""


class CudaWorkspace(DeviceBuffers):
    """The buffers of one problem at one size, shared by all of its cases, and launches on them."""

    # Verified launches

    def run(self, case: Case, built: Built | None, draw: int = 0) -> Execution:
        after, faults = self._run(case, built, draw, ("output", "zeroed"))
        outputs = {b.name: after[b.name] for b in self._buffers if b.role == "output"}
        return Execution(outputs, faults, poison=poison(draw))

    def error(self, case: Case, built: Built | None, draw: int = 0) -> float | str | None:
        outputs = [b for b in self._buffers if b.role == "output"]
        if any(b.dtype in _BEYOND_DOUBLES for b in outputs):
            return None
        _, faults = self._run(case, built, draw, ("zeroed",))
        if faults:
            return "; ".join(faults)
        try:
            return self._references.error()
        except cuda.MemoryError:  # no room for the references: the host compares instead
            return None

    def _run(
        self, case: Case, built: Built | None, draw: int, roles: Sequence[Role]
    ) -> tuple[dict[str, Array], tuple[str, ...]]:
        """Launch once; return the buffers of these roles as it left them, and any other faults."""
        steps, module = self._calls(case, built), self._module(built)
        with self._faults_of(case), nvtx.annotate(case.id, domain=NVTX_DOMAIN):
            self._watch.fill(self._to_fill, poison(draw))
            self._restore(case, module)
            for step in steps:
                step()
            deliver(steps)
            self._stream.synchronize()
            after = {
                b.name: self._memory[b.name].download() for b in self._buffers if b.role in roles
            }
            faults = broken_promises(self._buffers, case.overwrites, self._inputs, after)
            self._restore(case, module)
            self._stream.synchronize()
            if changed := self.audit():
                faults = (*faults, changed)
        return after, faults

    def right(self, case: Case, built: Built | None) -> Right | str:
        """Hash the case's results, immediately after a verified launch.

        Returns the reason instead if they are not correct every time.
        """
        [first] = self._watch.hashes(self._outputs)
        right, varies = Right(first), False
        for cache in _CACHES:
            found = self._launched(case, built, cache, 1)
            if found.late:
                return LATE
            if set(found.hashes) != {first}:
                varies = True
                if wrong := self._references.violated():
                    return wrong
        right = Right(first, varies, case.id not in self._unheld)
        return self.audit() or right

    def ready(self, case: Case, built: Built | None, right: Right) -> str:
        """Launch once, without holding the stream, to load code; return why the result was wrong,
        or an empty string.
        """
        steps, module = self._calls(case, built), self._module(built)
        if not right.held:
            self._unheld.add(case.id)
        with self._faults_of(case):
            self._fresh(case, module)
            for step in steps:
                step()
            deliver(steps)
            self._stream.synchronize()
            wrong = ""
            if self._watch.hashes(self._outputs) != [right.hashes]:
                wrong = self._references.violated() if right.varies else OTHER_RESULT
            self._restore(case, module)
            return wrong or self.audit()

    def bounds(
        self,
        reference: Mapping[str, Array],
        bound: Mapping[str, Array | float],
        is_other: bool = False,
    ) -> None:
        self._references.replace(reference, bound, is_other)

    # Timed launches

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
        with self._faults_of(case), nvtx.annotate(case.id, domain=NVTX_DOMAIN):
            found = self._launched(case, built, cache, launches, apart, flush, right)
            changed = self.audit() if right else ""
        return found.judged(right, changed)

    def _launched(
        self,
        case: Case,
        built: Built | None,
        cache: Cache,
        launches: int,
        apart: bool = False,
        flush: Flush = "clean",
        right: Right | None = None,
    ) -> Launched:
        """Launch this many times; if results vary, compare each with its bounds.

        If both states of the inputs have been verified, each launch uses one of them at random;
        afterwards the inputs are in their original state.

        One launch that is not part of the batch comes first, unless a launch takes long: right
        after other code and a pause, a launch takes a microsecond longer than those that follow, up
        to 10 % on an H200. All launch phases occur equally often among the others, however many
        kernels they have (`launch_phase.py`).
        """
        steps, module = self._calls(case, built), self._module(built)
        warm_up = self._calls(case, built, twins=True) if cache == "warm" else []
        pokes = (2 if warm_up else 1) * self._states.kernels
        kernels = _AROUND[cache] + KERNELS + pokes + len(steps) + len(warm_up)
        found, samples = Launched(), self._samples
        samples.begin(launches + 1)

        def launch() -> list[float]:
            number = len(found.states)
            is_other = bool(right and right.other) and self._states.draw()
            found.states.append(is_other)
            taken = self._timed(case, steps, warm_up, module, apart, flush, is_other)
            found.idle_ns.append(self._idle.wait_ns())  # work on other streams has ended by then
            samples.compare(number)
            if right and right.varies and self._references.violated(is_other):
                found.outside.add(number)
            return taken

        first = launch()
        if sum(first) >= LONG_NS:
            found.times.append(first)
        for number in range(len(found.times), launches):
            self._control.pass_turns(empty_kernels(number, kernels))
            found.times.append(launch())
        self._restore(case, module)
        self._states.enter(False)
        found.late, found.hashes = samples.late(len(found.states)), self._watch.noted()
        return found

    def _timed(
        self,
        case: Case,
        steps: Sequence[Call],
        warm_up: Sequence[Call],
        module: Module | None,
        apart: bool,
        flush: Flush,
        is_other: bool = False,
    ) -> list[float]:
        """Time one launch: the nanoseconds of all steps together or, with `apart`, of each step.

        A warm launch follows another launch. The warm-up has its own outputs and scratch, so those
        of the timed launch are still poisoned, and its own state of the inputs, so its result
        cannot be reused. Results that a library returns in newly allocated memory are copied into
        the outputs after the last event. Results are sampled and hashed right after it, without a
        round trip to the host.
        """
        marks = [cuda.Event() for _ in range(len(steps) + 1 if apart else 2)]
        held = self._control.held() if case.id not in self._unheld else contextlib.nullcontext()
        try:
            with held:
                self._fresh(case, module)
                if warm_up:
                    self._states.enter(self._states.draw())
                for step in warm_up:
                    step()
                discard(warm_up)
                if warm_up:
                    self._restore(case, module)
                else:
                    self._control.flush_l2(flush)
                self._states.enter(is_other)
                marks[0].record(self._stream)
                for index, step in enumerate(steps):
                    step()
                    if apart:
                        marks[index + 1].record(self._stream)
                if not apart:
                    marks[1].record(self._stream)
                deliver(steps)
                self._samples.keep()
                self._watch.note(self._outputs)
        except NotHeldError:
            if case.kind == "kernel":
                raise
            self._watch.forget()
            # Its code waits for the device, so its time includes the host's work; a remark says so.
            self._unheld.add(case.id)
            return self._timed(case, steps, warm_up, module, apart, flush, is_other)
        self._stream.synchronize()
        return [1e6 * later.time_since(earlier) for earlier, later in pairwise(marks)]

    def _fresh(self, case: Case, module: Module | None) -> None:
        """Enqueue the initial state of every launch, with a new poison."""
        self._launches += 1
        self._watch.fill(self._to_fill, poison(self._launches))
        self._restore(case, module)

    def _restore(self, case: Case, module: Module | None) -> None:
        """Enqueue the copies that restore the inputs that the case overwrites, and its module's
        variables."""
        for name in case.overwrites:
            memory = self._memory[name]
            if name not in self._pristine:
                self._pristine[name] = Allocation(memory.buffer)
                self._pristine[name].upload(self._inputs[name])
            cuda.memcpy_dtod_async(
                memory.address, self._pristine[name].address, memory.buffer.nbytes, self._stream
            )
        if module:
            module.restore(self._stream)

    # Launches to profile

    def profile(self, case: Case, built: Built | None, ranges: Sequence[str]) -> None:
        """Launch every step once, each alone inside its own NVTX range.

        Work that a profiler must not include, such as restoring inputs and poisoning, is outside
        the range.
        """
        steps, module = self._calls(case, built), self._module(built)
        with self._faults_of(case):
            self._fresh(case, module)
            self._stream.synchronize()
            for name, step in zip(ranges, steps, strict=True):
                with nvtx.annotate(name, domain=NVTX_DOMAIN):
                    step()
                    self._stream.synchronize()
            discard(steps)
            self._restore(case, module)
            self._stream.synchronize()

    def kernels(self, case: Case) -> Sequence[str]:
        [call] = self._calls(case, None)
        with self._faults_of(case):
            found = library_kernels.kernels(call, self._stream.synchronize)
            discard([call])
        return found

    def __enter__(self) -> CudaWorkspace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._free()
