"""Start worker processes and listen to them, with a deadline for each step.

However a worker ends (an exit, a crash, a hang), this module describes the end in a sentence;
records are passed on as they arrive. Workers are forked from a process that has done their imports,
so a new process takes little longer to start than a new context.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.backends.base import Right
from harness.cases import Case, Device
from harness.files import scratch
from harness.job import DEVICE, JOB, RIGHT, SEEN, Job
from harness.journal.records import Record, from_json
from harness.processes.fork_server import Forked, ForkServer, ServerEnded
from harness.processes.judge import Judge

_TAIL = 2000
"""Characters of a dead worker's own output that are worth showing."""

STARTING_S = 60.0
"""Deadline in seconds for a process to start on a busy machine."""

DESCRIBE_S = 120
"""Deadline in seconds for describing a device."""

MOST_SERVERS = 4
"""The maximum number of servers that are kept, as many as there are kinds: for a run without a GPU,
for kernels on a GPU, for everything else on a GPU, and for cases that use torch.compile."""

_POLL_S = 0.05

STAYS = "stays"
"""The line by which a worker reports that its job is done and that it waits for the path of
another."""

ERRORS = ("error", "memory", "machine", "outside", "lost")
"""The words with which a worker reports why it cannot continue; harness/worker/pipe.py explains
each."""


@dataclass(frozen=True)
class Ended:
    """The end of a worker. reason is empty if it did its whole job; `at` is its last step.

    `late`: it ended at a deadline. `killed`: it was killed from outside, as far as can be
    determined, or lacked a resource, such as disk space, through no fault of any case.
    `no_memory`: the device or the machine had too little memory for the data that all cases of the
    job share. `lost`: no process can use the device any more.
    """

    reason: str = ""
    at: str = ""
    device: Device | None = None
    late: bool = False
    killed: bool = False
    no_memory: bool = False
    part_too_small: bool = False
    """True if the worker needed more of the machine's memory than it was given."""
    lost: bool = False
    crowded: bool = False
    """True if the worker was killed or ran out of memory while others ran; from now on there are
    fewer."""
    right: dict[str, Right] = field(default_factory=dict)
    """Case id → the hashes of its verified results, as reported by a preparing worker."""
    failed: dict[str, str] = field(default_factory=dict)
    """Case id → the reason why the worker's report on its launches is not accepted."""
    drawn: dict[int, dict[str, str]] = field(default_factory=dict)
    """Draw → file → hash of the files that a worker has generated."""


class Workers:
    """All workers of a run, so that none outlives it."""

    def __init__(self) -> None:
        self._running: set[_Worker] = set()
        self._seated: dict[str, _Worker] = {}
        """Seat → its worker, which waits for another job."""
        self._lock = threading.Lock()
        self.stopped = False

    def do(
        self, job: Job, deadline_s: float, record: Callable[[Record], None] = lambda record: None
    ) -> Ended:
        """Run a job until it ends or one of its steps overruns. Safe to call from several threads.

        `deadline_s`: for each step until the worker announces another; a step may ask for its own.
        """
        if self.stopped:
            return Ended("the run was stopped", killed=True)
        with scratch.folder() as own:
            path = own / "job.json"
            path.write_bytes(JOB.dump_json(job))
            try:
                worker = self._waiting_at(job, path) or _Worker(job, path)
            except ServerEnded as error:
                return Ended(f"no worker could be started: {error}", killed=True)
            self._enter(worker)
            ended = None
            try:
                ended = worker.do(deadline_s, record)
                return replace(ended, failed=worker.failed)
            finally:
                if not (ended and worker.stays and self._seat(job.seat, worker)):
                    worker.end(thoroughly=not ended or bool(ended.reason))
                    with self._lock:
                        self._running.discard(worker)

    def _waiting_at(self, job: Job, path: Path) -> _Worker | None:
        """Return the worker waiting in that seat, with its next job; None if there is none."""
        with self._lock:
            worker = self._seated.pop(job.seat, None)
        if worker and not worker.takes(job, path):
            self._dismiss([worker])
            return None
        return worker

    def _seat(self, seat: str, worker: _Worker) -> bool:
        with self._lock:
            if not self.stopped:
                self._seated[seat] = worker
        return not self.stopped

    def dismiss(self, seat: str = "") -> int:
        """End every worker that waits for another job, or only the worker in one seat; return how
        many were ended."""
        with self._lock:
            seats = [each for each in self._seated if not seat or each == seat]
            waiting = [self._seated.pop(each) for each in seats]
        self._dismiss(waiting)
        return len(waiting)

    def _dismiss(self, workers: Iterable[_Worker]) -> None:
        for worker in workers:
            worker.end(thoroughly=False)
            with self._lock:
                self._running.discard(worker)

    def _enter(self, worker: _Worker) -> None:
        with self._lock:
            self._running.add(worker)
            if self.stopped:  # stopped while it was starting
                worker.kill()

    def stop(self) -> None:
        """Kill all workers that still run; a worker that ends after this call is not at fault."""
        with self._lock:
            self.stopped = True
            for worker in self._running:
                worker.kill()
        self.dismiss()


