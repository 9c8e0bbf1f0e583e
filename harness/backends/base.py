"""The small protocol that both backends implement, and what they do alike.

Everything above this module is the same code on a GPU and without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from harness.cases import Case, Device, Flush, Step, how_many
from harness.compiler.compile import Built
from harness.dtypes import numpy_dtype
from harness.errors import DeviceFault, DeviceLost, HarnessError, LaunchError
from harness.journal.counter_records import Counted, MachineCode, SourceLine, Uncounted
from harness.journal.records import Cache
from harness.problem import Buffer, Problem

Array = npt.NDArray[Any]

NVTX_DOMAIN = "kernel-harness"
"""Of every range that a case is launched in."""

POISON = 0xFF
"""Every byte of an output and of scratch before a verified launch; as a float it is a NaN."""

PAGE = 2 << 20
"""A large allocation of the driver's starts on a boundary of its physical pages.

A kernel can be 4 % slower 512 bytes after such a boundary than on it: docs/measurement.md.
"""

GUARD_BYTES = 64 << 10
"""At least so much on either side of a buffer belongs to nobody."""

AROUND = PAGE + 2 * GUARD_BYTES
"""What a buffer takes of the device's memory beyond its own bytes."""

FLUSH_FACTOR = 2
"""How many times the L2 cache each of two buffers is large that empty it: stream_control.cu."""

OTHER_RESULT = "its result is wrong: not the one that was verified"
"""Why a variant fails whose result was always the same, and is not any more."""

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
"""Why a variant fails whose work is not where it is timed."""

_OF_THE_CARD = ("ECC error", "NVLink error", "busy or unavailable", "no CUDA-capable device")
"""In the driver's words for what is the GPU's own fault, whatever it was that ran."""


def fault(case: str, words: str) -> HarnessError:
    """The driver's error in a launch, as a fault of the case or as one of the GPU itself."""
    if any(each in words for each in _OF_THE_CARD):
        return DeviceLost(f"{words} (at {case})")
    return DeviceFault(f"{case}: {words}")


_PATTERNS = (0xFFFFFFFF, 0x7FFF7FFF, 0xFFFF7FFF, 0x7FFFFFFF)


def poison(number: int) -> int:
    """The four bytes that outputs and scratch are filled with before a launch, by its number.

    Each is a NaN in every type of float, and they differ, so that no right answer equals the poison
    of every launch.
    """
    return _PATTERNS[number % len(_PATTERNS)]


@dataclass(frozen=True)
class Execution:
    """One verified launch of all of a case's steps.

    outputs: each output buffer as the kernels left it. faults: what went wrong on the way
    (an access out of bounds, a guard byte written, an input changed); empty when nothing did.
    """

    outputs: Mapping[str, Array]
    faults: tuple[str, ...] = ()
    counts: tuple[Counted | Uncounted, ...] = ()
    lines: tuple[SourceLine, ...] = ()
    machine_code: tuple[MachineCode, ...] = ()
    poison: int = _PATTERNS[0]
    """What outputs were filled with before: four bytes, over and over."""
    printed: tuple[str, ...] = ()
    """What each call of the kernels' printf wrote, where the emulator executed them."""


class Change(NamedTuple):
    """Other values for some elements of an input: what its other state differs by."""

    where: Array
    values: Array


@dataclass(frozen=True)
class Right:
    """What a case's verified results come to, so that every later launch can be held to them.

    hashes: of each output's and zeroed buffer's bits. varies: they differ from launch to launch,
    and are held to their bounds instead. held: whether its launches can wait for each other on the
    device; code that waits for the device itself cannot. other: the hashes for the inputs' other
    state; none where no other state was verified.
    """

    hashes: tuple[int, ...]
    varies: bool = False
    held: bool = True
    other: tuple[int, ...] = ()

    def of(self, is_other: bool) -> tuple[int, ...]:
        """The hashes for a state of the inputs."""
        return self.other if is_other else self.hashes


class Seen(NamedTuple):
    """What one launch came to: whether its inputs were in the other state, and its hashes."""

    is_other: bool
    hashes: tuple[int, ...]


LONG_NS = 10e6
"""A launch that takes so long is alone a batch: what a first launch takes more, some microseconds,
is beyond what its time is told to."""


