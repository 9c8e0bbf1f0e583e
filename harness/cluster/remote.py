"""The functions that run in a Dask worker: they describe it, run tasks, and pass on the records.

As everywhere in the harness, a kernel never runs in this process but in a child process. Records
first go to a journal on the local disk, and the client repeatedly reads the new ones from there. If
the client stops asking, it is assumed to be dead, and its work is stopped.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.cases import Device
from harness.cluster import store
from harness.cluster.messages import Description, Requirements, Task, TaskResult
from harness.cluster.versions import differences
from harness.compiler.compile import Built
from harness.errors import BackendUnavailable, DeviceLost, HarnessError, UsageError
from harness.job import Job
from harness.journal.file import Journal
from harness.journal.records import Located, Planned, Record
from harness.machine import devices, environment
from harness.machine.card import Card, look
from harness.machine.gpu_lock import gpu_to_itself
from harness.processes.workers import DESCRIBE_S, Workers
from harness.run.journal_state import JournalState
from harness.run.task_runner import TaskRunner

LEASE_S = 60.0
"""The seconds for which a client may be silent before its work is stopped."""

_POLL_S = 0.5


class StoppedError(HarnessError):
    """Raised when the client no longer wants the task; its further results are discarded."""


class GivenTwiceError(HarnessError):
    """Raised if the scheduler repeats a task after its worker died; only the client decides whether
    to retry.
    """


# Describing a worker


def describe(wanted: Requirements, cores: int) -> Description:
    """Describe this worker's host and device, and the sources that differ from the client's."""
    logging.getLogger("distributed.worker").addFilter(_says_more)
    host, kernels = socket.gethostname(), found(wanted.kernels)
    differs = tuple(differences(wanted, kernels))
    if differs:
        return Description(host, cores, differs)
    try:
        device = _device(wanted)
    except HarnessError as error:
        return Description(host, cores, no_gpu=str(error))
    is_gpu = device.bus and wanted.backend in ("auto", "cuda")
    card = look(device.bus) if is_gpu else Card()
    return Description(host, cores, device=device, card=card, driver=environment.driver())


def _says_more(line: logging.LogRecord) -> bool:
    """Drop messages about calls made five times a second, which would bury the rest of the log."""
    return "out-of-band" not in str(line.msg)


def _device(wanted: Requirements) -> Device:
    if wanted.backend == "emulator":
        return devices.emulated(wanted.arch)
    if wanted.backend in ("auto", "cuda"):
        if not devices.has_driver():
            raise BackendUnavailable("it has no NVIDIA driver")
        return devices.cuda_device(wanted.arch)
    ended = Workers().do(Job("describe", wanted.backend, wanted.arch, Path(), 0), DESCRIBE_S)
    if ended.device is None:
        raise BackendUnavailable(ended.reason)
    return ended.device


def found(kernels: Path) -> Path:
    """The folder of problems: at the client's path or, if that does not exist, under the same name
    in the working directory."""
    return kernels if kernels.is_dir() else Path.cwd() / kernels.name


# Running tasks


@dataclass
class _Desk:
    """This process's tasks for one attempt of a run, and the time of the client's last
    request.
    """

    asked: float = field(default_factory=time.monotonic)
    journals: dict[str, Path] = field(default_factory=dict)
    sites: dict[str, TaskRunner] = field(default_factory=dict)


_desks: dict[str, _Desk] = {}
_lock = threading.Lock()


def _desk(attempt: str) -> _Desk:
    with _lock:
        return _desks.setdefault(attempt, _Desk())


class _Keeper:
    """Writes records to the task's journal until the task is no longer wanted."""

    def __init__(self, journal: Journal, known: JournalState) -> None:
        self._journal, self._known = journal, known
        self.runner: TaskRunner | None = None

    def keep(self, record: Record) -> None:
        if self.runner and self.runner.is_stopped:
            raise StoppedError("the client is gone, or stopped it")
        self._journal.append(record)
        self._known.note(record)


