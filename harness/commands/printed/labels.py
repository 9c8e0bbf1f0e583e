"""Print how exact a run's counters are: at the start and, for PTX-only counts, at the end."""

from __future__ import annotations

from collections.abc import Iterator

from harness.console.progress import console
from harness.journal.records import IN_PTX_ALONE, Remark
from harness.tables import Run

_NOT_EXACT = "no counter is exact, no budget on one is checked, and a gate cannot tell"


def say_before(backend: str, arch: str) -> None:
    """Print which labels the counters will have, and why."""
    if backend == "emulator":
        console.print(of_architecture(arch), markup=False)


def of_architecture(arch: str) -> str:
    """The labels of an architecture's counters and the reason, or why no counter will be exact."""
    from harness.emulator import EmulatorError
    from harness.emulator.sass.architectures import ARCHITECTURES
    from harness.emulator.sass.cubin import disassembler

    if arch not in ARCHITECTURES:
        why = f"machine code of {arch} is not executed here; it is of {', '.join(ARCHITECTURES)}"
        return f"BEWARE this run counts in PTX alone: {_NOT_EXACT}\n  {why}"
    try:
        disassembler.find()
    except EmulatorError as error:
        return f"BEWARE this run counts in PTX alone: {_NOT_EXACT}\n  {error}"
    if ARCHITECTURES[arch].was_read:
        return f"COUNTERS machine-exact: {arch}'s machine code, by rules that an H200 confirmed"
    return (
        "COUNTERS code-exact (instructions, threads, load sectors) and hopper-rules (wavefronts, "
        f"branches, sectors of stores and atomics): no GPU of {arch} was read"
    )


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
