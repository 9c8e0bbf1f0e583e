"""What one worker process does, as plain data that travels to it in a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from harness.build.compile import Built
from harness.cases import Case, Device


@dataclass(frozen=True)
class Job:
    """What one worker does.

    describe: tell the device. qualify: verify a variant at its test sizes, and on the emulator
    verify and count its bench sizes. ceilings: measure the machine. measure: time cases of one
    group together. profile: launch every step of such cases once, for ncu, which watches.
    """

    task: Literal["describe", "qualify", "ceilings", "measure", "profile"]
    backend: Literal["cuda", "emulator"]
    arch: str | None
    kernels: Path
    seed: int
    tests: tuple[Case, ...] = ()
    cases: tuple[Case, ...] = ()
    built: dict[str, Built] = field(default_factory=dict)
    """Case id → what was compiled for it; the library's cases have none."""
    baseline: str = ""
    rounds: int = 0
    batch: int = 0
    first_round: int = 0
    jobs: int = 1
    """Blocks of an emulated launch that may run at the same time."""


JOB: TypeAdapter[Job] = TypeAdapter(Job)
DEVICE: TypeAdapter[Device] = TypeAdapter(Device)