class _Worker:
    """One process, forked to run the job in a file; if it `stays`, it then waits for another
    job."""

    def __init__(self, job: Job, path: Path) -> None:
        ours, theirs = socket.socketpair()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed in end()
        try:
            self._child = _forked(_kind(job), [str(path)], self._output.fileno(), theirs.fileno())
        except BaseException:
            ours.close()
            self._output.close()
            raise
        finally:
            theirs.close()
        self._socket = ours
        self._lines = ours.makefile(encoding="utf-8", errors="replace")
        self._until = self._deadline_s = 0.0
        self._begin(job)

    def _begin(self, job: Job) -> None:
        self._at, self._error, self._cause = "", "", ""
        self._device: Device | None = None
        self._right: dict[str, Right] = {}
        self._judge = Judge(job)
        self._drawn: dict[int, dict[str, str]] = {}
        self._late, self._done = threading.Event(), threading.Event()
        self.stays = False

    def takes(self, job: Job, path: Path) -> bool:
        """Return whether the worker is still alive and can begin another job."""
        self._begin(job)
        try:
            self._socket.sendall(f"{path}\n".encode())
        except OSError:
            return False
        return not self._child.ends_within(0)

    def do(self, deadline_s: float, record: Callable[[Record], None]) -> Ended:
        self._allow(STARTING_S + deadline_s)
        watchdog = threading.Thread(target=self._watch, daemon=True)
        watchdog.start()
        try:
            self._listen(deadline_s, record)
            if self.stays:
                return Ended(device=self._device, right=self._right)
            while not self._child.ends_within(_POLL_S):
                pass  # it closed the pipe and continues; its deadline still applies
        finally:
            self._done.set()
            watchdog.join()
        return self._ended(self._child.end(thoroughly=False))

    def _listen(self, deadline_s: float, record: Callable[[Record], None]) -> None:
        with suppress(ConnectionResetError):  # it died before it read its job
            for line in self._lines:
                if not line.endswith("\n"):
                    return  # it died while writing this
                if line == f"{STAYS}\n":
                    self.stays = not self._late.is_set()
                    return
                if not self._take(line.rstrip("\n"), deadline_s, record):
                    self._cause = "error"
                    self._error = f"its worker wrote no record: {line[:80].strip()}"
                    self.kill()
                    return

    def _take(self, line: str, deadline_s: float, record: Callable[[Record], None]) -> bool:
        """Handle a line; return whether it belongs to the protocol, or is at least harmless."""
        word, _, rest = line.partition(" ")
        try:
            if word == "record":
                found = from_json(rest)
                takes = self._judge.takes(found)
            else:
                self._told(word, rest, deadline_s)
        except ValueError:
            return False
        if word == "record" and takes:
            record(found)
        return True

    def _told(self, word: str, rest: str, deadline_s: float) -> None:
        if word == "now":
            self._at, _, own = rest.partition(" ")
            self._allow(float(own) if own else deadline_s)
        elif word == "right":
            case, _, found = rest.partition(" ")
            self._right[case] = RIGHT.validate_json(found)
            if self._right[case].varies:
                self._judge.varies(case)
        elif word == "launched":
            case, _, found = rest.partition(" ")
            self._judge.launched(case, SEEN.validate_json(found))
        elif word == "drawn":
            draw, _, files = rest.partition(" ")
            self._drawn[int(draw)] = dict(json.loads(files))
        elif word == "device":
            self._device = DEVICE.validate_json(rest)
        elif word in ERRORS:
            self._cause, self._error = word, rest.replace("\\n", "\n")

    def _allow(self, seconds: float) -> None:
        self._deadline_s, self._until = seconds, time.monotonic() + seconds

    def _watch(self) -> None:
        while not self._done.wait(_POLL_S):
            if time.monotonic() > self._until:
                self._late.set()
                self.kill()
                return

    def _ended(self, code: int) -> Ended:
        if self._late.is_set():
            reason = f"not done within {self._deadline_s:g} s, and stopped"
            return Ended(reason, self._at, self._device, late=True, right=self._right)
        if self._cause:
            return Ended(
                self._error, self._at, self._device, right=self._right,
                killed=self._cause == "outside", no_memory=self._cause in ("memory", "machine"),
                part_too_small=self._cause == "machine", lost=self._cause == "lost",
            )  # fmt: skip
        if code:
            size = self._output.seek(0, os.SEEK_END)
            self._output.seek(max(0, size - _TAIL))
            said = self._output.read().decode(errors="replace").strip()
            reason = "\n".join(filter(None, [_died(code), said]))
            killed = -code in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
            return Ended(reason, self._at, self._device, killed=killed, right=self._right)
        return Ended(device=self._device, right=self._right, drawn=self._drawn)

    @property
    def failed(self) -> dict[str, str]:
        """Map case id → why the reports on its launches are not accepted."""
        return self._judge.failed

    def kill(self) -> None:
        """Kill the worker and its descendants; the thread that listens to it notices that it has
        ended."""
        self._child.kill(thoroughly=True)

    def end(self, thoroughly: bool = True) -> None:
        self._child.end(thoroughly)
        self._lines.close()
        self._socket.close()
        self._output.close()


