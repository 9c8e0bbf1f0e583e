"""What a run says on the terminal when it ends."""

from __future__ import annotations

from harness import tables
from harness.progress import console
from harness.records import Outcome


def summarise(run: tables.Run, interrupted: bool) -> None:
    """Failures by reason, then how many cases ended how."""
    ended = [(case, run.outcomes[case]) for case in run.planned]
    for reason, cases in _by_reason(ended).items():
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        console.print(f"FAILED {cases[0]}{more}\n  {reason}", markup=False)
    counts = {s: sum(o.status == s for _, o in ended) for s in ("ok", "failed", "skipped")}
    console.print(", ".join(f"{n} {status}" for status, n in counts.items() if n))
    if interrupted:
        console.print(
            f"interrupted; to go on: the same command with --out {run.folder}", markup=False
        )


def _by_reason(ended: list[tuple[str, Outcome]]) -> dict[str, list[str]]:
    """Why cases failed → those that failed so."""
    found: dict[str, list[str]] = {}
    for case, outcome in ended:
        if outcome.status == "failed":
            found.setdefault(outcome.reason, []).append(case)
    return found
