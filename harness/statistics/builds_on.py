"""Resolve `builds_on` for a case: find the case of the named variant to compare it with."""

from __future__ import annotations

from collections.abc import Callable

from harness.journal.records import Planned
from harness.statistics.net_times import Group, group_of


def parent(p: Planned, shape: Callable[[Group, str], Planned | None]) -> Planned | None:
    """The case to compare this one with: the variant that it builds on, at the same sizes and
    type.

    `shape`: a function that returns the case at whose launch shape a variant of a group is shown
    (`Timings.shape`). None if the variant builds on no other, or if the other has no valid case.
    """
    return shape(group_of(p), p.builds_on) if p.builds_on else None
