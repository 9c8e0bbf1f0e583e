"""The host's memory: how much of it processes may still use, and how to limit a process.

Linux kills a process that uses more than is available, without an explanation. A limited process
instead gets an error at the allocation that does not fit, and can report it.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")
_LEAST = 256 << 20
"""A process may always allocate this much more; with less, it could not even report what is
wrong."""


def available(proc: Path = _PROC, cgroups: Path = _CGROUPS) -> int | None:
    """The bytes that the harness's processes may still use, limited by the machine and by every
    enclosing cgroup. None if the system does not report them.
    """
    found = [*_of_machine(proc), *_of_cgroups(proc, cgroups)]
    return max(0, min(found)) if found else None


def private(proc: Path = _PROC) -> int:
    """The bytes that only this process holds, excluding those that a fork shares with its
    parent."""
    lines = _fields(proc / "self/smaps_rollup")
    return lines.get("Private_Clean", 0) + lines.get("Private_Dirty", 0)


def hold(more: int, proc: Path = _PROC) -> None:
    """Let this process allocate at most this many more bytes; further allocations fail.

    Memory that is only reserved, as in the CUDA driver's reservations of addresses, is not limited.
    """
    has = _fields(proc / "self/status").get("VmData")
    if has is None:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = has + max(more, _LEAST)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _of_machine(proc: Path) -> Iterator[int]:
    found = _fields(proc / "meminfo").get("MemAvailable")
    if found is not None:
        yield found


def _of_cgroups(proc: Path, cgroups: Path) -> Iterator[int]:
    """The memory left in this process's cgroup and in each cgroup above it, in either cgroup
    version."""
    try:
        lines = (proc / "self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            names = "memory.max", "memory.current"
            root = cgroups
        elif "memory" in controllers.split(","):
            names = "memory.limit_in_bytes", "memory.usage_in_bytes"
            root = cgroups / "memory"
        else:
            continue
        # In a container the path may be the host's; the root seen here is then the cgroup itself.
        folder = root / path.lstrip("/")
        for each in (folder, *folder.parents):
            yield from _left(each, *names)
            if each == root:
                break


def _left(folder: Path, most: str, used: str) -> Iterator[int]:
    try:
        limit = int((folder / most).read_text())
        now = int((folder / used).read_text())
    except (OSError, ValueError):  # "max": it has no limit
        return
    # The page cache is reclaimed before any process is killed.
    stat = dict(
        line.split() for line in _text(folder / "memory.stat").splitlines() if line.count(" ") == 1
    )
    given_back = int(stat.get("total_inactive_file") or stat.get("inactive_file") or 0)
    yield limit - now + given_back


def _fields(path: Path) -> dict[str, int]:
    """Parse `Name:  123 kB` lines into bytes."""
    found = {}
    for line in _text(path).splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if len(words) == 2 and words[1] == "kB" and words[0].isdecimal():
            found[name] = int(words[0]) * 1024
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
