"""The run that a command line requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.commands.printed.results import OutputOptions
from harness.files import in_repository
from harness.matrix import model
from harness.matrix.filters import Choice
from harness.ncu.stage import ProfileOptions

__all__ = ["CarryOut", "Choice", "OutputOptions", "RunRequest"]


@dataclass(frozen=True)
class RunRequest:
    """`wanted`: what to profile, for `profile`. `told`: output destinations besides the report."""

    config: Path | None = None
    kernels: Path | None = None
    backend: str = "auto"
    choice: Choice = field(default_factory=Choice)
    arch: str | None = None
    out: Path | None = None
    jobs: int = 0
    told: OutputOptions = field(default_factory=OutputOptions)
    wanted: ProfileOptions | None = None
    bench: model.Bench | None = None
    """The matrix, if it is not the one that `config` and `kernels` name."""
    beside: Mapping[str, Any] | None = None
    """The entry in run.json about the two sides, for a run that has both."""
    anew: bool = False
    """True if the results of earlier emulated runs must not be reused."""
    cluster: str | None = None
    """The workers among which the run is distributed: local, or a scheduler's address."""

    @property
    def matrix(self) -> Path:
        return self.config or model.MATRIX

    @property
    def problems(self) -> Path:
        """The folder of problems: `kernels/` next to the matrix, unless the command line names
        one."""
        return self.kernels or self.matrix.parent / in_repository.PROBLEMS


CarryOut = Callable[[RunRequest], tuple[int, Path]]
"""A function that does a whole run, from the matrix to the report. It returns the exit code and the
run's folder."""
