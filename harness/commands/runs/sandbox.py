"""`--sandbox`: the same command again inside bubblewrap, for kernels that somebody else wrote.

Inside there is no network, no other process and no socket of this machine's services; the file
system is read-only but for the run's folder, a cache of the sandbox's own and an empty /tmp; and
memory and processes are limited. The caches outside stay as they are: what is compiled inside
could be anything, and is never loaded outside.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType

from harness.build import cache
from harness.commands.options import Asked
from harness.errors import UsageError
from harness.matrix import model
from harness.run.folder import fresh, point_latest

REPOSITORY = Path(__file__).parents[3]
OWN_CACHE = Path(".cache") / "sandbox"
"""Shared by sandboxed runs alone; where one stands."""

_MEMORY_SHARE = 0.75
"""Of this machine's memory, that one process may have for its data."""
_MORE_THREADS = 4096
"""Beyond those that the user has already; the kernel counts threads as processes."""
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(asked: Asked) -> tuple[int, Path]:
    """This command inside the sandbox: its exit code, and the run's folder.

    The folder is made here, because inside only it can be written to. Raises UsageError where no
    sandbox can be made.
    """
    asked.told.check()
    program = shutil.which("bwrap")
    if program is None:
        raise UsageError(
            "--sandbox needs bubblewrap, and there is no bwrap on PATH\n"
            "  install it (Debian, Ubuntu: apt-get install bubblewrap), or run without --sandbox "
            "what you trust"
        )
    arguments = list(_inner(sys.argv[1:]))
    try:
        folder = asked.out or fresh(datetime.now(timezone.utc))
        folder.mkdir(parents=True, exist_ok=True)
        try:
            named = [] if asked.out else ["--out", str(folder)]
            code = _inside(program, asked, folder, [*arguments, *named])
        finally:
            with suppress(OSError):  # it holds something
                folder.rmdir()
    except OSError as error:
        raise UsageError(f"--sandbox: {error.filename}: {error.strerror}") from None
    if (folder / "run.json").exists():
        point_latest(folder)
    return code, folder


def _inner(arguments: Sequence[str]) -> Iterator[str]:
    """What the command inside is given: all but what is done outside, before and after it."""
    left = iter(arguments)
    for each in left:
        if each == "--save-baseline":
            next(left, None)  # its name
        elif each != "--sandbox" and not each.startswith("--save-baseline="):
            yield each


def _inside(program: str, asked: Asked, folder: Path, arguments: Sequence[str]) -> int:
    from harness.emulator.engine import library
    from harness.emulator.engine.compiled_library import cache_folder

    for path in (OWN_CACHE / "compile", OWN_CACHE / "home", cache.CACHE):
        path.mkdir(parents=True, exist_ok=True)
    library.load()  # the emulator's own, made outside and lent: inside it would take a minute
    cache_folder().mkdir(parents=True, exist_ok=True)
    shutil.copytree(cache_folder(), OWN_CACHE / "home" / "kernel-harness", dirs_exist_ok=True)
    wanted = [asked.told.json, asked.told.markdown]
    writable = [folder, *(path for path in wanted if path)]
    for path in writable[1:]:
        path.touch()
    told, tells = os.pipe()
    command = [program, "--info-fd", str(tells), *_walls(asked, writable), "--",
               sys.executable, "-m", "harness", *arguments]  # fmt: skip
    inside = subprocess.Popen(command, pass_fds=[tells], preexec_fn=_limit)  # noqa: PLW1509
    os.close(tells)
    with open(told, encoding="utf-8") as about:
        said = about.read()
    if not said:
        inside.wait()
        raise UsageError(
            "bubblewrap cannot make a sandbox on this machine; what it says stands above\n"
            "  it needs user namespaces (sysctl kernel.unprivileged_userns_clone, user.max_user_"
            "namespaces), or run without --sandbox what you trust"
        )
    return _wait(inside, int(json.loads(said)["child-pid"]))


def _walls(asked: Asked, writable: Sequence[Path]) -> Iterator[str]:
    """bwrap's options, in the order in which it mounts: a later one lies over an earlier."""
    here = Path.cwd()
    yield from ("--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1")
    yield from ("--cap-drop", "ALL")
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    for device in sorted(Path("/dev").glob("nvidia*")):
        yield from ("--dev-bind-try", str(device), str(device))
    for hidden in ("/tmp", "/run"):  # sockets of services and displays lie there
        yield from ("--tmpfs", hidden)
    for lock in sorted(Path(tempfile.gettempdir()).glob("kernel-harness*.lock")):
        yield from ("--ro-bind", str(lock), str(lock))  # one GPU, one run, whoever's
    config = asked.config or model.MATRIX
    kernels = asked.kernels or config.parent / "kernels"
    shown = [REPOSITORY, here, Path(sys.prefix), Path(sys.base_prefix), kernels, config]
    for path in dict.fromkeys(each.absolute() for each in shown):
        if path.exists() and Path("/tmp") in path.parents:  # hidden above
            yield from ("--ro-bind", str(path), str(path))
    for outside, inside in ((OWN_CACHE / "compile", cache.CACHE), (OWN_CACHE, OWN_CACHE)):
        yield from ("--bind", str(outside.absolute()), str(inside.absolute()))
    for path in writable:
        yield from ("--bind", str(path.absolute()), str(path.absolute()))
    home = str((OWN_CACHE / "home").absolute())
    for name in ("XDG_CACHE_HOME", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH", "MPLCONFIGDIR"):
        yield from ("--setenv", name, home)
    yield from ("--setenv", "TMPDIR", "/tmp", "--chdir", str(here))


def _limit() -> None:
    """Before bwrap starts, and so for all that it starts."""
    memory = int(_MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    # Not of the address space: a CUDA context reserves far more of it than there is memory.
    for what, most in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_NPROC, _threads() + _MORE_THREADS),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        lower = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (lower, lower))


def _threads() -> int:
    """The threads of this user's processes."""
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == os.getuid():
                found += len(list((process / "task").iterdir()))
        except OSError:  # it has ended
            continue
    return found


def _wait(inside: subprocess.Popen[bytes], pid: int) -> int:
    """How the command inside ended; a signal is handed on to it, so that it ends as it would."""

    def hand_on(number: int, frame: FrameType | None) -> None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return

    before = {number: signal.signal(number, hand_on) for number in _ENDS}
    try:
        code = inside.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code