@dataclass(frozen=True)
class Batch:
    """Timed launches of one case, and what was found wrong with them.

    times_ns: a row per launch: one total, or one figure per step. wrong: launches whose results
    were not right. other: those that were right within their bounds, of other bits than verified;
    told where results may vary. changed: inputs, or memory outside of all buffers, that had changed
    afterwards. kept: of the wrong ones those that were right for the inputs' other state. late:
    launches whose results still changed after their end. busy_ns: for how long the device still
    worked after each of them, 0 where it did not. first: which of those that were kept was the
    first, in words. seen: of every launch the state and the hashes.
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
        """Other contents for the input buffers."""

    def run(self, case: Case, built: Built | None, draw: int = 0) -> Execution:
        """Poison, launch once, read back. Raises LaunchError for what cannot be launched."""

    def __enter__(self) -> Workspace: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class TimedWorkspace(Workspace, Protocol):
    """A workspace whose backend can tell the time, and holds every timed launch to its result."""

    def right(self, case: Case, built: Built | None) -> Right | str:
        """What the results of a case come to, right after a launch of it that was verified.

        Or why they are not right every time.
        """

    def bounds(
        self,
        reference: Mapping[str, Array],
        bound: Mapping[str, Array | float],
        is_other: bool = False,
    ) -> None:
        """What results are held to on the device: float64, of each output.

        is_other: for the other state of the inputs.
        """

    def alternate(self, changes: Mapping[str, Change]) -> None:
        """Let timed launches find the inputs in either state, where both are known to be right."""

    def error(self, case: Case, built: Built | None, draw: int = 0) -> float | str | None:
        """The same launch as `run`, held to its bounds on the device.

        The worst error as a share of its bound, or what is wrong; None where it cannot tell.
        """

    def ready(self, case: Case, built: Built | None, right: Right) -> str:
        """Launch once, so that nothing is loaded any more; why that was not right, or nothing."""

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
        """Nanoseconds of each launch; held to `right` where it is given."""

    def profile(self, case: Case, built: Built | None, ranges: Sequence[str]) -> None:
        """Launch every step once, each alone inside the NVTX range of its name."""

    def kernels(self, case: Case) -> Sequence[str]:
        """Names of what a function's call launches, once each; empty where nobody tells."""

    def noise(self, name: str) -> None:
        """Random floats in a buffer whose contents do not matter."""

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
    """A backend that tells the time."""

    def workspace(
        self, problem: Problem | None, buffers: Sequence[Buffer], inputs: Mapping[str, Array]
    ) -> TimedWorkspace: ...

    def event_costs(self, cache: Cache, launches: int) -> tuple[float, ...]:
        """Of a kernel that times itself: what two events around it show beyond what it says, ns.

        Raises OutOfMemory.
        """

    def rest(self) -> None:
        """Give back what only the cases so far needed; what comes next are others."""


class Parameter(Protocol):
    """A kernel parameter, as the compiled PTX declares it."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str:
        """Its PTX type: u64, s32, f32 …"""


_NUMPY = {
    "u8": np.uint8, "s8": np.int8, "b8": np.uint8,
    "u16": np.uint16, "s16": np.int16, "b16": np.uint16,
    "u32": np.uint32, "s32": np.int32, "b32": np.uint32,
    "u64": np.uint64, "s64": np.int64, "b64": np.uint64,
    "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def scalar_or_buffer(
    parameters: Sequence[Parameter], step: Step, source: str
) -> list[str | np.generic]:
    """A step's arguments by the kernel's own signature: buffer names, and scalars of its types.

    Raises LaunchError for a wrong number of arguments, a buffer where the kernel takes no pointer,
    or an integer that the parameter's type cannot hold.
    """
    if len(parameters) != len(step.args):
        raise LaunchError(
            f"{source}: {step.kernel} takes {how_many(len(parameters), 'argument')} "
            f"({', '.join(p.type for p in parameters)}), but args: lists {len(step.args)} "
            f"({', '.join(map(str, step.args))})"
        )
    bound: list[str | np.generic] = []
    for number, (parameter, argument) in enumerate(zip(parameters, step.args, strict=True), 1):
        kind = _NUMPY.get(parameter.type)
        place = f"{source}: {step.kernel}, argument {number}"
        if kind is None:
            raise LaunchError(f"{place}: a parameter of type .{parameter.type} cannot be passed")
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
    """A host array of the buffer's shape with every byte poison, or zero where zero is promised."""
    fill = 0 if buffer.role == "zeroed" else POISON
    return np.full(buffer.nbytes, fill, np.uint8).view(numpy_dtype(buffer.dtype))


def contents(buffers: Sequence[Buffer], inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs given, each checked against its buffer. Raises LaunchError where it is not."""
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
    """Inputs changed without `overwrites`, and zeroed buffers not left zero; compared by bits."""
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
