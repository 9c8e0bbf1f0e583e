"""A run's folder: run.json, which describes the run, and the link reports/latest."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from harness import tables
from harness.cases import Device, how_many
from harness.console.progress import console
from harness.errors import HarnessError, UsageError
from harness.journal import run_files
from harness.journal.records import Conditions
from harness.journal.run_files import LATEST, REPORTS
from harness.journal.storage import replace_text
from harness.machine import environment
from harness.machine.card import Card, in_between, warnings
from harness.matrix import filters, model, plan
from harness.matrix.filters import Choice
from harness.processes.stopping import STOPPED
from harness.run.runner import Runner
from harness.run.task_runner import timing_of
from harness.tables import packed

_MOST_NAMED = 3


class Folder:
    """One run's folder, checked before anything runs and closed with the run's outcome.

    `path`: None for a new one in reports/. `choice`: the command line's choice of cases. A folder
    with results keeps its original cases; `chosen` are the cases to work on now; None means all.
    `only_profiling`: whether to profile a run that has ended, without measuring again. `beside`:
    the commit whose kernels are compared with the current ones. `cluster`: the workers, if any.
    Raises UsageError if the folder holds another run, or cannot be written.
    """

    def __init__(
        self,
        path: Path | None,
        bench: model.Bench,
        choice: Choice,
        backend: str,
        device: Device,
        started: datetime,
        only_profiling: bool = False,
        beside: Mapping[str, Any] | None = None,
        cluster: Mapping[str, Any] | None = None,
    ) -> None:
        self.choice, self.chosen = choice, None
        self._beside = dict(beside) if beside else None
        self._cluster = dict(cluster) if cluster else None
        self.bench = filters.narrowed(bench, choice, backend)
        self._started = started.isoformat()
        self._info: dict[str, Any] = {}
        self._taken_over = 0
        if path and os.path.exists(path / "run.json"):  # also False if the name is too long
            self._go_on(path, bench, backend, device, only_profiling)
        try:
            self.path = path or fresh(started)
            self.path.mkdir(parents=True, exist_ok=True)
            run_files.check(self.path)
        except OSError as error:
            place = error.filename or path or REPORTS
            raise UsageError(f"--out {place}: {error.strerror}") from None

    chosen: Collection[str] | None

    @contextmanager
    def or_leave_none(self) -> Iterator[None]:
        """Remove the empty folder of a run that is rejected before it begins."""
        try:
            yield
        except HarnessError:
            with suppress(OSError):  # it is not empty
                self.path.rmdir()
            raise

    def open(self, runner: Runner, card: Card | None = None) -> None:
        """Write run.json before anything runs."""
        self._info = {**_about(runner, self.choice), "started": self._started}
        if self._beside:
            self._info["beside"] = self._beside
        if self._cluster:
            self._info["cluster"] = self._cluster
        if card:
            self._info |= {"card": asdict(card), "warnings": list(warnings(card))}
        try:
            self._write()
            packed.unpack(self.path)
            os.close(run_files.append_to(self.path / packed.JOURNAL))
        except OSError as error:
            raise UsageError(f"--out {self.path}: {error.strerror}") from None

    def close(
        self, exit_code: int, measured: tables.Run, card: Card | None = None, taken_over: int = 0
    ) -> None:
        """Write how the run ended; for a run on a GPU, also the card's state during the rounds.

        `taken_over`: how many cases reused results of earlier runs.
        """
        if card:
            seen = in_between(card, measured.of(Conditions))
            self._info["warnings"] = [*warnings(card), *seen]
        if taken_over + self._taken_over:
            self._info["taken_over"] = taken_over + self._taken_over
        self._info |= {"finished": datetime.now(timezone.utc).isoformat(), "exit_code": exit_code}
        self._write()

    def point_latest(self) -> None:
        """Point reports/latest at the run, if the run is in reports/."""
        point_latest(self.path)

    def _go_on(
        self, path: Path, bench: model.Bench, backend: str, device: Device, only_profiling: bool
    ) -> None:
        """Continue an existing run, for the cases that this command chooses."""
        run = tables.load(path)
        before = run.info
        if "choice" not in before:
            raise another(path, ["it was made by an earlier version of the harness"])
        if _commit(before.get("beside")) != _commit(self._beside):
            raise another(path, [_sides_differ(before.get("beside"), self._beside)])
        theirs = Choice(**{k: _tuple(v) for k, v in before["choice"].items()})
        ours, asked = self.choice, self.bench
        found = list(_differences(before, backend, device, asked, theirs, ours))
        if found:
            raise another(path, found)
        self._started, self._taken_over = before["started"], before.get("taken_over", 0)
        try:
            self.bench = filters.narrowed(bench, theirs, backend)
            there = {c.id for c in plan.resolve(self.bench, device, backend, theirs.only).cases}
        except UsageError:  # the cases that the folder's filters chose are not in this matrix
            there = set()
        if run.planned and not there.intersection(run.planned):
            what = f"it has none of the {how_many(len(run.planned))} there"
            raise another(path, [f"the matrix differs: {what}"])
        console.print(f"resuming {path}", markup=False)
        self.choice = theirs
        if ours == theirs:
            return
        wanted = {c.id for c in plan.resolve(asked, device, backend, ours.only).cases}
        if only_profiling and "finished" in before and before["exit_code"] not in STOPPED:
            wanted &= there  # if there is anything to profile
        if more := sorted(wanted - there):
            raise another(path, [_filters_differ(theirs, ours, more)])
        if not wanted:
            raise another(path, [_filters_differ(theirs, ours, [])])
        self.chosen = wanted

    def _write(self) -> None:
        replace_text(self.path / "run.json", json.dumps(self._info, indent=1) + "\n")


def point_latest(path: Path) -> None:
    """Point reports/latest at a run's folder, if that is in reports/, which must be writable.

    In a sandbox the folder is not writable; the process outside the sandbox sets the link.
    """
    if path.resolve().parent == REPORTS.resolve() and os.access(REPORTS, os.W_OK):
        LATEST.unlink(missing_ok=True)
        LATEST.symlink_to(path.name)


def fresh(started: datetime) -> Path:
    """A new folder for a run without a named folder; runs started at the same moment get different
    folders."""
    name = started.strftime("%Y%m%d-%H%M%S")
    REPORTS.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        path = REPORTS / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
            continue
        return path


def another(path: Path, differences: list[str]) -> UsageError:
    listed = "".join(f"\n  {each}" for each in differences)
    return UsageError(
        f"{path} holds another run:{listed}\n  name another folder with --out, or delete it"
    )


def _commit(beside: Mapping[str, Any] | None) -> tuple[Any, ...]:
    """The entries that identify the two sides that a run compares; files omitted from the current
    side are ignored."""
    return tuple((beside or {}).get(key) for key in ("base", "commit", "suffix"))


def _sides_differ(theirs: Mapping[str, Any] | None, ours: Mapping[str, Any] | None) -> str:
    def said(beside: Mapping[str, Any] | None) -> str:
        return f"{beside['base']} at {beside['commit'][:10]}" if beside else "no commit"

    return f"what today's kernels stand beside differs: {said(theirs)} there, {said(ours)} now"


def _differences(
    before: Mapping[str, Any], backend: str, device: Device, bench: model.Bench, theirs: Choice,
    ours: Choice,
) -> Iterator[str]:  # fmt: skip
    """The differences that make the results of the two runs incomparable."""
    was, now = dict(before["device"]), json.loads(json.dumps(asdict(device)))
    for key in ("bus", "room"):  # any card of the same model will do, however full its memory
        now.pop(key)
    if before["backend"] != backend:
        yield f"the backend differs: {before['backend']} there, {backend} now"
    elif was["arch"] != now["arch"]:
        yield f"--arch differs: {was['arch']} there, {now['arch']} now"
    elif was["name"] != now["name"]:
        yield f"the machine differs: {was['name']} there, {now['name']} now"
    elif keys := [key for key in now if key in was and was[key] != now[key]]:
        yield f"the machine differs in {', '.join(keys)}"
    if theirs.quick != ours.quick:
        yield f"--quick differs: {_typed(theirs.quick)} there, {_typed(ours.quick)} now"
    else:
        then, now = before["timing"], json.loads(json.dumps(timing_of(bench.timing)))
        keys = [key for key in {**then, **now} if then.get(key) != now.get(key)]
        if keys:
            each = (f"{key} {then.get(key)} there, {now.get(key)} now" for key in keys)
            yield f"timing: in the matrix differs: {'; '.join(each)}"


def _typed(given: bool) -> str:
    return "given" if given else "not given"


def _filters_differ(theirs: Choice, ours: Choice, more: list[str]) -> str:
    text = f"the filters differ: {theirs} there, {ours} now"
    if not more:
        return f"{text}, which have no case in common"
    rest = f" and {len(more) - _MOST_NAMED} more" if len(more) > _MOST_NAMED else ""
    return f"{text}; it has no {', '.join(more[:_MOST_NAMED])}{rest}"


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _about(runner: Runner, choice: Choice) -> dict[str, Any]:
    """The contents of run.json before anything runs."""
    bench, device = runner.bench, runner.device
    return {
        "id": runner.folder.name,
        "command": shlex.join(["python", "-m", "harness", *sys.argv[1:]]),
        "choice": asdict(choice),
        "seed": bench.timing.seed,
        "backend": runner.backend,
        "device": asdict(device),
        "timing": timing_of(bench.timing),
        "timed_inputs_seed": runner.fresh,
        "machine": environment.describe(),
        "driver": runner.driver,
        "versions": environment.versions(),
        "commit": environment.commit(),
        "problems": {
            name: {
                "title": problem.title,
                "baseline": bench.problems[name].baseline,
                "library": bench.problems[name].library,
                "arithmetic": problem.arithmetic,
                "library_arithmetic": dict(problem.library_arithmetic),
                "timed_inputs": problem.timed_inputs,
                "no_roof": problem.no_roof,
            }
            for name, problem in runner.problems.items()
        },
        **environment.sources(bench, sorted(bench.problems)),
    }
