"""bubblewrap's options for processes that handle untrusted input, and additional limits.

Inside the sandbox there is no network, no other process and no access to other users' sockets. The
file system is read-only except for the paths that the caller binds, and an empty /tmp. Memory and
processes are limited.
"""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

HOME = "/tmp/harness-home"
"""The folder inside the sandbox for libraries' caches."""
MEMORY_SHARE = 0.75
"""The share of this machine's memory that one process may use for its data."""
_SETTINGS = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi")
"""The kernel's settings in /proc. Root owns them, and is still root inside the sandbox."""
_MORE_THREADS = 4096
"""The number of processes allowed beyond those that the user already has; Linux counts threads as
processes."""


def program() -> str | None:
    """The path of bubblewrap, if it is installed."""
    return shutil.which("bwrap")


def prepare() -> None:
    """Build the files that all sandboxes share, because compiling the emulator's library in each
    sandbox would take minutes."""
    from harness.emulator import LaunchError
    from harness.emulator.engine import library
    from harness.emulator.sass import library as machine_code

    library.load()
    with suppress(LaunchError):  # no compiler: whatever needs one inside the sandbox reports that
        machine_code.load()


def around(shown: Iterable[Path]) -> Iterator[str]:
    """Return bubblewrap's options, in mount order: a later mount covers an earlier one.

    `shown`: paths under /tmp that are visible inside.
    """
    yield from ("--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1")
    yield from ("--cap-drop", "ALL")
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    for settings in _SETTINGS:
        yield from ("--ro-bind-try", f"/proc/{settings}", f"/proc/{settings}")
    for device in sorted(Path("/dev").glob("nvidia*")):
        yield from ("--dev-bind-try", str(device), str(device))
    for hidden in ("/tmp", "/run"):  # they contain sockets of services and displays
        yield from ("--tmpfs", hidden)
    for lock in sorted(Path(tempfile.gettempdir()).glob("kernel-harness*.lock")):
        yield from ("--ro-bind", str(lock), str(lock))  # one run per GPU, across users
    for path in dict.fromkeys(each.absolute() for each in shown):
        if path.exists() and Path("/tmp") in path.parents:  # hidden above
            yield from ("--ro-bind", str(path), str(path))


def home(folder: Path) -> Iterator[str]:
    """A home folder for libraries' caches, which contains the emulator's own library, read-only and
    shared."""
    from harness.emulator.engine.c_header import cache_folder

    yield from ("--bind", str(folder), HOME)
    lent = cache_folder().absolute()
    if lent.is_dir():
        yield from ("--ro-bind", str(lent), f"{HOME}/{lent.name}")
    for name in ("XDG_CACHE_HOME", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH", "MPLCONFIGDIR"):
        yield from ("--setenv", name, HOME)
    yield from ("--setenv", "TMPDIR", "/tmp")


def limit() -> None:
    """Set limits before bwrap starts, so that they apply to every process that it starts."""
    memory = int(MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    # This does not limit the address space, because a CUDA context reserves far more of it than
    # there is memory.
    for what, most in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_NPROC, _threads() + _MORE_THREADS),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        lower = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (lower, lower))


def _threads() -> int:
    """The number of threads of this user's processes."""
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == os.getuid():
                found += len(list((process / "task").iterdir()))
        except OSError:  # it has ended
            continue
    return found
