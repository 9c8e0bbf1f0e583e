"""The types of a comparison's JSON, which files.py fills and its JSON Schema describes.

Names are only ever added, so readers may rely on existing ones.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from harness.comparison.changes import Kind
from harness.comparison.identity import Code
from harness.comparison.times import Verdict


class Figure(TypedDict):
    """A value with its two-sided interval."""

    value: float
    low: float
    high: float


class Side(TypedDict):
    id: str | None
    folder: str
    started: str | None
    commit: dict[str, Any] | None
    backend: str | None
    device: str | None
    driver: str | None


class Differs(TypedDict):
    what: str
    base: str
    new: str


class Differences(TypedDict):
    machine: list[Differs]
    method: list[Differs]
    context: list[Differs]


class At(TypedDict):
    problem: str
    dtype: str
    sizes: str
    cache: str


class Floor(At):
    floor: float


class RunLevel(At):
    """The effect of the new run as a whole."""

    moved: float
    witnesses: int
    luck: float | None


class BothSides(TypedDict):
    base: str | None
    new: str | None


class MadeFrom(BothSides):
    name: str


class Time(TypedDict):
    """ratio: the new time over the base time. hides: the largest slowdown that cannot be
    excluded."""

    cache: str
    verdict: Verdict
    reason: str | None
    base_ns: Figure
    new_ns: Figure
    ratio: Figure | None
    hides: float | None
    base_gbps: float | None
    new_gbps: float | None


class Compiled(TypedDict):
    what: str
    kernel: str
    base: float
    new: float
    worse: bool
    decides: bool
    file: str | None
    line: int | None


class Counter(TypedDict):
    counter: str
    words: str
    unit: str
    base: float | None
    new: float | None
    provenance: str
    worse: bool
    decides: bool
    file: str | None
    line: int | None
    line_base: float | None
    line_new: float | None


class Case(TypedDict):
    case: str
    problem: str
    variant: str
    dtype: str
    sizes: dict[str, int]
    launch: dict[str, int]
    verdict: Kind
    fault: BothSides
    machine_code: Code
    source_changed: bool | None
    made_from: list[MadeFrom]
    times: list[Time]
    compiled: list[Compiled]
    counters: list[Counter]
    remarks: list[str]
    cannot_tell: str | None


class Comparison(TypedDict):
    """Two runs, case by case, most important first; in base units, absent values are null."""

    form: int
    gate: str
    exit_code: int
    cannot_tell: list[str]
    base: Side
    new: Side
    interleaved: bool
    relative_to_baselines: bool
    differences: Differences
    family: int
    confidence: float | None
    floors: list[Floor]
    min_effect: float
    run_levels: list[RunLevel]
    counts: dict[str, int]
    cases: list[Case]
