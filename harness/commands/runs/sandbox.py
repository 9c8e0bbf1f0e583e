"""`--sandbox`: run the same command inside bubblewrap, for kernels from strangers.

Inside it there is no network, no other process and no access to other users' sockets. The file
system is read-only except the run's folder, this run's own caches and an empty /tmp. Memory and
processes are limited. The ordinary caches are not used: code compiled in a sandbox could be
malicious, and must not be loaded outside it or by another sandboxed run. The output of the inner
command is plain text; terminal control sequences in it have no effect.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import IO, TextIO

from harness.commands.request import RunRequest
from harness.compiler import cache
from harness.console import escaping
from harness.console.progress import WIDTH, console
from harness.errors import UsageError
from harness.files import scratch
from harness.journal import run_files
from harness.journal.run_files import LATEST
from harness.matrix import model
from harness.run.folder import fresh, point_latest
from harness.sandbox import no_sockets, walls

REPOSITORY = Path(__file__).parents[3]
_LONGEST_LINE = 1 << 16
"""The most characters of one output line that are passed on from the sandbox at once."""
_STARTED = """
import sys
sys.path.pop(0)  # the current folder, which may have a `harness` of its own
home = sys.argv.pop(1)
if home not in sys.path:
    sys.path.insert(0, home)
sys.argv[0] = f"{home}/harness/__main__.py"
from harness.__main__ import main
main()
"""
_GRACE_S = 30
"""Seconds from a signal until a command that goes on inside is killed."""
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(request: RunRequest) -> tuple[int, Path]:
    """Run this command inside the sandbox; return its exit code and the run's folder.

    The folder is created before the sandbox starts, because nothing else is writable inside. Raises
    UsageError if no sandbox can be made.
    """
    request.told.check()
    program = walls.program()
    if program is None:
        raise UsageError(
            "--sandbox needs bubblewrap, and there is no bwrap on PATH\n"
            "  install it (Debian, Ubuntu: apt-get install bubblewrap), or run without --sandbox "
            "what you trust"
        )
    arguments = list(_inner(sys.argv[1:]))
    no_sockets.rules()
    try:
        writable = [
            _real(path) for path in (request.out, request.told.json, request.told.markdown) if path
        ]
        folder = request.out or fresh(datetime.now(timezone.utc))
        folder.mkdir(parents=True, exist_ok=True)
        for path in writable[bool(request.out) :]:
            path.touch()
        try:
            named = [] if request.out else ["--out", str(folder)]
            if not request.out:
                writable.insert(0, _real(folder))
            run_files.check(writable[0])
            try:
                with scratch.folder() as caches:
                    code = _inside(program, request, writable, caches, [*arguments, *named])
            finally:
                run_files.without_privileges(writable[0])
        finally:
            with suppress(OSError):  # the folder is not empty
                folder.rmdir()
    except OSError as error:
        raise UsageError(f"--sandbox: {error.filename}: {error.strerror}") from None
    if (folder / "run.json").exists():
        point_latest(folder)
    return code, folder


def _inner(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments of the inner command: all except those handled outside."""
    left = iter(arguments)
    for each in left:
        if each == "--save-baseline":
            next(left, None)  # its name
        elif each != "--sandbox" and not each.startswith("--save-baseline="):
            yield each


def _real(path: Path) -> Path:
    """Return the path to make writable inside the sandbox. No part of it may be a symbolic link.

    An earlier sandboxed run may have left a link wherever it could write. Links made by root belong
    to the machine, and reports/latest belongs to the harness. Raises UsageError for any other link.
    """
    here = Path("/")
    for part in Path(os.path.abspath(path)).parts[1:]:
        here /= part
        if not here.is_symlink():
            continue
        beside = Path(os.readlink(here)).name
        if here == LATEST.absolute() and os.readlink(here) == beside:
            here = here.parent / beside
            if not here.is_symlink():
                continue
        if os.getuid() == 0 or here.lstat().st_uid != 0:
            raise UsageError(
                f"--sandbox: {here} is a link, whose target may change before it is followed\n"
                f"  name the real path: {os.path.realpath(path)}"
            )
        here = here.resolve()
    return here


def _inside(
    program: str,
    request: RunRequest,
    writable: Sequence[Path],
    caches: Path,
    arguments: Sequence[str],
) -> int:
    for path in (caches / "compile", caches / "home", _real(cache.CACHE)):
        path.mkdir(parents=True, exist_ok=True)
    walls.prepare()
    told, tells = os.pipe()
    rules, ruling = os.pipe()
    command = [program, "--info-fd", str(tells), "--seccomp", str(rules),
               *_walls(request, writable, caches), "--",
               sys.executable, "-c", _STARTED, str(REPOSITORY), *arguments]  # fmt: skip
    with os.fdopen(ruling, "wb") as file:
        file.write(no_sockets.rules())
    inside = subprocess.Popen(
        command, pass_fds=[tells, rules], preexec_fn=walls.limit,  # noqa: PLW1509
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    for handle in (tells, rules):
        os.close(handle)
    shown = [
        threading.Thread(target=_show, args=each, daemon=True)
        for each in ((inside.stdout, sys.stdout), (inside.stderr, sys.stderr))
    ]
    for each in shown:
        each.start()
    try:
        return _ended(inside, told)
    except BaseException:
        inside.kill()  # and everything that it started
        raise
    finally:
        for each in shown:
            each.join()


def _show(said: IO[bytes], where: TextIO) -> None:
    """Pass on output from inside as it arrives, with terminal control sequences escaped."""
    with io.TextIOWrapper(said, "utf-8", errors="replace", newline="\n") as lines:
        while line := lines.readline(_LONGEST_LINE):
            with suppress(OSError):  # the reader has ended; keep reading from the writer
                where.write(escaping.text(line))
                where.flush()


def _ended(inside: subprocess.Popen[bytes], told: int) -> int:
    with open(told, encoding="utf-8") as about:
        said = about.read()
    if not said:
        inside.wait()
        raise UsageError(
            "bubblewrap cannot create a sandbox on this machine; its message is above\n"
            "  it needs user namespaces (sysctl kernel.unprivileged_userns_clone, user.max_user_"
            "namespaces), or run only code that you trust without --sandbox"
        )
    return _wait(inside, int(json.loads(said)["child-pid"]))


def _walls(request: RunRequest, writable: Sequence[Path], caches: Path) -> Iterator[str]:
    """bwrap's options in mount order: a later mount covers an earlier one."""
    here = Path.cwd()
    config = request.config or model.MATRIX
    kernels = request.kernels or config.parent / "kernels"
    yield from walls.around(
        [REPOSITORY, here, Path(sys.prefix), Path(sys.base_prefix), kernels, config]
    )
    yield from ("--bind", str(caches / "compile"), str(cache.CACHE.absolute()))
    yield from walls.home(caches / "home")
    for path in writable:
        yield from ("--bind", str(path), str(path))
    if console.is_terminal:
        yield from ("--setenv", WIDTH, str(console.width))
    yield from ("--chdir", str(here))


def _wait(inside: subprocess.Popen[bytes], pid: int) -> int:
    """Wait for the inner command, pass signals on to it, and return its exit code. A command that
    ignores them is killed after a while."""

    last = threading.Timer(_GRACE_S, inside.kill)
    last.daemon = True

    def hand_on(number: int, frame: FrameType | None) -> None:
        if last.ident is None:
            last.start()
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return

    before = {number: signal.signal(number, hand_on) for number in _ENDS}
    try:
        code = inside.wait()
    finally:
        last.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code
