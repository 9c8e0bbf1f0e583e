"""The small protocol that both backends implement, and the code that they share.

All code above this layer is the same with and without a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from harness.cases import Case, Device, Flush, Step, TensorMap, how_many
from harness.compiler.compile import Built
from harness.dtypes import numpy_dtype
from harness.errors import DeviceFault, DeviceLost, HarnessError, LaunchError
from harness.journal.counter_records import Counted, MachineCode, SourceLine, Uncounted
from harness.journal.records import Cache
from harness.problem import Buffer, Problem

if TYPE_CHECKING:
    from harness.emulator import Wait

Array = npt.NDArray[Any]

NVTX_DOMAIN = "kernel-harness"
"""The domain of every NVTX range in which a case is launched."""

POISON = 0xFF
"""The byte that fills outputs and scratch before a verified launch; read as floats, it is NaN."""

PAGE = 2 << 20
"""The size of the driver's physical pages, at whose boundaries large allocations start. On a buffer
that starts 512 bytes later, a kernel can be 4 % slower (docs/measurement.md)."""

GUARD_BYTES = 64 << 10
"""The least unused memory on either side of each buffer, in bytes."""

AROUND = PAGE + 2 * GUARD_BYTES
"""The device memory that a buffer takes in addition to its own bytes."""

FLUSH_FACTOR = 2
"""The size of each of the two buffers that flush the L2 cache, as a multiple of that cache."""

OTHER_RESULT = "its result is wrong: not the one that was verified"
"""The reason for failing a variant whose result changed after being constant at first."""

KEPT = (
    "it gave the answer for inputs that it did not have: it keeps answers, or its work was not "
    "done when it said so"
)
LATE = (
    "its results still changed after it said that it was done: part of its work is on another "
    "stream, or comes later"
)
BUSY = (
    "the device still worked after it said that it was done: part of its work is on another stream"
)
"""The reasons for failing a variant that does work outside the timed stream or interval."""

_OF_THE_CARD = ("ECC error", "NVLink error", "busy or unavailable", "no CUDA-capable device")
"""Words in a driver's error that indicate a fault of the GPU itself, whatever code was running."""


def fault(case: str, words: str) -> HarnessError:
    """Turn a driver error during a launch into a fault of the case, or of the GPU itself."""
    if any(each in words for each in _OF_THE_CARD):
        return DeviceLost(f"{words} (at {case})")
    return DeviceFault(f"{case}: {words}")


_PATTERNS = (0xFFFFFFFF, 0x7FFF7FFF, 0xFFFF7FFF, 0x7FFFFFFF)


def poison(number: int) -> int:
    """The four bytes with which outputs and scratch are filled before launch `number`: a NaN in
    every floating-point type. They differ, so no correct answer equals the poison of all launches.
    """
    return _PATTERNS[number % len(_PATTERNS)]


@dataclass(frozen=True)
class Execution:
    """One verified launch of all of a case's steps.

    outputs: each output buffer as the kernels left it. faults: what went wrong during the launch
    (an out-of-bounds access, an overwritten guard byte, a changed input); empty without a fault.
    """

    outputs: Mapping[str, Array]
    faults: tuple[str, ...] = ()
    counts: tuple[Counted | Uncounted, ...] = ()
    lines: tuple[SourceLine, ...] = ()
    machine_code: tuple[MachineCode, ...] = ()
    poison: int = _PATTERNS[0]
    """The pattern of four bytes with which the outputs were filled before the launch."""
    printed: tuple[str, ...] = ()
    """The output of each call of the kernels' printf, if the emulator executed them."""
    waits: tuple[tuple[Wait, ...], ...] = ()
    """The waits of threads at mbarriers, by step, if the emulator was asked to record them."""


class Change(NamedTuple):
    """New values for some elements of an input: the difference between its two states."""

    where: Array
    values: Array


@dataclass(frozen=True)
class Right:
    """The hashes of a case's verified results, with which every later launch is compared.

    hashes: one for each output and zeroed buffer. varies: the results differ from launch to launch,
    so they are compared with their bounds instead. held: whether its launches can be held back on
    the device until all are enqueued, which is impossible for code that itself waits for the
    device. other: the hashes for the other state of the inputs; empty if no other state was
    verified.
    """

    hashes: tuple[int, ...]
    varies: bool = False
    held: bool = True
    other: tuple[int, ...] = ()

    def of(self, is_other: bool) -> tuple[int, ...]:
        """Return the hashes for a state of the inputs."""
        return self.other if is_other else self.hashes


