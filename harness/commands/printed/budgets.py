"""The terminal's report on budgets: each broken one, then the totals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.analysis.budgets import Check, broken
from harness.commands.printed import as_json, pull_request
from harness.console.progress import console
from harness.files import in_repository

_MOST_REASONS = 4


def say(checks: Sequence[Check], kernels: Path = in_repository.PROBLEMS) -> None:
    """Print the report; in a GitHub job, also annotate the line of each broken budget. `kernels`:
    the folder of problems."""
    for line in lines(checks):
        console.print(line, markup=False)
    for title, text in _broken(checks):
        pull_request.error(title, text, kernels)


def lines(checks: Sequence[Check]) -> Iterator[str]:
    """Return the lines to print; none if no budget is declared."""
    if not checks:
        return
    reasons: dict[str, list[Check]] = {}
    for check in checks:
        if check.status == "not checked":
            reasons.setdefault(check.reason, []).append(check)
    yield from (f"{title}\n  {text}" for title, text in _broken(checks))
    counts = {s: sum(c.status == s for c in checks) for s in ("kept", "broken", "not checked")}
    yield "budgets: " + ", ".join(f"{n} {status}" for status, n in counts.items() if n)
    for reason, found in list(reasons.items())[:_MOST_REASONS]:
        names = ", ".join(dict.fromkeys(check.name for check in found))
        yield f"  {len(found)} not checked ({names}): {reason}"
    if len(reasons) > _MOST_REASONS:
        rest = sum(len(found) for found in list(reasons.values())[_MOST_REASONS:])
        yield f"  {rest} not checked for other reasons; budgets.csv has them all"


def _broken(checks: Sequence[Check]) -> Iterator[tuple[str, str]]:
    for cases, text in broken(checks):
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        yield f"BUDGET BROKEN {cases[0]}{more}", text


def as_data(checks: Sequence[Check]) -> list[as_json.Budget]:
    """One entry per budget and case, as written by --json."""
    return [
        {"case": c.case, "budget": c.name, "expected": str(c.budget), "status": c.status,
         "value": c.value, "provenance": c.provenance or None, "where": c.where or None,
         "reason": c.reason or None}
        for c in checks
    ]  # fmt: skip