def carry_out(task: Task) -> TaskResult:
    """Run the task to its end. The result says if the GPU was lost or busy."""
    desk, path = _desk(task.attempt), store.journal(task.attempt, task.key)
    if path.exists():
        raise GivenTwiceError(f"{task.item.name} was given to a second worker")
    known = _known(task)
    with Journal(path) as journal:
        desk.journals[task.key] = path
        keeper = _Keeper(journal, known)
        setting = replace(task.setting, kernels=found(task.setting.kernels))
        runner = keeper.runner = TaskRunner(setting, known, _placed(task), keeper.keep)
        desk.sites[task.key] = runner
        try:
            with _leased(desk, runner), _gpu(task.gpu):
                return _done(task, runner, path)
        except StoppedError:
            return TaskResult(_size(path), stopped=True)
        except UsageError as error:  # another run has the GPU
            return TaskResult(_size(path), busy=str(error))
        except DeviceLost as error:
            return TaskResult(_size(path), lost=str(error))
        finally:
            desk.sites.pop(task.key, None)
            runner.workers.stop()


def _done(task: Task, runner: TaskRunner, path: Path) -> TaskResult:
    host, kind = socket.gethostname(), task.item.kind
    if kind == "qualify" or kind == "measure":  # noqa: PLR1714 - mypy follows only this
        for case in task.item.cases:
            runner.keep(Located(case.id, kind, host, task.gpu))
    is_gpu = task.setting.backend == "cuda"
    before = look(task.bus).ecc_errors if is_gpu else None
    said = runner.carry_out(task.item, task.cores)
    if runner.is_stopped:
        return TaskResult(_size(path), stopped=True)
    after = look(task.bus).ecc_errors if is_gpu else None
    fault = ""
    if before is not None and after is not None and after > before:
        fault = f"its memory had {after - before} uncorrected errors meanwhile"
    return TaskResult(_size(path), said, fault=fault)


def _size(path: Path) -> int:
    return path.stat().st_size


def _known(task: Task) -> JournalState:
    groups = {case.id: case.group for case in task.item.cases}
    if task.item.kind == "measure":
        planned = (record.case for record in task.records if isinstance(record, Planned))
        groups |= dict.fromkeys(planned, task.item.cases[0].group)
    known = JournalState(groups)
    for record in task.records:
        known.note(record)
    return known


def _placed(task: Task) -> dict[str, Built]:
    def path(name: Path) -> Path:
        return store.path_of(task.attempt, name.name)

    return {
        case: replace(built, ptx=path(built.ptx), cubin=path(built.cubin))
        for case, built in task.built.items()
    }


@contextmanager
def _leased(desk: _Desk, runner: TaskRunner) -> Iterator[None]:
    """Stop the task runner when the client stops asking for its records."""
    ended = threading.Event()
    desk.asked = time.monotonic()

    def watch() -> None:
        while not ended.wait(_POLL_S):
            if time.monotonic() - desk.asked > LEASE_S:
                runner.workers.stop()
                return

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


_holders: dict[str, int] = {}
_held: dict[str, ExitStack] = {}


@contextmanager
def _gpu(uuid: str) -> Iterator[None]:
    """Reserve the GPU for this process; untimed tasks share it within the process."""
    if not uuid:
        yield
        return
    with _lock:
        if not _holders.get(uuid):
            holding = ExitStack()
            holding.enter_context(gpu_to_itself(uuid))
            _held[uuid] = holding
        _holders[uuid] = _holders.get(uuid, 0) + 1
    try:
        yield
    finally:
        with _lock:
            _holders[uuid] -= 1
            if not _holders[uuid]:
                _held.pop(uuid).close()


# The client's requests while tasks run


def told(attempt: str, offsets: Mapping[str, int]) -> dict[str, bytes]:
    """Return the parts of this worker's task journals that the client does not have yet."""
    desk = _desk(attempt)
    desk.asked = time.monotonic()
    return {
        key: store.whole_lines(desk.journals[key], offset)
        for key, offset in offsets.items()
        if key in desk.journals
    }


def left_behind(attempt: str, key: str, offset: int) -> bytes:
    """Return the part of a lost worker's journal, on this host, that the client does not have
    yet."""
    return store.whole_lines(store.journal(attempt, key), offset)


def everything(attempt: str) -> list[bytes]:
    """Return each journal that this host's workers wrote in an attempt whose client died."""
    return [store.whole_lines(path, 0) for path in store.journals(attempt)]


def stop(keys: Sequence[str]) -> None:
    """Stop tasks immediately: nothing that they do after this call is recorded."""
    for desk in list(_desks.values()):
        for runner in [runner for key, runner in desk.sites.items() if key in keys]:
            runner.workers.stopped = True
            threading.Thread(target=runner.workers.stop, daemon=True).start()


def forget(attempt: str) -> None:
    with _lock:
        _desks.pop(attempt, None)
    store.forget(attempt)
