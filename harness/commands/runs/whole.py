"""A whole run: open its folder, carry it out, and produce the tables, pages and exit code."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from harness import report, tables
from harness.analysis.budgets import checks as budget_checks
from harness.commands import listing
from harness.commands.printed import budgets, counted, labels, results
from harness.commands.printed.summary import summarise
from harness.commands.request import RunRequest
from harness.console.progress import console
from harness.console.suggestions import command
from harness.errors import ClusterLost, DeviceLost
from harness.matrix import model
from harness.processes import deadline, stopping
from harness.run.emulated.earlier import EarlierResults
from harness.run.executor import RunContext
from harness.run.folder import Folder
from harness.run.runner import Runner

ROUGH = "--quick: one size per problem and few rounds; take its figures for rough ones"
DRAWING_S = 10.0
"""The seconds that the report may take after a run has been told to stop."""
MOST_NOTES = 3  # before a run; `list` shows them all
_BLAMELESS = "the GPU failed, and no kernel is blamed; when it is back: the same command with --out"
_CLUSTER_GONE = "no kernel is blamed; when it is back: the same command with --out"


class WholeRun:
    """A run on an available device. If that is a GPU, it is reserved for this run."""

    def __init__(
        self, request: RunRequest, started: datetime, bench: model.Bench, place: RunContext
    ) -> None:
        self._request, self._place = request, place
        self._folder = Folder(
            request.out, bench, request.choice, place.backend, place.device, started,
            only_profiling=request.wanted is not None, beside=request.beside, cluster=place.cluster,
        )  # fmt: skip
        self._earlier = self._earlier_results()
        with self._folder.or_leave_none():
            self._runner = Runner(
                self._folder.bench, place.device, place.backend, self._folder.choice.only,
                self._folder.path, request.wanted, place.executor, self._folder.chosen,
                place.driver, matrix=bench, earlier=self._earlier,
            )  # fmt: skip
        self._folder.open(self._runner, place.card)
        labels.say_before(place.backend, place.device.arch)
        for note in listing.notes(self._runner.plan, MOST_NOTES):
            console.print(note, markup=False)
        if request.choice.quick:
            console.print(ROUGH)
        count = listing.count(self._runner.chosen)
        console.print(f"{count} on {place.device.name}, into {self._folder.path}", markup=False)
        self._told: int | None = None
        self._lost = self._remedy = ""

    def _earlier_results(self) -> EarlierResults | None:
        """The earlier results that may be reused; none on a GPU, where every run measures its own
        times."""
        place, request = self._place, self._request
        if place.backend != "emulator" or place.cluster or request.beside or request.anew:
            return None
        return EarlierResults(self._folder.bench.limits, place.device)

    def carry_out(self) -> None:
        """Run to the end, or until the run is stopped or the device is lost; `tell` reports which
        of these happened."""
        try:
            self._runner.run()
        except stopping.TOLD as stop:
            self._told = stopping.code_of(stop)
        except DeviceLost as error:
            self._lost, self._remedy = str(error), _BLAMELESS
        except ClusterLost as error:
            self._lost, self._remedy = str(error), _CLUSTER_GONE

    def tell(self) -> tuple[int, Path]:
        """Draw the report and print how the run went; return the exit code and the run's folder."""
        runner, folder, request = self._runner, self._folder, self._request
        measured = tables.load(folder.path)
        checks = budget_checks(measured)
        chosen = {case.id for case in runner.chosen}
        is_broken = any(c.status == "broken" and c.case in chosen for c in checks)
        code = self._told or int(runner.failed or bool(self._lost) or is_broken)
        taken_over = self._earlier.taken_over if self._earlier else 0
        folder.close(code, measured, self._place.card, taken_over)
        finished = tables.load(folder.path)
        with runner.forecast.stage("report"):
            page = self._drawn(finished)
        folder.point_latest()
        results.tell(finished, request.told)
        summarise(finished, bool(self._told), request.problems)
        budgets.say(checks, request.problems)
        for warning in finished.info.get("warnings") or ():
            console.print(f"BEWARE {warning}", markup=False)
        if self._lost:
            console.print(f"STOPPED {self._lost}\n  {self._remedy} {folder.path}", markup=False)
        if runner.without_ceilings:
            console.print(f"CEILINGS not measured: {runner.without_ceilings}", markup=False)
        for failure in runner.unprofiled:
            console.print(f"COUNTERS {failure.reason}", markup=False)
        if runner.unread:
            for line in counted.instead(finished, runner.unread, chosen):
                console.print(line, markup=False)
        elif self._may_be_profiled and counted.is_unexplained(finished):
            console.print(counted.next_step(folder.path), markup=False)
        if request.choice.quick:
            console.print(ROUGH)
        labels.say_after(finished)
        if not (self._told or self._lost):
            runner.end_forecast()
        console.print(page, markup=False)
        return code, folder.path

    @property
    def _may_be_profiled(self) -> bool:
        """Return whether `profile` could continue this run, which must have neither a second side
        nor a cluster."""
        request = self._request
        is_alone = request.beside is None and request.cluster is None
        return is_alone and request.wanted is None and self._told is None and not self._lost

    def _drawn(self, finished: tables.Run) -> str:
        """Draw the report and return its path; after a stop request, give up after DRAWING_S."""
        if self._told is None:
            return str(report.write(finished))
        try:
            with deadline.within(DRAWING_S):
                return str(report.write(finished))
        except deadline.Overrun:
            return f"not all pages are drawn: {command(f'report {self._folder.path}')}"
