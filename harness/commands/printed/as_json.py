"""The types of the results' JSON, which results.py fills in and a JSON Schema describes.

Names are only ever added, so readers may rely on existing ones.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from harness.report.comparison.as_json import Figure
from harness.statistics.intervals import Verdict


class Budget(TypedDict):
    case: str
    budget: str
    expected: str
    status: str
    value: float | None
    provenance: str | None
    where: str | None
    reason: str | None


class SpeedUp(Figure):
    """A speed-up factor; `same` if its whole interval lies within 1 % of 1."""

    verdict: Verdict


class Timed(TypedDict):
    """rate: in the unit of its Ladder."""

    variant: str
    case: str
    library: bool
    launch: dict[str, int]
    time_ns: Figure
    rate: float
    percent_of_ceiling: float | None
    over_baseline: SpeedUp | None
    over_library: SpeedUp | None


class NotRanked(TypedDict):
    variant: str
    failed: bool
    reason: str


class Ladder(TypedDict):
    """One problem, type and size, the fastest first."""

    problem: str
    dtype: str
    sizes: dict[str, int]
    unit: str
    ceiling: float | None
    roof: str | None
    no_roof: str | None
    noise: float | None
    baseline: str | None
    fastest: list[str]
    library: str | None
    variants: list[Timed]
    not_ranked: list[NotRanked]


class Reading(TypedDict):
    value: float
    provenance: str


class Loss(TypedDict):
    quantity: str
    text: str
    value: float
    ideal: float | None
    place: str | None


class Changed(TypedDict):
    quantity: str
    before: float
    after: float


class CountedVariant(TypedDict):
    variant: str
    case: str
    launch: dict[str, int]
    quantities: dict[str, Reading]
    losses: list[Loss]
    builds_on: str | None
    changed: list[Changed]


class Counted(TypedDict):
    """The counters of one problem, type and size of a run without times."""

    problem: str
    dtype: str
    sizes: dict[str, int]
    variants: list[CountedVariant]


class Checked(TypedDict):
    problem: str
    dtype: str
    variant: str
    status: str
    reason: str | None
    launches: int
    error_over_bound: float | None


class Results(TypedDict):
    """A run's results at every size, in base units; absent values are null."""

    run: str | None
    backend: str | None
    device: str | None
    commit: dict[str, Any] | None
    confidence: float
    budgets: list[Budget]
    ladders: list[Ladder]
    counted: list[Counted]
    verified: list[Checked]