class Seen(NamedTuple):
    """The record of one launch: whether its inputs were in the other state, and its result
    hashes."""

    is_other: bool
    hashes: tuple[int, ...]


LONG_NS = 10e6
"""A launch that takes this long forms a batch of its own: the few extra microseconds of a first
launch do not matter at this length."""


@dataclass(frozen=True)
class Batch:
    """Timed launches of one case, and the errors found in them.

    times_ns: one row per launch, with the total or one figure per step. wrong: the number of
    launches with incorrect results. other: if results may vary, the number of launches whose
    results were within their bounds but not bitwise equal to the verified result. changed: inputs,
    or memory outside all buffers, found changed afterwards. kept: the number of wrong launches
    whose results were correct for the inputs' other state. late: the number of launches whose
    results still changed after the launch had ended. busy_ns: how long the device kept working
    after each launch, or 0. first: a phrase that names the first launch counted in `kept`. seen:
    every launch's state and hashes.
    """

    times_ns: tuple[tuple[float, ...], ...]
    wrong: int = 0
    changed: str = ""
    other: int = 0
    kept: int = 0
    late: int = 0
    busy_ns: float = 0.0
    first: str = ""
    seen: tuple[Seen, ...] = ()


class Workspace(Protocol):
    """A problem's buffers at one size, ready for launches; a context manager."""

    def refill(self, inputs: Mapping[str, Array]) -> None:
        """Replace the contents of the input buffers."""

    def run(self, case: Case, built: Built | None, draw: int = 0) -> Execution:
        """Poison, launch once, and read back. Raises LaunchError if it cannot launch."""

    def __enter__(self) -> Workspace: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class TimedWorkspace(Workspace, Protocol):
    """A workspace whose backend can time launches, and checks the result of every timed launch."""

    def right(self, case: Case, built: Built | None) -> Right | str:
        """Hash the results of a case immediately after a verified launch of it.

        Returns the reason instead if the results are not correct every time.
        """

    def bounds(
        self,
        reference: Mapping[str, Array],
        bound: Mapping[str, Array | float],
        is_other: bool = False,
    ) -> None:
        """Set the float64 reference and bound with which each output is compared on the device.

        is_other: whether the reference and the bound belong to the other state of the inputs.
        """

    def alternate(self, changes: Mapping[str, Change]) -> None:
        """Let timed launches use either state of the inputs, if both have been verified."""

    def error(self, case: Case, built: Built | None, draw: int = 0) -> float | str | None:
        """Launch as `run` does, and compare the results with their bounds on the device.

        Returns the worst error as a fraction of its bound, or a description of what is wrong; None
        if the device cannot decide.
        """

    def ready(self, case: Case, built: Built | None, right: Right) -> str:
        """Launch once, so that all code is loaded; return why the result was wrong, or an empty
        string.
        """

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
        """Time each launch, in nanoseconds; compare its results with `right`, if given."""

    def profile(self, case: Case, built: Built | None, ranges: Sequence[str]) -> None:
        """Launch every step once, each alone inside its own NVTX range."""

    def kernels(self, case: Case) -> Sequence[str]:
        """The names of the kernels that a function's call launches, once each; empty if unknown."""

    def noise(self, name: str) -> None:
        """Fill a buffer whose contents do not matter with random floats."""

    def __enter__(self) -> TimedWorkspace: ...


class Backend(Protocol):
    """Runs cases on one device."""

    name: str
    device: Device

    def workspace(
        self, problem: Problem | None, buffers: Sequence[Buffer], inputs: Mapping[str, Array]
    ) -> Workspace: ...

    def close(self) -> None: ...


class TimingBackend(Backend, Protocol):
    """A backend that can time launches."""

    def workspace(
        self, problem: Problem | None, buffers: Sequence[Buffer], inputs: Mapping[str, Array]
    ) -> TimedWorkspace: ...

    def event_costs(self, cache: Cache, launches: int) -> tuple[float, ...]:
        """Return by how many nanoseconds the interval between two events around a kernel exceeds
        the kernel's own time. The kernel used for this measures its own time.

        Raises OutOfMemory.
        """

    def rest(self) -> None:
        """Release resources that only the previous cases needed."""


