"""Generate inputs and references ahead of measurement, while the GPU has other work.

The float64 references of a large size take a core many seconds, during which a GPU would wait.
Therefore some of the cores generate this data, group by group in measurement order, while kernels
are compiled, verified and timed. The results wait in memory if there is room. If a group's data was
not generated ahead, the process that prepares the group generates it. The same process also
compares data that was generated ahead with the hashes recorded at that time.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.cases import Case
from harness.job import Job
from harness.problem import Problem
from harness.processes import host_memory
from harness.processes.workers import Workers
from harness.run.measurement import Drawn, room
from harness.worker.inputs import DRAWS
from harness.worker.timing import DRAWING_S

CORES = 4
"""The number of cores per worker that generates inputs; the other cores compile, verify, and serve
the GPU."""

SHARE = 8
"""Inputs that wait to be measured may use 1/SHARE of the machine's free memory; generating them may
use as much again."""


@dataclass(frozen=True)
class Group:
    """The inputs and references of a group.

    `nbytes`: the size of both sets of inputs with their references and bounds, plus that of the
    other state of one set (see worker/states.py).
    """

    case: Case
    nbytes: int


def groups(cases: Iterable[Case], problems: Mapping[str, Problem]) -> list[Group]:
    """The cases' groups, in order, except those whose references are not doubles."""
    found = []
    for case in {case.group: case for case in cases}.values():
        buffers = problems[case.problem].buffers(case.sizes, case.dtype)
        outputs = [b for b in buffers if b.role == "output"]
        if not any(b.dtype in ("int64", "uint64") for b in outputs):
            read = sum(b.nbytes for b in buffers if b.role == "input")
            held_to = sum(16 * b.count for b in outputs)
            found.append(Group(case, len(DRAWS) * read + (len(DRAWS) + 1) * held_to))
    return found


class Drawing:
    """A context manager that generates inputs and references until it exits.

    `job`: takes a group's case and a folder, and returns the worker job that generates the group's
    data in that folder. `several`: how many such workers run at the same time.
    """

    def __init__(
        self,
        groups: Sequence[Group],
        job: Callable[[Case, Path], Job],
        several: int,
        available: int | None = None,
    ) -> None:
        self._groups, self._job, self._several = groups, job, several
        self._workers = Workers()
        free = available or host_memory.available() or 0
        self._most = free // SHARE
        self._left = self._most
        self._changed = threading.Condition()
        self._ended, self._wanted = False, set[str]()
        self._found: dict[str, Future[Drawn | None]] = {}
        self._stack = ExitStack()

    @property
    def bytes_of_one(self) -> int:
        """The number of bytes of the machine's memory that one worker may use."""
        return self._most // self._several

    def __enter__(self) -> Drawing:
        folder = self._stack.enter_context(room(self._most))
        # If the folder is on disk rather than in memory, the journal and others use the disk, too.
        self._most = self._left = min(self._most, shutil.disk_usage(folder).free // SHARE)
        pool = ThreadPoolExecutor(self._several)
        self._stack.callback(pool.shutdown, cancel_futures=True)
        for number, group in enumerate(self._groups):
            if group.nbytes <= self._most:
                found = pool.submit(self._draw, group, folder / str(number))
                self._found[group.case.group] = found
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._workers.stop()
        self._stack.close()

    def _draw(self, group: Group, folder: Path) -> Drawn | None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_over(group) or group.nbytes <= self._left)
            if self._is_over(group):
                return None
            self._left -= group.nbytes
        ended = self._workers.do(self._job(group.case, folder), DRAWING_S)
        if ended.reason:  # the process that prepares the group hits it again and reports it
            self._give_back(folder, group.nbytes)
            return None
        return Drawn(folder, ended.drawn)

    def _is_over(self, group: Group) -> bool:
        """Return whether the group is no longer needed, or is needed now but does not fit.

        In the second case, later groups hold the memory that it needs.
        """
        is_wanted = group.case.group in self._wanted and group.nbytes > self._left
        return self._ended or is_wanted

    def _give_back(self, folder: Path, nbytes: int) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        with self._changed:
            self._left += nbytes
            self._changed.notify_all()

    @contextmanager
    def of(self, name: str) -> Iterator[Drawn | None]:
        """Provide a group's data for a `with` block that measures the group; None if the data was
        too large or could not be generated.

        If the work on a group has not started, the caller does not wait for it.
        """
        with self._changed:
            self._wanted.add(name)
            self._changed.notify_all()
        future = self._found.pop(name, None)
        if future is None or future.cancel():
            yield None
            return
        drawn = future.result()
        try:
            yield drawn
        finally:
            if drawn:
                nbytes = next(g.nbytes for g in self._groups if g.case.group == name)
                self._give_back(drawn.folder, nbytes)
