"""The workers of a run: what they can do, their tasks, and which are excluded and why."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.cases import Device
from harness.cluster import remote
from harness.cluster.messages import Description, Requirements
from harness.console.progress import console
from harness.errors import BackendUnavailable, ClusterLost, UsageError
from harness.machine import devices

MOST_FAILED_CONTROLS = 2
"""After this many failed controls, a card is considered faulty and gets no more work."""

LOST = (OSError, TimeoutError, RuntimeError)
"""The errors that a client of `distributed` raises when it has lost its scheduler."""


@dataclass
class Member:
    """One worker. `running`: the key of each of its tasks → the cores that the task has.

    `delivered`: the names of the files that it has received.
    """

    address: str
    about: Description
    given_name: str = ""
    resources: dict[str, float] = field(default_factory=dict)
    running: dict[str, int] = field(default_factory=dict)
    delivered: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return f"{self.about.host} {self.about.gpu or self.given_name or self.address}"

    @property
    def kind(self) -> Device | None:
        """The kind of its card, which other members may share."""
        return replace(self.about.device, bus="") if self.about.device else None


class WorkerPool:
    """The usable members. Safe to use from any thread.

    `where`: as given on the command line. `attempt`: identifies the files that workers keep for
    this run, from its start or resumption to its end.
    """

    def __init__(self, client: Any, where: str, attempt: str, wanted: Requirements) -> None:
        self.client, self.where, self.attempt, self.wanted = client, where, attempt, wanted
        self.backend = wanted.backend
        self.members: dict[str, Member] = {}
        self.failed_controls: dict[str, int] = {}
        """GPU → how many controls have failed on it."""
        self.told: BaseException | None = None
        """The request to stop the run, if another thread received it."""
        self._qualifying: set[Device] = set()
        self._qualified = threading.Condition()
        self._asked: dict[str, Any] = {}
        self._left_out: set[str] = set()
        self._lock = threading.RLock()
        self._number = itertools.count()

    # The workers that are present

    def assemble(self, starting_s: float, describe_s: float) -> None:
        """Wait for the first workers, and check all that are present. Raises UsageError."""
        until, told = time.monotonic() + starting_s, False
        while not (there := self._there()):
            if time.monotonic() > until:
                raise UsageError(
                    f"--cluster {self.where}: no worker has come within {starting_s:g} s\n"
                    "  start some: dask worker ADDRESS --nthreads 4 --resources GPU=1"
                )
            if not told:
                console.print("waiting for a worker", markup=False)
                told = True
            time.sleep(0.2)
        self._ask(there)
        until = time.monotonic() + describe_s
        found: list[Member] = []
        while self._asked and time.monotonic() < until:
            found += self._answered(self._there())
            time.sleep(0.05)
        for address in list(self._asked):
            self._leave_out(address, "it did not describe itself in time")
        self._refuse_others(found)
        self._choose_backend(found)
        for member in found:
            self._take_in(member)
        if not self.members:
            raise UsageError(
                f"--cluster {self.where}: no worker can be used; the reasons are above"
            )

    def refresh(self) -> list[Member]:
        """Check which workers have joined and left; return those that left. Raises ClusterLost or a
        stop request."""
        if self.told:
            raise self.told
        with self._lock:
            there = self._there()
            self._ask({a: threads for a, threads in there.items() if self._is_new(a)})
            for member in self._answered(there):
                if member.about.differs:
                    self._leave_out(member.address, "; ".join(member.about.differs))
                elif member.kind not in self.kinds:
                    self._leave_out(member.address, _unlike(member.about, self.kinds))
                else:
                    self._take_in(member)
            return [m for address, m in self.members.items() if address not in there]

    def remove(self, member: Member) -> None:
        with self._lock:
            self.members.pop(member.address, None)

    def leave_out(self, member: Member, why: str) -> None:
        """Give the member no more work; the run continues without it."""
        with self._lock:
            self.remove(member)
            self._leave_out(member.address, why)

    def everybody(self) -> list[Member]:
        with self._lock:
            return list(self.members.values())

    def one_per_host(self) -> list[Member]:
        return list({m.about.host: m for m in self.everybody()}.values())

    def key(self, kind: str) -> str:
        """Return a name for a task that is unique in this attempt."""
        return f"{kind}-{self.attempt}-{next(self._number):06}"

    def of(self, kind: Device) -> list[Member]:
        """The members with a card of that kind which has not been found faulty."""
        with self._lock:
            return [m for m in self.members.values() if m.kind == kind and not self.is_faulty(m)]

    @property
    def kinds(self) -> list[Device]:
        """The kinds of cards, in a stable order."""
        with self._lock:
            found = {m.kind for m in self.members.values()} | self._kinds
        return sorted((kind for kind in found if kind), key=str)

    _kinds: frozenset[Device] = frozenset()

    def is_faulty(self, member: Member) -> bool:
        return self.failed_controls.get(member.about.gpu, 0) >= MOST_FAILED_CONTROLS

    def control_failed(self, member: Member, why: str) -> None:
        """Record a failed control; after the second, the card gets no more work."""
        gpu = member.about.gpu
        with self._lock:
            count = self.failed_controls[gpu] = self.failed_controls.get(gpu, 0) + 1
        what = "it gets no more work" if count >= MOST_FAILED_CONTROLS else "done anew elsewhere"
        console.print(f"CONTROL {count} failed on {member.name}: {why}; {what}", markup=False)

    # Which kinds of card still have untimed work, which would disturb the timing on others

    def expect(self, kinds: Iterable[Device]) -> None:
        """Announce that the runs on these kinds of card are about to compile and verify."""
        with self._qualified:
            self._qualifying = set(kinds)

    def have_qualified(self, kind: Device) -> None:
        with self._qualified:
            self._qualifying.discard(kind)
            self._qualified.notify_all()

    def wait_for_others(self) -> None:
        """Wait until the runs on other kinds of card have compiled and verified too. Raises any
        stop request received meanwhile."""
        with self._qualified:
            while self._qualifying and not self.told:
                self._qualified.wait(0.2)
        if self.told:
            raise self.told

    # Requests to workers other than tasks

    def ask(self, function: Callable[..., Any], *args: Any, of: Sequence[Member]) -> dict[str, Any]:
        """Map address → reply, for the workers that reply. Raises ClusterLost."""
        if not of:
            return {}
        addresses = [member.address for member in of]
        said = self._reach(
            lambda: self.client.run(function, *args, workers=addresses, on_error="return")
        )
        return {each: found for each, found in said.items() if not isinstance(found, Exception)}

    def submit(self, member: Member, function: Callable[..., Any], *args: Any, **how: Any) -> Any:
        """Call a function in a thread of the given worker; return its future."""
        return self._reach(
            lambda: self.client.submit(
                function, *args, workers=[member.address], allow_other_workers=False, pure=False,
                retries=0, **how,
            )
        )  # fmt: skip

    def result(self, future: Any) -> Any:
        """Fetch the result of a finished call. Raises ClusterLost."""
        return self._or_lost(future.result)

    def _reach(self, call: Callable[[], Any]) -> Any:
        if self.client.status != "running":
            raise ClusterLost(f"the scheduler of --cluster {self.where} does not answer any more")
        return self._or_lost(call)

    def _or_lost(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except LOST as error:
            raise ClusterLost(
                f"the scheduler of --cluster {self.where} does not answer any more: "
                f"{error or type(error).__name__}"
            ) from None

    def _there(self) -> dict[str, int]:
        """Map address → number of threads."""
        found: dict[str, int] = self._reach(self.client.nthreads)
        return found

    def _is_new(self, address: str) -> bool:
        return not (address in self.members or address in self._asked or address in self._left_out)

    def _ask(self, there: Mapping[str, int]) -> None:
        """Ask the given workers, with their numbers of threads, for their descriptions."""
        for address, threads in there.items():
            member = Member(address, Description("", threads))
            self._asked[address] = self.submit(
                member, remote.describe, self.wanted, member.about.cores,
                key=self.key("describe"),
            )  # fmt: skip

    def _answered(self, there: Collection[str]) -> list[Member]:
        found = []
        for address, future in list(self._asked.items()):
            if address not in there:
                del self._asked[address]
                future.cancel()
            elif future.done():
                del self._asked[address]
                if future.status == "finished":
                    name, resources = self._announced().get(address, ("", {}))
                    found.append(Member(address, future.result(), name, resources))
                else:
                    self._leave_out(address, _why(future))
        return found

    def _announced(self) -> dict[str, tuple[str, dict[str, float]]]:
        """Map address → the name and the Dask resources that the worker has announced."""
        return self._reach(lambda: self.client.run_on_scheduler(_announced))

    def _take_in(self, member: Member) -> None:
        twin = next((m for m in self.members.values() if _same_gpu(m, member)), None)
        if member.about.device is None:
            self._leave_out(member.address, f"no GPU: {member.about.no_gpu.splitlines()[0]}")
        elif twin:
            self._leave_out(member.address, f"{twin.address} has the same GPU, {member.about.gpu}")
        else:
            self.members[member.address] = member
            self._kinds = frozenset({*self._kinds, *([member.kind] if member.kind else [])})

    def _leave_out(self, address: str, why: str) -> None:
        self._left_out.add(address)
        self._asked.pop(address, None)
        console.print(f"without the worker {address}: {why}", markup=False)

    def _refuse_others(self, found: Sequence[Member]) -> None:
        others = [m for m in found if m.about.differs]
        if others:
            lines = "".join(
                f"\n  {m.about.host} ({m.address}): {'; '.join(m.about.differs)}" for m in others
            )
            raise UsageError(
                f"--cluster {self.where}: {len(others)} of {len(found)} workers differ "
                f"from this client, so their results could not be compared:{lines}\n"
                "  install the same commit and packages there, and restart them"
            )

    def _choose_backend(self, found: Sequence[Member]) -> None:
        if any(m.about.device for m in found):
            if self.backend == "auto":
                self.backend = "cuda"
            return
        if self.backend == "auto":
            self.backend = "emulator"
            stand_in = devices.emulated(self.wanted.arch)
            for member in found:
                member.about = replace(member.about, device=stand_in, no_gpu="")
            self.wanted = replace(self.wanted, backend="emulator")
            return
        reasons = "".join(f"\n  {m.about.host} ({m.address}): {m.about.no_gpu}" for m in found)
        raise BackendUnavailable(
            f"--cluster {self.where}: no worker has a GPU that works:{reasons}\n"
            "  start workers where there are GPUs; --backend emulator needs none"
        )


def _announced(dask_scheduler: Any) -> dict[str, tuple[str, dict[str, float]]]:
    return {a: (str(w.name), dict(w.resources)) for a, w in dask_scheduler.workers.items()}


def _same_gpu(one: Member, other: Member) -> bool:
    return bool(one.about.gpu) and (one.about.host, one.about.gpu) == (
        other.about.host, other.about.gpu,
    )  # fmt: skip


def _unlike(about: Description, kinds: Sequence[Device]) -> str:
    if about.device is None:
        return f"no GPU: {about.no_gpu.splitlines()[0]}"
    known = ", ".join(kind.name for kind in kinds)
    return f"its card is a {about.device.name}, which this run has not ({known}); begin it anew"


def _why(future: Any) -> str:
    try:
        error = future.exception(timeout=1)
    except Exception as raised:  # of any kind: it is passed on, not handled
        error = raised
    if isinstance(error, ModuleNotFoundError):
        return f"it cannot import {error.name}: start it where this project is, or install it there"
    return f"{type(error).__name__}: {error}".splitlines()[0]
