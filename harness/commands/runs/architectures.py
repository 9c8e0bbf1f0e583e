"""`--arch` with several architectures: a run for each, then their figures side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone

from harness import tables
from harness.commands.printed import labels
from harness.commands.printed.sheets import Cell, Sheet, markdown, rich
from harness.commands.request import CarryOut, OutputOptions, RunRequest
from harness.console.progress import console
from harness.errors import UsageError
from harness.journal.storage import replace_named
from harness.machine import devices
from harness.report.comparison import architectures
from harness.run.folder import fresh
from harness.tables import Run

SEPARATOR = ","
_ENDED = (0, 1)


def are_several(request: RunRequest) -> bool:
    return SEPARATOR in (request.arch or "")


def run(request: RunRequest, carry_out: CarryOut, given: Mapping[str, bool]) -> int:
    """Run each architecture, and print and draw the results side by side; return the first exit
    code that is not 0.

    `given`: map each option that is valid only for a single architecture to whether the user gave
    it.
    """
    arches = list(dict.fromkeys((request.arch or "").split(SEPARATOR)))
    for arch in arches:
        devices.emulated(arch)  # rejects an invalid name
    unfit = [option for option, is_given in given.items() if is_given]
    if request.backend == "cuda":
        unfit.append("--backend cuda")
    if unfit:
        raise UsageError(
            f"--arch {request.arch} emulates a run for each architecture, which excludes "
            f"{unfit[0]}\n  name one architecture, or omit {unfit[0]}"
        )
    request.told.check()
    parent = request.out or fresh(datetime.now(timezone.utc))
    runs: dict[str, Run] = {}
    worst = 0
    for arch in arches:
        one = replace(
            request, arch=arch, out=parent / arch, backend="emulator", told=OutputOptions(True)
        )
        code, folder = carry_out(one)
        if code not in _ENDED:
            return code
        worst = max(worst, code)
        runs[arch] = tables.load(folder)
    _tell(runs, request.told)
    page = architectures.write(runs, [labels.of_architecture(arch) for arch in arches], parent)
    console.print(str(page), markup=False)
    return worst


def _tell(runs: Mapping[str, Run], told: OutputOptions) -> None:
    found = [_sheet(each, list(runs)) for each in architectures.problems(runs)]
    for sheet in () if told.quiet else found:
        console.print(rich(sheet, console.width), soft_wrap=False)
        for note in sheet.notes:
            console.print(note, markup=False, highlight=False)
        console.print()
    if told.markdown:
        try:
            replace_named(told.markdown, markdown(found))
        except OSError as error:
            raise UsageError(f"--markdown {told.markdown}: {error.strerror}") from None


def _sheet(problem: architectures.Problem, arches: Sequence[str]) -> Sheet:
    """One row per figure; a variant's name appears only in its first row."""
    made = Sheet(problem.title, ["variant", "figure", *arches], 2)
    before = ""
    for line in problem.lines:
        name = "" if line.variant == before else line.variant
        made.rows.append([Cell(name), Cell(line.figure), *map(Cell, line.texts)])
        before = line.variant
    made.notes.extend([*problem.labels(arches), *problem.missing(arches)])
    return made
