"""The messages to and from a Dask worker, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from harness.cases import Device
from harness.compiler.compile import Built
from harness.journal.records import Record
from harness.machine.card import Card
from harness.run.task_runner import RunSettings, WorkItem


@dataclass(frozen=True)
class Task:
    """One work item, sent to one worker once; a retry of the item is a new task.

    `attempt`: identifies the run since it was started or resumed. `key`: names the task's journal
    on the worker's disk.
    """

    attempt: str
    key: str
    item: WorkItem
    setting: RunSettings
    records: tuple[Record, ...]
    """The records to continue from: plan, ceilings, and rounds of earlier placements."""
    built: dict[str, Built]
    """Case → its compiled files, by their names in the worker's store."""
    cores: int
    gpu: str = ""
    """The UUID of the GPU that the task is meant for; empty on the emulator."""
    bus: str = ""
    """The PCI address of that GPU."""


@dataclass(frozen=True)
class TaskResult:
    """The outcome of a task whose worker survived. `lost`: why the GPU became unusable.

    `fault`: an error that the card itself reported, even if everything was measured. `busy`: the
    other users of the GPU. `stopped`: True if the task was no longer wanted. `size`: the length of
    the task's journal in bytes.
    """

    size: int
    said: str = ""
    lost: str = ""
    fault: str = ""
    busy: str = ""
    stopped: bool = False


@dataclass(frozen=True)
class Requirements:
    """The client's files and packages, which a worker's must match, and the requested backend.

    `harness`, `sources`: file → its hash. `packages`: those whose version affects a result.
    """

    backend: str
    """auto, cuda, emulator, or module:function."""
    arch: str | None
    kernels: Path
    harness: dict[str, str]
    sources: dict[str, str]
    packages: dict[str, str]


@dataclass(frozen=True)
class Description:
    """A worker's description of itself. `no_gpu`: why it has no usable GPU."""

    host: str
    cores: int
    differs: tuple[str, ...] = ()
    device: Device | None = None
    no_gpu: str = ""
    card: Card = field(default_factory=Card)
    driver: str | None = None

    @property
    def gpu(self) -> str:
        """The GPU's UUID, or another identifier unique on its host; empty on the emulator."""
        return self.card.uuid or (self.device.bus if self.device else "")
