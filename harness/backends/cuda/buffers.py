"""A problem's buffers in device memory: their contents, guards, and the calls that use them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pycuda.driver as cuda

from harness.backends.base import (
    Array,
    Change,
    broken_promises,
    contents,
    fault,
    poison,
)
from harness.backends.cuda.calls import (
    Call,
    Module,
    Modules,
    discard,
    function_call,
    kernel_call,
)
from harness.backends.cuda.memory import Allocation
from harness.backends.cuda.stream import StreamControl
from harness.backends.cuda.verification.references import References
from harness.backends.cuda.verification.states import Idle, Samples, StateKernels, States
from harness.backends.cuda.verification.watch import Regions, Watch
from harness.cases import Case
from harness.compiler.compile import Built
from harness.errors import OutOfMemory
from harness.problem import Buffer, Problem

_OUTSIDE = "a kernel wrote {} the buffer `{}`"


class DeviceBuffers:
    """The buffers of one problem at one size, with the objects needed to launch cases on them."""

    def __init__(
        self,
        stream: Any,
        control: StreamControl,
        watch: Watch,
        states: StateKernels,
        modules: Modules,
        problem: Problem | None,
        buffers: Sequence[Buffer],
        inputs: Mapping[str, Array],
    ) -> None:
        self._stream, self._control, self._watch, self._modules = stream, control, watch, modules
        self._problem, self._buffers = problem, buffers
        self._memory: dict[str, Allocation] = {}
        self._twins: dict[str, Allocation] = {}
        self._pristine: dict[str, Allocation] = {}
        self._regions: list[Regions] = []
        self._references = References(watch, self._memory)
        self._state_kernels = states
        self._states = States(states, {}, {}, {})
        self._samples = Samples(states, [])
        self._functions: dict[tuple[str, bool], Call] = {}
        self._unheld: set[str] = set()
        self._launches = 0
        try:
            for buffer in buffers:
                self._memory[buffer.name] = Allocation(buffer)
            self._twins = {
                name: memory if memory.buffer.role == "input" else Allocation(memory.buffer)
                for name, memory in self._memory.items()
            }
            made = list(
                {id(m): m for m in (*self._memory.values(), *self._twins.values())}.values()
            )
            self._to_fill = self._described(m for m in made if m.buffer.role != "input")
            self._outputs = self._described(
                m for m in self._memory.values() if m.buffer.role in ("output", "zeroed")
            )
            self._input_regions = self._described(m for m in made if m.buffer.role == "input")
            self._samples = Samples(states, [
                m for m in self._memory.values() if m.buffer.role in ("output", "zeroed")
            ])  # fmt: skip
            self._guarded = made
            self._guards = Regions([guard for m in made for guard in m.guards])
            self._regions.append(self._guards)
            [self._guards_were] = watch.hashes(self._guards)
            self._watch.fill(self._to_fill, poison(0))
            self._idle = Idle(stream)
            self.refill(inputs)
        except BaseException:
            self._free()
            raise

    def _described(self, allocations: Iterable[Allocation]) -> Regions:
        regions = Regions([allocation.region for allocation in allocations])
        self._regions.append(regions)
        return regions

    # Contents

    def refill(self, inputs: Mapping[str, Array]) -> None:
        self._inputs = contents(self._buffers, inputs)
        for name, array in self._inputs.items():
            self._memory[name].upload(array)
            if name in self._pristine:
                self._pristine[name].upload(array)
        [self._inputs_were] = self._watch.hashes(self._input_regions)

    def alternate(self, changes: Mapping[str, Change]) -> None:
        self._states.free()
        self._states = States(self._state_kernels, self._memory, self._inputs, changes)

    def noise(self, name: str) -> None:
        """Fill a buffer whose contents do not matter with random floats."""
        memory = self._memory[name]
        self._watch.noise(memory.address, memory.buffer.nbytes // 4)

    def audit(self) -> str:
        """Restore whatever a launch changed illegally, and say what it was; empty if there is
        nothing to restore.
        """
        faults: list[str] = []
        inputs_are, guards = self._watch.hashes(self._input_regions, self._guards)
        if self._inputs and inputs_are != self._inputs_were:
            after = {name: self._memory[name].download() for name in self._inputs}
            inputs = [b for b in self._buffers if b.role == "input"]
            faults += broken_promises(inputs, (), self._inputs, after)
            self.refill(self._inputs)
        if guards != self._guards_were:
            broken = [i for i, pair in enumerate(zip(guards, self._guards_were, strict=True))
                      if pair[0] != pair[1]]  # fmt: skip
            names = [memory.buffer.name for memory in self._guarded]
            faults += [_OUTSIDE.format(("before", "after")[i % 2], names[i // 2]) for i in broken]
            for memory in self._guarded:
                memory.restore_guards()
        return "; ".join(faults)

    # Calls

    def _module(self, built: Built | None) -> Module | None:
        return self._modules.of(built) if built else None

    def _calls(self, case: Case, built: Built | None, twins: bool = False) -> list[Call]:
        """The case's steps, on the buffers or on copies of those that it writes.

        A function is bound once, and called once before anything else uses it. The first call may
        compile, try algorithms, and wait for memory, none of which is possible while the stream is
        held.
        """
        memory = self._twins if twins else self._memory
        if built is None:
            key = case.id, twins
            if key not in self._functions:
                call = function_call(case, self._problem, self._modules, memory, self._stream)
                with self._faults_of(case):
                    call()
                    self._stream.synchronize()
                    discard([call])
                self._functions[key] = call
            return [self._functions[key]]
        module = self._modules.of(built)
        return [kernel_call(step, module, case.source, memory, self._stream) for step in case.steps]

    @contextlib.contextmanager
    def _faults_of(self, case: Case) -> Iterator[None]:
        """Turn driver errors into faults of the case; after such an error nothing can be
        launched."""
        try:
            yield
        except cuda.MemoryError:
            raise OutOfMemory(_no_memory_for(case)) from None
        except cuda.Error as error:
            raise fault(case.id, _words(error)) from None
        except RuntimeError as error:
            if type(error).__name__ != "OutOfMemoryError":  # torch's; avoids importing it
                raise
            raise OutOfMemory(_no_memory_for(case)) from None

    def _free(self) -> None:
        with contextlib.suppress(cuda.Error):
            self._references.free()
        for free in (*(r.free for r in self._regions), self._states.free, self._samples.free):
            with contextlib.suppress(cuda.Error):
                free()
        every = (*self._memory.values(), *self._twins.values(), *self._pristine.values())
        for allocation in {id(each): each for each in every}.values():
            with contextlib.suppress(cuda.Error):
                allocation.free()
        self._memory.clear()
        self._twins, self._pristine, self._regions = {}, {}, []


def _no_memory_for(case: Case) -> str:
    free, total = cuda.mem_get_info()
    return (
        f"{case.variant} needs more than its buffers; {free / 2**30:.1f} of the device's "
        f"{total / 2**30:.1f} GiB are free beside them"
    )


def _words(error: Exception) -> str:
    """Return the driver's error without the part that PyCUDA repeats."""
    return str(error).splitlines()[0].rpartition("failed: ")[2]
