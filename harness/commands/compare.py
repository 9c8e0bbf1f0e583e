"""`compare`: compare two runs case by case; a gate closes if anything became slower, worse or
faulty.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import tables
from harness.commands.printed import pull_request, sheets
from harness.commands.printed.sheets import Cell, Sheet
from harness.comparison import Judgement, judge
from harness.comparison.changes import Change
from harness.comparison.judgement import CLOSED, FINE, MIN_EFFECT
from harness.comparison.pairs import suffix_of
from harness.comparison.sides.baselines import resolve
from harness.console.progress import console
from harness.console.suggestions import command
from harness.errors import UsageError
from harness.files import in_repository
from harness.journal import run_files
from harness.journal.storage import replace_named
from harness.report.comparison import files, sarif, words
from harness.tables import Run

PAGE = "comparison.html"
MOST_ROWS = 30
"""The most rows in the terminal's table; the page has all of them."""


def compare(
    base: str, new: Path | None, wanted: CompareOptions, *, across_machines: bool,
    min_effect: float, quiet: bool,
) -> int:  # fmt: skip
    """Return the gate's exit code for two run folders, or for one run with both sides."""
    wanted.check()
    return carry_out(
        *_runs(base, new), wanted, across_machines=across_machines, min_effect=min_effect,
        quiet=quiet,
    )  # fmt: skip


@dataclass(frozen=True)
class CompareOptions:
    """The outputs of a comparison besides the terminal."""

    json: Path | None = None
    markdown: Path | None = None
    junit: Path | None = None
    sarif: Path | None = None
    page: Path | None = None

    def check(self) -> None:
        """Check the paths before comparing. Raises UsageError if a file's folder does not exist."""
        for option, path in self._options():
            if path and not path.parent.is_dir():
                raise UsageError(f"{option} {path}: there is no folder {path.parent}")
            if path and path.is_dir():
                raise UsageError(f"{option} {path}: it is a folder; name a file")

    def write(self, judgement: Judgement, kernels: Path) -> Path:
        """Write the requested files and the page; return the page's path.

        `kernels`: the folder of problems, in which files that messages name are looked up.
        """
        makers: list[tuple[str, Path | None, Callable[[Judgement], str]]] = [
            ("--json", self.json, lambda j: json.dumps(files.as_data(j), indent=1) + "\n"),
            ("--markdown", self.markdown, files.markdown),
            ("--junit", self.junit, files.junit),
            ("--sarif", self.sarif, lambda j: sarif.text(j, kernels)),
        ]
        for option, path, make in makers:
            if path:
                _save(option, path, make(judgement))
        from harness.report.comparison import page  # plotting takes a second to import

        text = page.text(judgement)
        if self.page:
            _save("--out", self.page, text)
            return self.page
        home = judgement.new.folder / PAGE
        try:
            run_files.write(judgement.new.folder, PAGE, text)
        except OSError as error:
            raise UsageError(f"{home}: {error.strerror}\n  name another file with --out") from None
        return home

    def write_nothing(self, base: str, untold: Sequence[str], kernels: Path) -> None:
        """Write the requested comment, JUnit and SARIF for an empty comparison."""
        for option, path, text in [
            ("--markdown", self.markdown, files.markdown_of_nothing(base, untold)),
            ("--junit", self.junit, files.junit_of_nothing()),
            ("--sarif", self.sarif, sarif.of_nothing(untold, kernels)),
        ]:
            if path:
                _save(option, path, text)

    def _options(self) -> list[tuple[str, Path | None]]:
        return [("--json", self.json), ("--markdown", self.markdown), ("--junit", self.junit),
                ("--sarif", self.sarif), ("--out", self.page)]  # fmt: skip


def carry_out(
    base: Run, new: Run, wanted: CompareOptions, *, across_machines: bool = False,
    min_effect: float = MIN_EFFECT, quiet: bool = False, kernels: Path = in_repository.PROBLEMS,
) -> int:  # fmt: skip
    """Compare, print and write; return the gate's exit code. If one run has both sides, `base is
    new` (the same object).

    `kernels`: the folder of problems, in which files that messages name are looked up.
    """
    judgement = judge(base, new, across_machines=across_machines, min_effect=min_effect)
    home = wanted.write(judgement, kernels)
    if not quiet:
        _tell(judgement)
    _annotate(judgement, kernels)
    console.print(words.headline(judgement), markup=False, style=_STYLES[judgement.code])
    console.print(str(home), markup=False)
    return judgement.code


