"""Verification results per variant: what was checked, and how close errors came to their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.journal.records import Outcome, Verified
from harness.tables import Run


@dataclass(frozen=True)
class Check:
    """The verification status of one variant with one element type.

    skipped: every case was skipped, for a reason that the run gives.
    not verified: the variant should have run but did not, or nothing was compared.
    """

    variant: str
    status: Literal["verified", "failed", "skipped", "not verified"]
    passed: Sequence[Verified]
    reason: str
    """The reason for the first failure, or for skipping the variant."""

    @property
    def worst(self) -> float | None:
        """The largest ratio of error to bound among the launches that passed."""
        return max((v.error for v in self.passed if v.error is not None), default=None)


def checks(run: Run, problem: str, dtype: str) -> list[Check]:
    """Every variant of a problem and type in the matrix's order, excluding libraries."""
    told = {outcome.case for outcome in run.of(Outcome)}
    verified = [v for v in run.of(Verified) if (v.problem, v.dtype) == (problem, dtype)]
    cases = [p for p in run.planned.values()
             if (p.problem, p.dtype) == (problem, dtype) and not p.is_library]  # fmt: skip
    found = []
    for variant in dict.fromkeys(p.variant for p in cases):
        own = [p.case for p in cases if p.variant == variant]
        outcomes = [run.outcomes[case] for case in own]
        seen = [v for v in verified if v.variant == variant]
        passed = [v for v in seen if v.ok]
        failures = [o.reason for o in outcomes if o.status == "failed"]
        failures += [v.reason for v in seen if not v.ok]
        if failures:
            found.append(Check(variant, "failed", passed, failures[0]))
        elif passed:
            found.append(Check(variant, "verified", passed, ""))
        elif told.issuperset(own) and all(o.status == "skipped" for o in outcomes):
            found.append(Check(variant, "skipped", [], outcomes[0].reason))
        else:
            found.append(Check(variant, "not verified", [], ""))
    return found
