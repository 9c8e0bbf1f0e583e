"""The results of `check`, `time` and `compare`: verdicts to assert on and to display."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path

from harness import tables
from harness.analysis.readings import JUDGES
from harness.console.suggestions import did_you_mean
from harness.errors import UsageError
from harness.judge.folders import names, to_folder
from harness.judge.submissions import PythonFunction, Submission, Text
from harness.judge.verdicts import Budget, Counter, Counterexample, Interval, Kind, Verdict
from harness.tables import Run


class Counters(Mapping[str, float]):
    """A kernel's exact counters, as plain numbers, under the names used in `expect:`.

    A value that is inexact or unknown raises KeyError with the reason.
    """

    def __init__(self, every: Mapping[str, Counter]) -> None:
        self.every = every
        """All counters, including inexact ones, with their units and provenance."""

    def __getitem__(self, name: str) -> float:
        found = self.every.get(name)
        if found is None:
            near = did_you_mean(name, self.every)
            raise KeyError(f"{name} was not counted{near}")
        if found.provenance not in JUDGES:
            raise KeyError(f"{name} is {found.value:g}, and not exact: {found.provenance}")
        return found.value

    def __iter__(self) -> Iterator[str]:
        return (name for name, each in self.every.items() if each.provenance in JUDGES)

    def __len__(self) -> int:
        return sum(1 for _ in self)


PACKAGE = Path(__file__).resolve().parents[2]
_AROUND = 2
"""The number of lines shown before and after the faulty line."""


def excerpt(submission: Submission, verdict: Verdict) -> str:
    """The lines of a kernel's source around the one that its verdict names."""
    for name, each in zip(names(submission), submission.kernels, strict=True):
        if (
            name != verdict.kernel
            or verdict.line is None
            or isinstance(each, PythonFunction)
            or verdict.file not in (f"{name}.cu", f"{name}.ptx")
        ):
            continue
        is_file = not isinstance(each, Text) and each.is_file
        lines = (Path(each.source).read_text() if is_file else each.source).splitlines()
        first = max(0, verdict.line - 1 - _AROUND)
        return "\n".join(
            f"{'>' if number == verdict.line else ' '} {number:4} | {line}"
            for number, line in enumerate(lines[first : verdict.line + _AROUND], first + 1)
        )
    return ""


@dataclass(frozen=True)
class Report:
    """The verdict on one kernel, and the run from which it was derived."""

    told: Verdict
    submission: Submission
    folder: Path | None = None
    """The run's folder; it is removed at the end of the process."""
    matrix: Path | None = None
    """The folder that was run."""

    @property
    def verdict(self) -> Kind:
        return self.told.verdict

    @property
    def is_right(self) -> bool:
        return self.told.is_right

    @property
    def text(self) -> str:
        return self.told.text

    @property
    def excerpt(self) -> str:
        """The lines of the kernel around the fault; empty if the fault has no line."""
        return excerpt(self.submission, self.told)

    @property
    def cause(self) -> str:
        return self.told.cause

    @property
    def file(self) -> str:
        return self.told.file

    @property
    def line(self) -> int | None:
        return self.told.line

    @property
    def counterexample(self) -> Counterexample | None:
        return self.told.counterexample

    @property
    def budgets(self) -> Sequence[Budget]:
        return self.told.budgets

    @property
    def time_ns(self) -> Interval | None:
        return self.told.time_ns

    @property
    def speedup(self) -> Interval | None:
        return self.told.speedup

    @cached_property
    def counters(self) -> Counters:
        return Counters(self.told.counters)

    @property
    def bank_conflicts(self) -> float:
        """Shared-memory wavefronts beyond the ideal. Raises KeyError if the number is not
        known."""
        found = self.told.bank_conflicts
        if found is None:
            raise KeyError(f"bank conflicts were not counted exactly: {self.text}")
        return found

    @property
    def run(self) -> Run:
        """The run, as tables. Raises UsageError if none was kept."""
        if self.folder is None:
            raise UsageError("this verdict has no run: its process was ended")
        return tables.load(self.folder)

    def page(self) -> Path:
        """Draw the pages of the run; return the path of report.html."""
        return page(self.folder, self.matrix)

    def to_folder(self, path: str | Path) -> Path:
        """Write the judged matrix; `python -m harness run` in it gives the same result."""
        return to_folder(self.submission, Path(path), self.told.seed)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """The notebook view: the verdict, the lines around a fault, and the source with the cost of
        each line."""
        from harness.report import notebook  # imports the drawing code

        lines = f"<pre>{escape(self.excerpt)}</pre>" if self.excerpt else ""
        costs = ""
        if self.folder and self.matrix:
            costs = notebook.sources(self.run, self.matrix / "kernels", self.told.kernel)
        return f"{self.told._repr_html_()}{lines}{costs}"


def page(run: Path | None, matrix: Path | None) -> Path:
    """Draw a run's pages as `report` does, in the working folder of its sources; return
    report.html's path."""
    if run is None or matrix is None:
        raise UsageError("there is no run to draw: its process was ended")
    path = os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH", "")]))
    drawn = subprocess.run(
        [sys.executable, "-m", "harness", "report", str(run)],
        cwd=matrix, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    if drawn.returncode:
        raise UsageError(f"the page was not drawn: {drawn.stdout}{drawn.stderr}".strip())
    return run / "report.html"


@dataclass(frozen=True)
class Comparison:
    """Several kernels of one problem, in the order in which they were given."""

    verdicts: Sequence[Verdict]
    submission: Submission
    folder: Path | None = None
    matrix: Path | None = None

    def __getitem__(self, kernel: str) -> Report:
        for each in self.verdicts:
            if each.kernel == kernel:
                return Report(each, self.submission, self.folder, self.matrix)
        known = [each.kernel for each in self.verdicts]
        raise KeyError(f"no kernel is called {kernel}{did_you_mean(kernel, known)}")

    def __iter__(self) -> Iterator[Report]:
        return (self[each.kernel] for each in self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    @property
    def text(self) -> str:
        return "\n".join(each.text for each in self.verdicts)

    @property
    def run(self) -> Run:
        return next(iter(self)).run

    def page(self) -> Path:
        """Draw the pages of the run; return the path of report.html."""
        return page(self.folder, self.matrix)

    def to_folder(self, path: str | Path) -> Path:
        """Write the judged matrix; `python -m harness run` in it gives the same result."""
        return to_folder(self.submission, Path(path))

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """The notebook view: all verdicts, and the run's tables, figures and annotated sources."""
        shown = "".join(each._repr_html_() for each in self.verdicts)
        if self.folder is None or self.matrix is None:
            return shown
        from harness.report import notebook

        run = self.run
        costs = notebook.sources(run, self.matrix / "kernels")
        return shown + run._repr_html_() + notebook.figures(run) + costs
