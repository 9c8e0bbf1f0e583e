"""The executor of a run's work items on this machine; harness/cluster has one for several
machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, Protocol

from harness.cases import Device
from harness.console.progress import stage
from harness.machine.card import Card
from harness.processes.cores import Cores
from harness.run.task_runner import TaskRunner, WorkItem


class Executor(Protocol):
    def carry_out(
        self, title: str, runner: TaskRunner, items: Sequence[WorkItem]
    ) -> dict[str, str]:
        """Run all items of a stage, which are of one kind; return the result of each, by name.

        `runner` stores the items' records. Raises DeviceLost.
        """
        ...


@dataclass(frozen=True)
class RunContext:
    """The machine on which a run measures.

    `card`: the state of the GPU that is timed. `driver`: that GPU's driver version, if it is on
    another machine. `cluster`: the workers, as run.json describes them; None without a cluster.
    """

    backend: str
    device: Device
    executor: Executor
    card: Card | None = None
    driver: str | None = None
    cluster: Mapping[str, Any] | None = None


class LocalExecutor:
    """Runs work items on this machine's cores; while an item is being timed, no other item runs.

    `jobs`: how many cores the workers and their emulated launches share.
    """

    def __init__(self, jobs: int) -> None:
        self._cores = Cores(jobs)

    @property
    def cores(self) -> int:
        return self._cores.total

    def carry_out(
        self, title: str, runner: TaskRunner, items: Sequence[WorkItem]
    ) -> dict[str, str]:
        with stage(title, len(items)) as advance:
            if all(item.kind in ("qualify", "prepare", "count") for item in items):
                return self._several(runner, items, advance)
            return self._in_turn(runner, items, advance)

    def _in_turn(
        self, runner: TaskRunner, items: Sequence[WorkItem], advance: Callable[[str], None]
    ) -> dict[str, str]:
        found = {}
        runner.keeps_processes = True
        try:
            for item in items:
                found[item.name] = runner.carry_out(item)
                advance(f"{item.name}  {found[item.name] or 'measured'}")
        finally:
            runner.keeps_processes = False
            runner.workers.dismiss()
        return found

    def _several(
        self, runner: TaskRunner, items: Sequence[WorkItem], advance: Callable[[str], None]
    ) -> dict[str, str]:
        """Run several items at a time, none of which is timed."""
        found = {}
        at_once = min(self._cores.total, runner.most_at_once(items) or self._cores.total)
        with ThreadPoolExecutor(max_workers=at_once) as pool:
            self._cores.expect(len(items))
            runner.slots.at_most(self._cores.total)
            runner.runs_several = True
            try:
                pending = {pool.submit(self._on_some, runner, each): each for each in items}
                for future in as_completed(pending):
                    item = pending[future]
                    found[item.name] = future.result()
                    advance(f"{item.name}  {found[item.name]}")
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                runner.workers.stop()
                raise
            finally:
                runner.runs_several = False
                runner.workers.dismiss()
        return found

    def _on_some(self, runner: TaskRunner, item: WorkItem) -> str:
        with self._cores.some() as cores:
            return runner.carry_out(item, cores)
