"""What runs in a Dask worker: it says what it is, carries out errands, and hands on their records.

A kernel never runs in this process but in one that it starts, as everywhere in the harness. Records
go to a journal on the local disk first; the client reads on in it from where it was. A client that
does not ask any more has died, and what was done for it is stopped.
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

from harness.build.compile import Built
from harness.cases import Device
from harness.cluster import store
from harness.cluster.errand import Description, Done, Errand, Wanted
from harness.cluster.versions import differences
from harness.errors import BackendUnavailable, DeviceLost, HarnessError, UsageError
from harness.job import Job
from harness.journal import Journal
from harness.measure.card import Card, look
from harness.records import Located, Planned, Record
from harness.run import devices, machine
from harness.run.gpu_lock import gpu_to_itself
from harness.run.known import Known
from harness.run.processes import Workers
from harness.run.site import DESCRIBE_S, Site

LEASE_S = 60.0
"""How long a client may be silent before what is done for it is stopped."""

_POLL_S = 0.5


class StoppedError(HarnessError):
    """Nobody wants the errand any more: nothing that it does from here on is a result."""


class GivenTwiceError(HarnessError):
    """The scheduler gave an errand once more after its worker died; the client decides on that."""


# What a worker is


def describe(wanted: Wanted, cores: int) -> Description:
    """This worker's host and device, and in which sources it differs from the client."""
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
    return Description(host, cores, device=device, card=card, driver=machine.driver())


def _says_more(line: logging.LogRecord) -> bool:
    """What is asked five times a second would bury all else that a worker writes down."""
    return "out-of-band" not in str(line.msg)


def _device(wanted: Wanted) -> Device:
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
    """The folder of problems: where the client has it, or by its name where this worker stands."""
    return kernels if kernels.is_dir() else Path.cwd() / kernels.name


# What it does


@dataclass
class _Desk:
    """What this process does for one attempt of a run, and when its client last asked."""

    asked: float = field(default_factory=time.monotonic)
    journals: dict[str, Path] = field(default_factory=dict)
    sites: dict[str, Site] = field(default_factory=dict)


_desks: dict[str, _Desk] = {}
_lock = threading.Lock()


def _desk(attempt: str) -> _Desk:
    with _lock:
        return _desks.setdefault(attempt, _Desk())


class _Keeper:
    """Writes records down until nobody wants them any more."""

    def __init__(self, journal: Journal, known: Known) -> None:
        self._journal, self._known = journal, known
        self.site: Site | None = None

    def keep(self, record: Record) -> None:
        if self.site and self.site.is_stopped:
            raise StoppedError("the client is gone, or stopped it")
        self._journal.append(record)
        self._known.note(record)


def carry_out(errand: Errand) -> Done:
    """Do it to its end. What happens to the GPU, or who else uses it, is part of the answer."""
    desk, path = _desk(errand.attempt), store.journal(errand.attempt, errand.key)
    if path.exists():
        raise GivenTwiceError(f"{errand.piece.name} was given to a second worker")
    known = _known(errand)
    with Journal(path) as journal:
        desk.journals[errand.key] = path
        keeper = _Keeper(journal, known)
        setting = replace(errand.setting, kernels=found(errand.setting.kernels))
        site = keeper.site = Site(setting, known, _placed(errand), keeper)
        desk.sites[errand.key] = site
        try:
            with _leased(desk, site), _gpu(errand.gpu):
                return _done(errand, site, path)
        except StoppedError:
            return Done(_size(path), stopped=True)
        except UsageError as error:  # another run has the GPU
            return Done(_size(path), busy=str(error))
        except DeviceLost as error:
            return Done(_size(path), lost=str(error))
        finally:
            desk.sites.pop(errand.key, None)
            site.workers.stop()


def _done(errand: Errand, site: Site, path: Path) -> Done:
    host, kind = socket.gethostname(), errand.piece.kind
    if kind != "ceilings" and kind != "count":  # noqa: PLR1714 - mypy follows only this
        for case in errand.piece.cases:
            site.keep(Located(case.id, kind, host, errand.gpu))
    is_gpu = errand.setting.backend == "cuda"
    before = look(errand.bus).ecc_errors if is_gpu else None
    said = site.carry_out(errand.piece, errand.cores)
    if site.is_stopped:
        return Done(_size(path), stopped=True)
    after = look(errand.bus).ecc_errors if is_gpu else None
    fault = ""
    if before is not None and after is not None and after > before:
        fault = f"its memory had {after - before} uncorrected errors meanwhile"
    return Done(_size(path), said, fault=fault)


def _size(path: Path) -> int:
    return path.stat().st_size


def _known(errand: Errand) -> Known:
    groups = {case.id: case.group for case in errand.piece.cases}
    if errand.piece.kind == "measure":
        planned = (record.case for record in errand.records if isinstance(record, Planned))
        groups |= dict.fromkeys(planned, errand.piece.cases[0].group)
    known = Known(groups)
    for record in errand.records:
        known.note(record)
    return known


def _placed(errand: Errand) -> dict[str, Built]:
    def path(name: Path) -> Path:
        return store.path_of(errand.attempt, name.name)

    return {
        case: replace(built, ptx=path(built.ptx), cubin=path(built.cubin))
        for case, built in errand.built.items()
    }


@contextmanager
def _leased(desk: _Desk, site: Site) -> Iterator[None]:
    """Stop the site when nobody asks for its records any more."""
    ended = threading.Event()
    desk.asked = time.monotonic()

    def watch() -> None:
        while not ended.wait(_POLL_S):
            if time.monotonic() - desk.asked > LEASE_S:
                site.workers.stop()
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
    """The GPU for this process alone; errands that are not timed share it within the process."""
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


# What the client asks for while it goes on


def told(attempt: str, offsets: Mapping[str, int]) -> dict[str, bytes]:
    """What stands in the journals of this worker's errands beyond what the client has."""
    desk = _desk(attempt)
    desk.asked = time.monotonic()
    return {
        key: store.whole_lines(desk.journals[key], offset)
        for key, offset in offsets.items()
        if key in desk.journals
    }


def left_behind(attempt: str, key: str, offset: int) -> bytes:
    """What a worker of this host that is gone has written, beyond what the client has."""
    return store.whole_lines(store.journal(attempt, key), offset)


def everything(attempt: str) -> list[bytes]:
    """All that workers of this host wrote in an attempt whose client died, journal by journal."""
    return [store.whole_lines(path, 0) for path in store.journals(attempt)]


def stop(keys: Sequence[str]) -> None:
    """End errands, now: nothing that they do from here on is written down."""
    for desk in list(_desks.values()):
        for site in [site for key, site in desk.sites.items() if key in keys]:
            site.workers.stopped = True
            threading.Thread(target=site.workers.stop, daemon=True).start()


def forget(attempt: str) -> None:
    with _lock:
        _desks.pop(attempt, None)
    store.forget(attempt)
