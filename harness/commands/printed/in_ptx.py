"""Messages at the start and at the end, for runs that can count only PTX and not machine code."""

from __future__ import annotations

from collections.abc import Iterator

from harness.console.progress import console
from harness.journal.records import IN_PTX_ALONE, Remark
from harness.tables import Run

_NOT_EXACT = "no counter is exact, no budget on one is checked, and a gate cannot tell"


def say_before(backend: str) -> None:
    """Warn at the start if there is no disassembler."""
    if backend != "emulator":
        return
    from harness.emulator import EmulatorError
    from harness.emulator.sass.cubin import disassembler

    try:
        disassembler.find()
    except EmulatorError as error:
        console.print(f"BEWARE this run counts in PTX alone: {_NOT_EXACT}\n  {error}", markup=False)


def say_after(run: Run) -> None:
    for line in lines(run):
        console.print(line, markup=False)


def lines(run: Run) -> Iterator[str]:
    """List the variants that were counted in PTX alone, by reason."""
    found: dict[str, dict[str, None]] = {}
    for remark in run.of(Remark):
        what, _, why = remark.text.partition(": ")
        if what == IN_PTX_ALONE:
            found.setdefault(why, {})[f"{remark.problem}/{remark.variant}"] = None
    for why, names in found.items():
        first, more = next(iter(names)), f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"BEWARE {first}{more} counted in PTX alone: {_NOT_EXACT}\n  {why}"