def _kind(job: Job) -> str:
    """The kind of server, by the imports that its workers need."""
    if job.backend != "cuda" or job.task in ("describe", "draw"):
        return _without_a_gpu()
    if job.task == "qualify" and all(case.kind == "kernel" for case in (*job.tests, *job.cases)):
        return "kernels"  # without torch, whose import takes up to twenty seconds
    compiles = any(case.compiled for case in job.cases)
    if job.seat and job.task != "qualify":  # its next job may compile, if any job of the run does
        compiles |= any(kind == "compiling" for kind, *_ in list(_servers))
    return "compiling" if compiles else "gpu"


def import_ahead(backend: str, cases: Iterable[Case] = ()) -> None:
    """Start the servers from which workers on these cases will be forked; do not wait for them.

    Their imports take ten seconds or more, during which a run can do other work.
    """
    if backend == "cuda":
        _server("kernels")
        _server("gpu")
        if any(case.compiled for case in cases):
            _server("compiling")


def start_server() -> None:
    """Start the server from which workers without a GPU are forked, unless it is running.

    If a process forks copies of itself, they share one server and use it one at a time.
    """
    _server(_without_a_gpu())


def _without_a_gpu() -> str:
    """The kind of server for workers without a GPU. If this process needed torch for a reference,
    the workers will need it too, and importing torch takes seconds."""
    return "torch" if "torch" in sys.modules else "cpu"


def _forked(kind: str, arguments: Sequence[str], output: int, pipe: int) -> Forked:
    """Fork from the server of this kind, or from a new one if that server has ended."""
    try:
        return _server(kind).fork(arguments, output, pipe)
    except ServerEnded:
        return _server(kind).fork(arguments, output, pipe)


def _server(kind: str) -> ForkServer:
    """Return the server of this kind and import path.

    A server serves all runs of this process; only the most recently used servers are kept.
    """
    key = kind, os.environ.get("PYTHONPATH", "")
    with _servers_lock:
        server = _servers.pop(key, None)
        if server is None or not server.is_alive:
            command = [sys.executable, "-m", "harness.worker", "serve", kind]
            server = ForkServer(command, STARTING_S, _AT_REST)
        _servers[key] = server
        for other in list(_servers)[:-MOST_SERVERS]:
            del _servers[other]  # it ends once none of its workers is in use
        return server


_AT_REST = {"OPENBLAS_THREAD_TIMEOUT": "4"}
"""NumPy's OpenBLAS otherwise keeps its idle threads spinning, on cores that other workers use."""
_servers: dict[tuple[str, ...], ForkServer] = {}
_servers_lock = threading.Lock()


def _died(code: int) -> str:
    if code < 0:
        known = {int(each): each.name for each in signal.Signals}
        return f"the process was ended by {known.get(-code, f'signal {-code}')}"
    return f"the process ended with exit code {code}"