_STYLES = {FINE: "bold green", CLOSED: "bold red"} | dict.fromkeys((2, 3), "bold yellow")


def _runs(base: str, new: Path | None) -> tuple[Run, Run]:
    if base.startswith("git:"):
        raise UsageError(
            f"{base} is not a run: build its kernels and run them beside today's, in one run\n"
            f"  {command(f'beside {base}', f'compare BASE={base}')}"
        )
    first = tables.load(resolve(base))
    if new is not None:
        second = tables.load(resolve(new))
        for run in (first, second):
            if suffix_of(run):
                raise UsageError(
                    f"{run.folder} has both sides in one run; compare it by itself\n"
                    f"  {command(f'compare {run.folder}')}"
                )
        return first, second
    if not suffix_of(first):
        raise UsageError(
            f"{base} has only one side; name the run to compare it with\n"
            f"  {command(f'compare {base} NEW')}"
        )
    return first, first


def _save(option: str, path: Path, text: str) -> None:
    try:
        replace_named(path, text)
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}") from None


def _tell(judgement: Judgement) -> None:
    around = judgement.setting
    for name, text in words.sides(judgement):
        console.print(f"{name + ':':5} {text}", markup=False)
    for text in words.differences([*around.machine, *around.method, *around.context]):
        console.print(f"  {text}", markup=False)
    console.print()
    told = [c for c in judgement.changes if c.kind in words.TOLD]
    if told:
        sheet = _sheet(judgement, told[:MOST_ROWS])
        console.print(sheets.rich(sheet, console.width), soft_wrap=False)
        if len(told) > MOST_ROWS:
            console.print(f"and {len(told) - MOST_ROWS} more: the page has them all")
        console.print()
    for reason in words.reasons(judgement):
        console.print(f"{reason.kind.upper()} {words.and_more(reason.cases)}\n  {reason.text}",
                      markup=False)  # fmt: skip
    for text in judgement.untold:
        console.print(f"CANNOT TELL {text}", markup=False)
    if rest := words.folded(judgement):
        console.print(f"without a row: {rest}", markup=False)
    for text in words.looked_at(judgement):
        console.print(text, markup=False)


def _annotate(judgement: Judgement, kernels: Path) -> None:
    """In a GitHub job, annotate the source line of each reason why the gate closes."""
    for reason in words.reasons(judgement):
        title = f"{reason.kind.upper()} {words.and_more(reason.cases)}"
        pull_request.error(title, reason.text, kernels)
    for text in judgement.untold:
        pull_request.error("CANNOT TELL", text, kernels)


def _sheet(judgement: Judgement, told: list[Change]) -> Sheet:
    """One row per case that changed, the most important first."""
    if not judgement.is_timed:
        sheet = Sheet("", ["case", "verdict", "what changed"], 3, ("what changed",))
        sheet.rows.extend([_name(c), _verdict(c), Cell(words.shortly(c))] for c in told)
        return sheet
    sheet = Sheet("", ["case", "verdict", "cold", "warm", "bandwidth, cold", "what changed"], 2,
                  ("what changed", "bandwidth, cold", "warm"))  # fmt: skip
    for change in told:
        cold, warm = (words.of_cache(change, cache) for cache in ("cold", "warm"))
        sheet.rows.append(
            [_name(change), _verdict(change),
             *(Cell(words.time(t), t.verdict if t else "") for t in (cold, warm)),
             Cell(words.rate(cold)), Cell(next(iter(words.beside(change)), ""))]
        )  # fmt: skip
    return sheet


def _name(change: Change) -> Cell:
    return Cell(change.name)


def _verdict(change: Change) -> Cell:
    kinds = {"newly faulty": "failed", "worse": "slower", "better": "faster", "mended": "faster"}
    return Cell(change.kind, kinds.get(change.kind, change.kind))
