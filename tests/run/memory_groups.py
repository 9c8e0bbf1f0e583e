"""Memory cgroups for tests: the processes in a group have a fixed amount of memory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Group:
    """A memory cgroup under this process's own, of either version."""

    folder: Path
    counts: str
    """The group's file with the number of processes that Linux has killed for lack of memory."""

    def enter(self) -> None:
        """Put this process, and the processes that it starts, into the group."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    @property
    def killed(self) -> int:
        lines = (self.folder / self.counts).read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


@contextmanager
def group_of(nbytes: int) -> Iterator[Group]:
    """Create a group; skip the test if cgroups cannot be created."""
    folder, limit, counts = _below_ours()
    try:
        folder.mkdir()
        (folder / limit).write_text(str(nbytes))
    except OSError as error:
        if folder.is_dir():
            folder.rmdir()
        pytest.skip(f"no memory cgroup can be made here: {error}")
    try:
        yield Group(folder, counts)
    finally:
        _remove(folder)


def _remove(folder: Path) -> None:
    """Remove the group as soon as the last process in it has ended."""
    until = time.monotonic() + 20
    while True:
        try:
            folder.rmdir()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def _below_ours() -> tuple[Path, str, str]:
    own = f"test-{os.getpid()}"
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    for _, controllers, path in lines:
        if "memory" in controllers.split(","):
            root = _CGROUPS / "memory"
            ours = root / path.lstrip("/")
            folder = (ours if ours.is_dir() else root) / own
            return folder, "memory.limit_in_bytes", "memory.oom_control"
    path = next((path for number, _, path in lines if number == "0"), "/")
    return _CGROUPS / path.lstrip("/") / own, "memory.max", "memory.events"
