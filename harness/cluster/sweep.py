"""One stage of a run on many workers: assigns work items and handles their outcomes.

Each worker gets one item after another, and its records are fetched while it works. An item whose
worker dies continues elsewhere from the rounds that have arrived; an item that has killed three
workers is recorded as failed and dropped. A measurement whose control failed is repeated on another
card.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from harness.cases import Case, Device
from harness.cluster import remote
from harness.cluster.messages import Task, TaskResult
from harness.cluster.schedule import planned
from harness.cluster.view import View
from harness.cluster.worker_pool import Member, WorkerPool
from harness.console.progress import console
from harness.errors import ClusterLost, DeviceLost
from harness.journal.file import parsed
from harness.run.staleness import renewed
from harness.run.task_runner import TaskRunner, WorkItem
from harness.statistics.net_times import group_of

MOST_DEATHS = 3
POLL_S = 0.2
"""Seconds between two checks for new records of workers."""

_GLANCE_S = 0.01
ALONE_S = 600.0
"""How long a run waits for a worker when none is left."""

CACHES = ("cold", "warm")


class TaskMaker(Protocol):
    def task(self, item: WorkItem, runner: TaskRunner, member: Member, cores: int) -> Task:
        """Return the task to send to a worker, after delivering the files that the task needs."""
        ...


@dataclass(eq=False)
class _Pending:
    """A work item still to be done. `deaths`: why workers died while running it.

    `avoided`: the GPUs on which this item's control failed.
    """

    item: WorkItem
    deaths: list[str] = field(default_factory=list)
    avoided: set[str] = field(default_factory=set)


@dataclass
class _Running:
    """A task that is running on a worker. `offset`: bytes of its journal that have arrived."""

    pending: _Pending
    key: str
    member: Member
    future: Any
    cores: int
    since: float
    offset: int = 0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.since


_OF_ANY_CASE = 2**32
"""A case's fixed cost at any size (placements, checks, flushes), expressed as the bytes that an
H200 moves in the same time."""


def _expected_work(item: WorkItem) -> int:
    """Estimate the duration of a work item, in arbitrary units."""
    return len(item.cases) * (_OF_ANY_CASE + item.needed_bytes)


class Sweep:
    """The work items of one stage and kind, run on the workers with one kind of card."""

    def __init__(
        self, pool: WorkerPool, kind: Device, runner: TaskRunner, items: Sequence[WorkItem],
        view: View, tasks: TaskMaker,
    ) -> None:  # fmt: skip
        self._pool, self._kind, self._task_runner, self._view = pool, kind, runner, view
        self._tasks = tasks
        self._waiting = deque(map(_Pending, sorted(items, key=_expected_work, reverse=True)))
        self._running: dict[str, _Running] = {}
        self._found: dict[str, str] = {}
        self._ended_work, self._ended_s = 0.0, 0.0
        """The total work, and total seconds, of the items whose timing is complete."""
        self._alone_since: float | None = None
        self._last_loss = ""

    def carry_out(self) -> dict[str, str]:
        """Return the outcome of each work item, by name. Raises ClusterLost, DeviceLost."""
        looked = 0.0
        while self._waiting or self._running:
            if time.monotonic() > looked + POLL_S:
                self._see_who_is_gone()
                self._fetch(self._running.values())
                looked = time.monotonic()
            for running in [r for r in self._running.values() if r.future.done()]:
                self._settle(running)
            self._assign()
            self._pause()
        return self._found

    def stop(self) -> None:
        """Stop the running tasks, and collect their records from the workers that still reply."""
        try:
            members = [running.member for running in self._running.values()]
            self._pool.ask(remote.stop, [r.key for r in self._running.values()], of=members)
            self._fetch(self._running.values())
        except ClusterLost:
            return
        for running in self._running.values():
            running.future.cancel()

    def _pause(self) -> None:
        until = time.monotonic() + POLL_S
        while self._waiting or self._running:
            if time.monotonic() > until or any(r.future.done() for r in self._running.values()):
                return
            time.sleep(_GLANCE_S)

    # Assigning items to workers

    def _see_who_is_gone(self) -> None:
        for member in self._pool.refresh():
            self._pool.remove(member)
        there = self._pool.everybody()
        for running in list(self._running.values()):
            if running.member not in there:
                self._died(running, f"the worker {running.member.name} was lost")
        self._mind_being_alone()

    def _mind_being_alone(self) -> None:
        if self._pool.of(self._kind) or self._running:
            self._alone_since = None
            return
        if self._last_loss and any(m.kind == self._kind for m in self._pool.everybody()):
            raise DeviceLost(self._last_loss)  # there are cards, but all of them are faulty
        if self._alone_since is None:
            self._alone_since = time.monotonic()
            console.print(f"no worker with a {self._kind.name} is left; waiting for one")
        if time.monotonic() - self._alone_since > ALONE_S:
            raise ClusterLost(
                f"no worker with a {self._kind.name} is left, and none has come in {ALONE_S:g} s"
            )
        time.sleep(POLL_S)

    def _assign(self) -> None:
        plan = self._plan()
        busy = [member for member in plan.values() if member.running]
        for pending in sorted(self._waiting, key=lambda pending: plan.get(pending) in busy):
            member = self._for(pending, plan.get(pending))
            if member is not None:
                self._waiting.remove(pending)
                self._give(pending, member)

    def _plan(self) -> dict[_Pending, Member]:
        """If a worker is free, plan which member times which item so that the last item ends
        early."""
        members = self._pool.of(self._kind)
        timed = sorted(
            (pending for pending in self._waiting if not _is_shared(pending)),
            key=lambda pending: -_expected_work(pending.item),
        )
        if not timed or all(member.running for member in members):
            return {}
        workers = planned(
            [self._left(member) for member in members],
            [_expected_work(pending.item) for pending in timed],
        )
        return {pending: members[worker] for pending, worker in zip(timed, workers, strict=False)}

    def _left(self, member: Member) -> float:
        """Estimate a member's remaining work from the tasks that have ended."""
        speed = self._ended_work / self._ended_s if self._ended_s else 0.0
        running = [r for r in self._running.values() if r.member is member]
        return sum(max(0.0, _expected_work(r.pending.item) - speed * r.seconds) for r in running)

    def _for(self, pending: _Pending, meant: Member | None) -> Member | None:
        """Choose the worker for the task: one that is free, and on whose card it has not failed.

        `meant`: the worker that the plan chose; ignored if it is busy while another would be idle.
        """
        members = self._pool.of(self._kind)
        good = [m for m in members if m.about.gpu not in pending.avoided] or members
        if _is_shared(pending):
            able = [m for m in good if not m.running or _free_cores(m)]
            return min(able, key=lambda m: len(m.running) / m.about.cores, default=None)
        free = [m for m in good if not m.running]
        return meant if meant in free else next(iter(free), None)

    def _give(self, pending: _Pending, member: Member) -> None:
        cores = member.about.cores
        if _is_shared(pending):
            members = len(self._pool.of(self._kind))
            each = cores * members // (len(self._waiting) + 1)
            cores = min(_free_cores(member), max(1, each))
        task = self._tasks.task(pending.item, self._task_runner, member, cores)
        how = {"resources": {"GPU": 1}} if member.resources.get("GPU") else {}
        if _is_shared(pending):
            how = {}
        future = self._pool.submit(member, remote.carry_out, task, key=task.key, **how)
        self._running[task.key] = _Running(
            pending, task.key, member, future, cores, since=time.monotonic()
        )
        member.running[task.key] = cores
        self._view.doing(member.name, pending.item.name)

    # Reading the workers' records

    def _fetch(self, of: Iterable[_Running]) -> None:
        running = {r.key: r for r in of}
        offsets = {key: r.offset for key, r in running.items()}
        members = {r.member.address: r.member for r in running.values()}
        said = self._pool.ask(remote.told, self._pool.attempt, offsets, of=list(members.values()))
        for found in said.values():
            for key, content in found.items():
                self._take(running[key], content)

    def _take(self, running: _Running, content: bytes) -> None:
        for line in content.splitlines():
            self._task_runner.keep(parsed(line))
        running.offset += len(content)

    def _salvage(self, running: _Running) -> None:
        """Recover the records that a lost worker left on its disk, if another worker on its host
        can read them."""
        near = [m for m in self._pool.everybody() if m.about.host == running.member.about.host]
        said = self._pool.ask(
            remote.left_behind, self._pool.attempt, running.key, running.offset, of=near[:1]
        )
        for content in said.values():
            self._take(running, content)

    def _settle(self, running: _Running) -> None:
        future = running.future
        if future.status != "finished":
            self._died(running, f"the worker {running.member.name}: {_why(future)}")
            return
        done: TaskResult = self._pool.result(future)
        self._fetch([running])
        if running.offset < done.size:
            self._salvage(running)
        if running.offset < done.size:
            self._died(running, f"the worker {running.member.name} was lost before it told all")
        elif done.stopped:
            self._died(running, f"{running.member.name} was not asked for its records in time")
        elif done.busy:
            self._pool.leave_out(running.member, done.busy)
            self._again(running)
        elif done.lost:
            self._last_loss = done.lost
            running.pending.avoided.add(running.member.about.gpu)
            self._pool.control_failed(running.member, done.lost)
            self._died(running, f"{running.member.name}: {done.lost}")
        elif self._stands(running, done):
            self._ended_work += _expected_work(running.pending.item)
            self._ended_s += running.seconds
            self._ended(running.pending, done.said, running)

    def _stands(self, running: _Running, done: TaskResult) -> bool:
        """Return whether to keep a result. If its control failed and another card is left, the item
        is measured again."""
        pending, member = running.pending, running.member
        if pending.item.kind != "measure":
            return True
        why = done.fault or self._control(pending.item)
        if not why:
            return True
        self._pool.control_failed(member, why)
        pending.avoided.add(member.about.gpu)
        if all(m.about.gpu in pending.avoided for m in self._pool.of(self._kind)):
            return True  # no other card is left to show whether this one is at fault
        for case in pending.item.cases:
            outcome = self._task_runner.known.outcomes.get(case.id)
            if outcome and (outcome.status == "ok" or outcome.again):
                planned = self._task_runner.known.planned[case.id]
                self._task_runner.keep(
                    renewed(planned, "times", f"the control on {member.name}: {why}")
                )
        self._again(running)
        return False

    def _control(self, item: WorkItem) -> str:
        """Return why the card's last measurement cannot be trusted, or an empty string."""
        known, allowed = self._task_runner.known, self._task_runner.setting.timing.same_within
        for case in item.cases:
            outcome = known.outcomes.get(case.id)
            if outcome and outcome.again and outcome.reason.startswith("unstable"):
                return outcome.reason.splitlines()[0]
        sound = [case for case in item.cases if known.outcomes[case.id].status == "ok"]
        if not sound:
            return ""
        timings, group = self._task_runner.timings(sound), group_of(known.planned[sound[0].id])
        floor = max(timings.floor(group, cache) for cache in CACHES)
        if floor > allowed:
            return f"equal kernels differ by {100 * floor:.2g} %"
        return ""

    # The outcome of a task

    def _died(self, running: _Running, why: str) -> None:
        self._salvage(running)
        running.future.cancel()
        pending = running.pending
        pending.deaths.append(why)
        if len(pending.deaths) < MOST_DEATHS:
            self._again(running)
            return
        reason = f"its worker died {MOST_DEATHS} times: {'; '.join(pending.deaths)}"
        for case in self._open(pending.item.cases):
            self._task_runner.finish(case, "failed", reason, again=True)
        self._ended(pending, reason, running)

    def _again(self, running: _Running) -> None:
        """Queue the remaining part of a task for the next worker."""
        pending = running.pending
        left = self._open(pending.item.cases)
        if pending.item.cases and not left:
            self._ended(pending, "ended before its worker did", running)
            return
        self._forget(running)
        pending.item = replace(pending.item, cases=tuple(left))
        self._waiting.appendleft(pending)

    def _ended(self, pending: _Pending, said: str, running: _Running) -> None:
        self._forget(running)
        self._found[pending.item.name] = said
        what = said or "measured"
        self._view.done(f"{pending.item.name}  {what.splitlines()[0]}  on {running.member.name}")

    def _forget(self, running: _Running) -> None:
        self._running.pop(running.key, None)
        running.member.running.pop(running.key, None)
        others = [r for r in self._running.values() if r.member is running.member]
        self._view.doing(running.member.name, others[0].pending.item.name if others else "")

    def _open(self, cases: Iterable[Case]) -> list[Case]:
        return [case for case in cases if self._task_runner.is_open(case)]


def _is_shared(pending: _Pending) -> bool:
    """Return whether a worker may run the task at the same time as others, that is, whether it
    times nothing.
    """
    return pending.item.kind == "qualify"


def _free_cores(member: Member) -> int:
    return member.about.cores - sum(member.running.values())


def _why(future: Any) -> str:
    if future.status in ("cancelled", "lost"):
        return "was lost"
    try:
        error = future.exception(timeout=1)
    except Exception as raised:  # of any kind: it is passed on, not handled
        error = raised
    if type(error).__name__ == "KilledWorker":
        return "its process ended"
    return f"{type(error).__name__}: {error}".splitlines()[0]