class Parameter(Protocol):
    """A kernel parameter, as the compiled PTX declares it."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str:
        """The PTX type: u64, s32, f32 …; for a structure of 24 bytes, b8[24]."""


_NUMPY = {
    "u8": np.uint8, "s8": np.int8, "b8": np.uint8,
    "u16": np.uint16, "s16": np.int16, "b16": np.uint16,
    "u32": np.uint32, "s32": np.int32, "b32": np.uint32,
    "u64": np.uint64, "s64": np.int64, "b64": np.uint64,
    "f32": np.float32, "f64": np.float64,
}  # fmt: skip


_TENSOR_MAP = "b8[128]"
"""The PTX type of a `CUtensorMap`, which alone distinguishes it from other structures."""


def scalar_or_buffer(
    parameters: Sequence[Parameter], step: Step, source: str
) -> list[str | np.generic | TensorMap]:
    """Convert a step's arguments to buffer names, tensor maps, and scalars of the kernel's types.

    Raises LaunchError for a wrong number of arguments, a buffer or a tensor map where the kernel
    takes none, or an integer that the parameter's type cannot hold.
    """
    if len(parameters) != len(step.args):
        raise LaunchError(
            f"{source}: {step.kernel} takes {how_many(len(parameters), 'argument')} "
            f"({', '.join(p.type for p in parameters)}), but args: lists {len(step.args)} "
            f"({', '.join(map(str, step.args))})"
        )
    bound: list[str | np.generic | TensorMap] = []
    for number, (parameter, argument) in enumerate(zip(parameters, step.args, strict=True), 1):
        kind = _NUMPY.get(parameter.type)
        place = f"{source}: {step.kernel}, argument {number}"
        if isinstance(argument, TensorMap):
            if parameter.type != _TENSOR_MAP:
                raise LaunchError(
                    f"{place}: {argument}, but the kernel takes a {parameter.type}\n"
                    "  declare it as const __grid_constant__ CUtensorMap"
                )
            bound.append(argument)
            continue
        if kind is None:
            instead = "\n  write {tensor_map: …}" if parameter.type == _TENSOR_MAP else ""
            raise LaunchError(
                f"{place}: a parameter of type .{parameter.type} cannot be passed{instead}"
            )
        if isinstance(argument, str):
            if parameter.type not in ("u64", "b64"):
                raise LaunchError(
                    f"{place}: `{argument}` is a buffer, but the kernel takes a {parameter.type}"
                )
            bound.append(argument)
            continue
        if np.issubdtype(kind, np.integer):
            if isinstance(argument, float):
                raise LaunchError(f"{place}: {argument} is no integer, and the kernel takes one")
            limits = np.iinfo(kind)  # type: ignore[type-var]
            if not limits.min <= argument <= limits.max:
                raise LaunchError(f"{place}: {argument} does not fit a {parameter.type}")
        with np.errstate(over="ignore"):
            value = kind(argument)  # type: ignore[arg-type]
        if not np.isfinite(value):
            raise LaunchError(f"{place}: {argument} does not fit a {parameter.type}")
        bound.append(value)
    return bound


def poisoned(buffer: Buffer) -> Array:
    """Make a host array for the buffer, poisoned, or zero if the buffer must start as zero."""
    fill = 0 if buffer.role == "zeroed" else POISON
    return np.full(buffer.nbytes, fill, np.uint8).view(numpy_dtype(buffer.dtype))


def contents(buffers: Sequence[Buffer], inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return the given inputs, checked against their buffers. Raises LaunchError on a mismatch."""
    checked = {}
    for buffer in buffers:
        if buffer.role != "input" or buffer.name not in inputs:
            continue
        array, promised = np.ascontiguousarray(inputs[buffer.name]), numpy_dtype(buffer.dtype)
        if array.dtype != promised or array.size != buffer.count:
            raise LaunchError(
                f"problem.py: inputs()['{buffer.name}'] is {array.size} × {array.dtype}; "
                f"buffers() promises {buffer.count} × {promised}"
            )
        checked[buffer.name] = array.reshape(-1)
    return checked


def broken_promises(
    buffers: Sequence[Buffer],
    overwrites: Sequence[str],
    before: Mapping[str, Array],
    after: Mapping[str, Array],
) -> tuple[str, ...]:
    """Find inputs changed without `overwrites`, and zeroed buffers not left zero; compares bits."""
    faults = []
    for buffer in buffers:
        name = buffer.name
        if name not in after:
            continue
        if buffer.role == "zeroed" and np.any(after[name].view(np.uint8)):
            faults.append(f"`{name}` must be zero after the launch, and is not")
        if buffer.role == "input" and name not in overwrites:
            changed = before[name].view(np.uint8) != after[name].view(np.uint8)
            if np.any(changed):
                element = int(np.argmax(changed)) // before[name].itemsize
                faults.append(
                    f"the input `{name}` was changed at element {element}; "
                    f"if the kernel means to, say `overwrites: [{name}]`"
                )
    return tuple(faults)
