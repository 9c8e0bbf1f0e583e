"""One stage of a run on many workers: who does which piece, and what becomes of it.

Each worker gets one piece after another, and their records are fetched while they go on. A piece
whose worker dies goes on elsewhere from the rounds that have arrived; what has killed three workers
is recorded and left. A measurement in which a control failed is made anew on another card.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from harness.cases import Case, Device
from harness.cluster import remote
from harness.cluster.crew import Crew, Member
from harness.cluster.errand import Done, Errand
from harness.cluster.schedule import planned
from harness.cluster.view import View
from harness.errors import ClusterLost, DeviceLost
from harness.journal import parsed
from harness.measure.timings import group_of
from harness.progress import console
from harness.run.renewal import renewed
from harness.run.site import Piece, Site

MOST_DEATHS = 3
POLL_S = 0.2
"""Between two looks at what workers have written."""

_GLANCE_S = 0.01
ALONE_S = 600.0
"""How long a run waits for a worker when none is left."""

CACHES = ("cold", "warm")


class Errands(Protocol):
    def errand(self, piece: Piece, site: Site, member: Member, cores: int) -> Errand:
        """What a worker is sent; whatever it needs is there before it."""
        ...


@dataclass(eq=False)
class _Task:
    """A piece that is to be done. deaths: why workers died of it, or while they were at it.
    avoided: the GPUs on which its control failed."""

    piece: Piece
    deaths: list[str] = field(default_factory=list)
    avoided: set[str] = field(default_factory=set)


@dataclass
class _Running:
    """A task that a worker is at. offset: bytes of its journal that have arrived."""

    task: _Task
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
"""Bytes that take an H200 as long as what a case takes at any size: placements, checks, flushes."""


def _expected_work(piece: Piece) -> int:
    """How long a piece will take, as far as one can tell before it begins; in no unit."""
    return len(piece.cases) * (_OF_ANY_CASE + piece.needed_bytes)


class Sweep:
    """All pieces of a stage, which are of one kind, by the crew's members with one kind of card."""

    def __init__(
        self, crew: Crew, kind: Device, site: Site, pieces: Sequence[Piece], view: View,
        errands: Errands,
    ) -> None:  # fmt: skip
        self._crew, self._kind, self._site, self._view = crew, kind, site, view
        self._errands = errands
        self._waiting = deque(map(_Task, sorted(pieces, key=_expected_work, reverse=True)))
        self._running: dict[str, _Running] = {}
        self._found: dict[str, str] = {}
        self._ended_work, self._ended_s = 0.0, 0.0
        """Of the pieces that were timed to their end."""
        self._alone_since: float | None = None
        self._last_loss = ""

    def carry_out(self) -> dict[str, str]:
        """What became of each piece, by its name. Raises ClusterLost, DeviceLost."""
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
        """End what is being done, and take what it had come to, as far as anybody answers."""
        try:
            members = [running.member for running in self._running.values()]
            self._crew.ask(remote.stop, [r.key for r in self._running.values()], of=members)
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

    # Who does what

    def _see_who_is_gone(self) -> None:
        for member in self._crew.refresh():
            self._crew.remove(member)
        there = self._crew.everybody()
        for running in list(self._running.values()):
            if running.member not in there:
                self._died(running, f"the worker {running.member.name} was lost")
        self._mind_being_alone()

    def _mind_being_alone(self) -> None:
        if self._crew.of(self._kind) or self._running:
            self._alone_since = None
            return
        if self._last_loss and any(m.kind == self._kind for m in self._crew.everybody()):
            raise DeviceLost(self._last_loss)  # there are cards, and all of them are faulty
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
        for task in sorted(self._waiting, key=lambda task: plan.get(task) in busy):
            member = self._for(task, plan.get(task))
            if member is not None:
                self._waiting.remove(task)
                self._give(task, member)

    def _plan(self) -> dict[_Task, Member]:
        """Who is to time what, so that all end soonest; of interest while somebody is free."""
        members = self._crew.of(self._kind)
        timed = sorted(
            (task for task in self._waiting if not _is_shared(task)),
            key=lambda task: -_expected_work(task.piece),
        )
        if not timed or all(member.running for member in members):
            return {}
        workers = planned(
            [self._left(member) for member in members],
            [_expected_work(task.piece) for task in timed],
        )
        return {task: members[worker] for task, worker in zip(timed, workers, strict=False)}

    def _left(self, member: Member) -> float:
        """The work that a member is still at, as far as one can tell from what has ended."""
        speed = self._ended_work / self._ended_s if self._ended_s else 0.0
        running = [r for r in self._running.values() if r.member is member]
        return sum(max(0.0, _expected_work(r.task.piece) - speed * r.seconds) for r in running)

    def _for(self, task: _Task, meant: Member | None) -> Member | None:
        """Who takes the task now: one who is not busy, and on whose card it has not failed.

        meant: whom the plan has for it, unless that one is busy and somebody else would be idle.
        """
        members = self._crew.of(self._kind)
        good = [m for m in members if m.about.gpu not in task.avoided] or members
        if _is_shared(task):
            able = [m for m in good if not m.running or _free_cores(m)]
            return min(able, key=lambda m: len(m.running) / m.about.cores, default=None)
        free = [m for m in good if not m.running]
        return meant if meant in free else next(iter(free), None)

    def _give(self, task: _Task, member: Member) -> None:
        cores = member.about.cores
        if _is_shared(task):
            members = len(self._crew.of(self._kind))
            each = cores * members // (len(self._waiting) + 1)
            cores = min(_free_cores(member), max(1, each))
        errand = self._errands.errand(task.piece, self._site, member, cores)
        how = {"resources": {"GPU": 1}} if member.resources.get("GPU") else {}
        if _is_shared(task):
            how = {}
        future = self._crew.submit(member, remote.carry_out, errand, key=errand.key, **how)
        self._running[errand.key] = _Running(
            task, errand.key, member, future, cores, since=time.monotonic()
        )
        member.running[errand.key] = cores
        self._view.doing(member.name, task.piece.name)

    # What they tell

    def _fetch(self, of: Iterable[_Running]) -> None:
        running = {r.key: r for r in of}
        offsets = {key: r.offset for key, r in running.items()}
        members = {r.member.address: r.member for r in running.values()}
        said = self._crew.ask(remote.told, self._crew.attempt, offsets, of=list(members.values()))
        for found in said.values():
            for key, content in found.items():
                self._take(running[key], content)

    def _take(self, running: _Running, content: bytes) -> None:
        for line in content.splitlines():
            self._site.keep(parsed(line))
        running.offset += len(content)

    def _salvage(self, running: _Running) -> None:
        """What a lost worker has left on its disk, if another of its host can read that."""
        near = [m for m in self._crew.everybody() if m.about.host == running.member.about.host]
        said = self._crew.ask(
            remote.left_behind, self._crew.attempt, running.key, running.offset, of=near[:1]
        )
        for content in said.values():
            self._take(running, content)

    def _settle(self, running: _Running) -> None:
        future = running.future
        if future.status != "finished":
            self._died(running, f"the worker {running.member.name}: {_why(future)}")
            return
        done: Done = future.result()
        self._fetch([running])
        if running.offset < done.size:
            self._salvage(running)
        if running.offset < done.size:
            self._died(running, f"the worker {running.member.name} was lost before it told all")
        elif done.stopped:
            self._died(running, f"{running.member.name} was not asked for its records in time")
        elif done.busy:
            self._crew.leave_out(running.member, done.busy)
            self._again(running)
        elif done.lost:
            self._last_loss = done.lost
            running.task.avoided.add(running.member.about.gpu)
            self._crew.control_failed(running.member, done.lost)
            self._died(running, f"{running.member.name}: {done.lost}")
        elif self._stands(running, done):
            self._ended_work += _expected_work(running.task.piece)
            self._ended_s += running.seconds
            self._ended(running.task, done.said, running)

    def _stands(self, running: _Running, done: Done) -> bool:
        """Whether a result is kept: not where a control failed and there is another card."""
        task, member = running.task, running.member
        if task.piece.kind != "measure":
            return True
        why = done.fault or self._control(task.piece)
        if not why:
            return True
        self._crew.control_failed(member, why)
        task.avoided.add(member.about.gpu)
        if all(m.about.gpu in task.avoided for m in self._crew.of(self._kind)):
            return True  # nobody could tell whether it is the card
        for case in task.piece.cases:
            outcome = self._site.known.outcomes.get(case.id)
            if outcome and (outcome.status == "ok" or outcome.again):
                planned = self._site.known.planned[case.id]
                self._site.keep(renewed(planned, "times", f"the control on {member.name}: {why}"))
        self._again(running)
        return False

    def _control(self, piece: Piece) -> str:
        """Why the card cannot be trusted with what it has just measured, or nothing."""
        known, allowed = self._site.known, self._site.setting.timing.same_within
        for case in piece.cases:
            outcome = known.outcomes.get(case.id)
            if outcome and outcome.again and outcome.reason.startswith("unstable"):
                return outcome.reason.splitlines()[0]
        sound = [case for case in piece.cases if known.outcomes[case.id].status == "ok"]
        if not sound:
            return ""
        timings, group = self._site.timings(sound), group_of(known.planned[sound[0].id])
        floor = max(timings.floor(group, cache) for cache in CACHES)
        if floor > allowed:
            return f"equal kernels differ by {100 * floor:.2g} %"
        return ""

    # What becomes of a task

    def _died(self, running: _Running, why: str) -> None:
        self._salvage(running)
        running.future.cancel()
        task = running.task
        task.deaths.append(why)
        if len(task.deaths) < MOST_DEATHS:
            self._again(running)
            return
        reason = f"its worker died {MOST_DEATHS} times: {'; '.join(task.deaths)}"
        for case in self._open(task.piece.cases):
            self._site.finish(case, "failed", reason, again=True)
        self._ended(task, reason, running)

    def _again(self, running: _Running) -> None:
        """What is left of a task waits for the next worker."""
        task = running.task
        left = self._open(task.piece.cases)
        if task.piece.cases and not left:
            self._ended(task, "ended before its worker did", running)
            return
        self._forget(running)
        task.piece = replace(task.piece, cases=tuple(left))
        self._waiting.appendleft(task)

    def _ended(self, task: _Task, said: str, running: _Running) -> None:
        self._forget(running)
        self._found[task.piece.name] = said
        what = said or "measured"
        self._view.done(f"{task.piece.name}  {what.splitlines()[0]}  on {running.member.name}")

    def _forget(self, running: _Running) -> None:
        self._running.pop(running.key, None)
        running.member.running.pop(running.key, None)
        others = [r for r in self._running.values() if r.member is running.member]
        self._view.doing(running.member.name, others[0].task.piece.name if others else "")

    def _open(self, cases: Iterable[Case]) -> list[Case]:
        return [case for case in cases if self._site.is_open(case)]


def _is_shared(task: _Task) -> bool:
    """Whether it may run beside others of its kind on one worker: nothing is timed in it."""
    return task.piece.kind == "qualify"


def _free_cores(member: Member) -> int:
    return member.about.cores - sum(member.running.values())


def _why(future: Any) -> str:
    if future.status in ("cancelled", "lost"):
        return "was lost"
    try:
        error = future.exception(timeout=1)
    except Exception as raised:  # of whatever kind: it is told and not handled
        error = raised
    if type(error).__name__ == "KilledWorker":
        return "its process ended"
    return f"{type(error).__name__}: {error}".splitlines()[0]
