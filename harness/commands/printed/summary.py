"""The summary printed at the end of a run."""

from __future__ import annotations

import re
from pathlib import Path

from harness import tables
from harness.commands.printed import pull_request
from harness.console.progress import console
from harness.console.suggestions import command
from harness.journal.records import Outcome

_MOST_REASONS = 4
_EMULATED_FAULT = re.compile(r"\(block \(\d+, \d+, \d+\), thread \(\d+, \d+, \d+\)\)")


def summarise(run: tables.Run, interrupted: bool, kernels: Path) -> None:
    """Print failures by reason, the number of cases per outcome, and why some were skipped.

    `kernels`: the folder of problems. For a run with both sides of a comparison, failures of the
    base are left out, and the comparison shows the other failures at their lines.
    """
    ended = [(case, run.outcomes[case]) for case in run.planned]
    for reason, cases in _by_reason(ended, "failed").items():
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        console.print(f"FAILED {cases[0]}{more}\n  {reason}", markup=False)
        if _EMULATED_FAULT.search(reason):
            shown = command(f"annotate {cases[0]} --smallest")
            console.print(f"  {shown} shows it with the fewest threads", markup=False)
        if not run.info.get("beside"):
            pull_request.error(f"FAILED {cases[0]}{more}", reason, kernels)
    for (problem, variant), remarks in run.remarks.items():
        for remark in remarks:
            if remark.text.startswith("prints "):
                console.print(f"{problem}/{variant} {remark.text}", markup=False)
    counts = {s: sum(o.status == s for _, o in ended) for s in ("ok", "failed", "skipped")}
    console.print(", ".join(f"{n} {status}" for status, n in counts.items() if n))
    skipped = _by_reason(ended, "skipped")
    for reason, cases in list(skipped.items())[:_MOST_REASONS]:
        console.print(f"  {len(cases)} skipped: {reason}", markup=False)
    if len(skipped) > _MOST_REASONS:
        rest = sum(len(cases) for cases in list(skipped.values())[_MOST_REASONS:])
        console.print(f"  {rest} skipped for other reasons; the report has them all")
    if interrupted:
        console.print(
            f"interrupted; to go on: the same command with --out {run.folder}", markup=False
        )


def _by_reason(ended: list[tuple[str, Outcome]], status: str) -> dict[str, list[str]]:
    """Map each reason to the cases that ended with it."""
    found: dict[str, list[str]] = {}
    for case, outcome in ended:
        if outcome.status == status:
            found.setdefault(outcome.reason, []).append(case)
    return found
