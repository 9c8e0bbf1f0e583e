"""The job of one worker process, as plain data that the process reads from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from pydantic import TypeAdapter

from harness.backends.base import Right, Seen
from harness.cases import Case, Device, Flush
from harness.compiler.compile import Built
from harness.journal.records import Record


@dataclass(frozen=True)
class Job:
    """One worker's task.

    describe: report the device. draw: write the inputs and references of one group to `scratch`,
    which needs no device. qualify: verify a variant at its test sizes and, on the emulator, verify
    and count its bench sizes. ceilings: measure the machine. prepare: verify the cases of one group
    at the timed size, and write their inputs to `scratch`. measure: time the cases of one group, in
    one placement. profile: launch every step of the cases once, under ncu.
    """

    task: Literal["describe", "draw", "qualify", "ceilings", "prepare", "measure", "profile"]
    backend: str
    """`cuda`, `emulator`, or the `module:function` that makes a backend."""
    arch: str | None
    kernels: Path
    seed: int
    tests: tuple[Case, ...] = ()
    cases: tuple[Case, ...] = ()
    built: dict[str, Built] = field(default_factory=dict)
    """Case id → its compiled files; a library's cases have none."""
    jobs: int = 1
    """The number of blocks of an emulated launch that may run at the same time."""
    most_bytes: int | None = None
    """The amount of the machine's memory that the worker may use, in bytes; None for all of it."""
    fresh: int = 0
    """A number unique to this run, so that no kernel can have seen the timed inputs before."""
    scratch: Path = Path()
    """The folder that holds a group's inputs for its placements."""
    drawn: dict[int, dict[str, str]] = field(default_factory=dict)
    """Draw → file → the hash of data that was already generated, as reported by the worker that
    generated it."""
    right: dict[str, Right] = field(default_factory=dict)
    """Case id → the hashes of its verified results."""
    reference: str = ""
    """The variant that is timed twice per round."""
    placement: int = 0
    rounds: int = 0
    first_round: int = 0
    batch: int = 0
    flush: Flush = "clean"
    seat: str = ""
    """A name for a worker that stays alive for further jobs, all with the same backend; empty for a
    worker that ends with its job."""
    probes: tuple[str, ...] = ()
    """The ceilings that are measured again in the placement, by the ids of their cases."""


JOB: TypeAdapter[Job] = TypeAdapter(Job)
DEVICE: TypeAdapter[Device] = TypeAdapter(Device)
RIGHT: TypeAdapter[Right] = TypeAdapter(Right)
SEEN: TypeAdapter[tuple[Seen, ...]] = TypeAdapter(tuple[Seen, ...])


class Telling(Protocol):
    """The sink for a worker's progress and results."""

    def now(self, what: str, seconds: float | None = None) -> None:
        """Report the next step, and how long it may take, if known."""

    def record(self, record: Record) -> None: ...

    def right(self, case: str, right: Right) -> None: ...

    def launched(self, case: str, seen: Sequence[Seen]) -> None:
        """Report the result of each launch of a batch, so that another process can check it."""

    def drawn(self, draw: int, files: Mapping[str, str]) -> None: ...
