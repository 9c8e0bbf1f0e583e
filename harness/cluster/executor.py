"""The executor of a run on a cluster: spreads each stage's work items over the workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.cases import Device
from harness.cluster import store
from harness.cluster.messages import Task
from harness.cluster.sweep import Sweep
from harness.cluster.view import viewed
from harness.cluster.worker_pool import Member, WorkerPool
from harness.compiler.compile import Built
from harness.run.task_runner import TaskRunner, WorkItem


class DaskExecutor:
    """Runs work items on pool members with one kind of card. `prefix`: text that precedes each
    message.
    """

    def __init__(self, pool: WorkerPool, kind: Device, prefix: str = "") -> None:
        self._pool, self._kind, self._prefix = pool, kind, prefix
        self._sent = Deliveries(pool)

    def carry_out(
        self, title: str, runner: TaskRunner, items: Sequence[WorkItem]
    ) -> dict[str, str]:
        """Run the work items. Raises ClusterLost if no worker is left for them, DeviceLost if no
        card is.

        Nothing is timed while any part of the whole run is still compiling or emulating.
        """
        if not items:
            return {}
        if any(item.kind != "qualify" for item in items):
            self._pool.have_qualified(self._kind)
            self._pool.wait_for_others()
        with viewed(self._prefix + title, len(items)) as view:
            sweep = Sweep(self._pool, self._kind, runner, items, view, self._sent)
            try:
                return sweep.carry_out()
            except BaseException:
                sweep.stop()
                raise


class Deliveries:
    """Makes tasks and sends the compiled files that they need, each file once per worker."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._names: dict[Path, str] = {}
        self._files: dict[str, Path] = {}

    def task(self, item: WorkItem, runner: TaskRunner, member: Member, cores: int) -> Task:
        device = member.about.device
        used = {case.id for case in (*item.cases, *item.tests)}
        built = {case: self._named(b) for case, b in runner.built.items() if case in used}
        setting = replace(runner.setting, kernels=runner.setting.kernels.absolute())
        records = tuple(runner.known.about(item.cases)) if item.kind == "measure" else ()
        made = Task(
            self._pool.attempt, self._pool.key(item.kind), item, setting, records, built, cores,
            member.about.gpu, device.bus if device else "",
        )  # fmt: skip
        self._deliver(made, member)
        return made

    def _deliver(self, task: Task, member: Member) -> None:
        """Send the files that the worker's host still lacks."""
        names = {path.name for b in task.built.values() for path in (b.ptx, b.cubin)}
        if unknown := sorted(names - member.delivered):
            said = self._pool.ask(store.lacking, task.attempt, unknown, of=[member])
            if missing := said.get(member.address, []):
                files = {name: self._files[name].read_bytes() for name in missing}
                self._pool.ask(store.take, task.attempt, files, of=[member])
            member.delivered |= names

    def _named(self, built: Built) -> Built:
        """Return the compiled files under names derived from their contents."""
        return replace(built, ptx=self._name(built.ptx), cubin=self._name(built.cubin))

    def _name(self, path: Path) -> Path:
        if path not in self._names:
            name = self._names[path] = store.name_of(path.read_bytes(), path.suffix)
            self._files[name] = path
        return Path(self._names[path])
