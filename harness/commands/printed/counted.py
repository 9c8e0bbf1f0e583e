"""The terminal's report on a timed run's counters: their source, and how to obtain missing ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from harness.console.suggestions import command
from harness.journal.counter_records import Counted, Emulated
from harness.ncu.failures import Failure
from harness.tables import Run

_MOST_REASONS = 4


def is_unexplained(run: Run) -> bool:
    """Return whether the run has times but no counters that could explain them."""
    return run.is_timed and not run.of(Counted)


def next_step(folder: Path) -> str:
    """The suggestion to print after a run that has times but no counters."""
    return (
        f"why: {command(f'profile --out {folder}')}\n"
        "  reads the counters with Nsight Compute; where that is missing or may not, the emulator "
        "counts the kernels that were timed"
    )


def instead(run: Run, unread: Failure, chosen: Collection[str]) -> Iterator[str]:
    """Say why Nsight Compute read nothing, and what the emulator counted instead."""
    told = [e for case, e in run.emulated.items() if case in chosen]
    if not any(e.counted for e in told):
        if run.is_timed and not told and run.of(Counted):
            yield "  what was read before stays; the emulator counts nothing beside it"
    else:
        own = sum(e.counted == e.case for e in told)
        smaller = sum(e.counted not in ("", e.case) for e in told)
        yield f"COUNTERS emulated, as Nsight Compute does not read them: {unread.text}"
        yield (
            "  so the emulator counted the kernels that were timed: "
            f"{own} cases at their own size, {smaller} at a smaller one. What the memory moved, "
            "cache hits and what warps wait for is not known so"
        )
    lacking = _by_reason(e for e in told if not e.counted)
    for reason, cases in list(lacking.items())[:_MOST_REASONS]:
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        yield f"  not counted: {cases[0]}{more}: {reason}"
    if len(lacking) > _MOST_REASONS:
        yield "  others were not counted for other reasons; the journal has them all"


def _by_reason(told: Iterator[Emulated]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in told:
        found.setdefault(each.reason, []).append(each.case)
    return found
