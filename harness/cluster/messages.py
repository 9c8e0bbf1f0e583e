"""What travels to a Dask worker and back, as plain data."""

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
    """One piece, sent to one worker once; another try of it is another errand.

    attempt: of the run, since it was begun or resumed. key: names its journal on the worker's disk.
    """

    attempt: str
    key: str
    item: WorkItem
    setting: RunSettings
    records: tuple[Record, ...]
    """What is known that it goes on from: plan, ceilings, and rounds of earlier placements."""
    built: dict[str, Built]
    """Case → what was compiled for it, its files by their names in the worker's store."""
    cores: int
    gpu: str = ""
    """The UUID of the GPU that it is meant for; empty on the emulator."""
    bus: str = ""
    """That GPU's PCI address."""


@dataclass(frozen=True)
class TaskResult:
    """How an errand ended, if its worker lived. lost: why the GPU could not be used any more.

    fault: what the card itself told, though all was measured. busy: who else uses the GPU. stopped:
    nobody wanted it any more. size: bytes of its journal.
    """

    size: int
    said: str = ""
    lost: str = ""
    fault: str = ""
    busy: str = ""
    stopped: bool = False


@dataclass(frozen=True)
class Requirements:
    """What the client has, which a worker has to have too, and what it wants to know.

    harness, sources: file → its hash. packages: those whose version decides a result.
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
    """What a worker tells of itself. no_gpu: why there is none that can be used."""

    host: str
    cores: int
    differs: tuple[str, ...] = ()
    device: Device | None = None
    no_gpu: str = ""
    card: Card = field(default_factory=Card)
    driver: str | None = None

    @property
    def gpu(self) -> str:
        """Its UUID, or what else tells it from others of its host; empty on the emulator."""
        return self.card.uuid or (self.device.bus if self.device else "")
