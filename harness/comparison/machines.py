"""Decide whether the times of two runs may be compared, and list what else differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from harness.statistics.net_times import Group
from harness.statistics.spoiled_rounds import CLOCK_TOLERANCE
from harness.tables import Run

_ELSEWHERE = ("bus", "room")
"""Properties of a device that depend on its slot, and on how full its memory was."""

_ALSO = ("python", "numpy", "pandas")
"""Versions that do not affect any kernel's time."""


@dataclass(frozen=True)
class Difference:
    """One difference between the two runs, described in words."""

    what: str
    base: str
    new: str


@dataclass(frozen=True)
class Setting:
    """The environment of the two runs.

    `machine`: differences that make them different machines. `method`: differences that change the
    meaning of times. `context`: other differences, which may be the subject of the comparison.
    """

    machine: tuple[Difference, ...] = ()
    method: tuple[Difference, ...] = ()
    context: tuple[Difference, ...] = ()


def setting(base: Run, new: Run) -> Setting:
    """The differences between two runs' settings. A different host processor matters only if it
    runs a GPU driver."""
    one, other = base.info, new.info
    machine = _device(one, other)
    context: list[Difference] = []
    if base.is_timed and new.is_timed:
        was, now = ((info.get("card") or {}).get("uuid") for info in (one, other))
        machine += _compared("UUID", was, now) if was and now else []
        machine += _compared("driver", one.get("driver"), other.get("driver"))
        processors = ((info.get("machine") or {}).get("cpu") for info in (one, other))
        context += _compared("processor", *processors)
    versions = (info.get("versions") or {} for info in (one, other))
    context += _versions(*versions)
    method = _compared("backend", one.get("backend"), other.get("backend"))
    if not method and base.is_timed != new.is_timed:
        said = ("timed" if run.is_timed else "not timed" for run in (base, new))
        method += _compared("what was done", *said)
    flushes = (info["timing"].get("flush") for info in (one, other))
    if base.is_timed and new.is_timed:
        method += _compared("how the cache is emptied", *flushes)
    return Setting(tuple(machine), tuple(method), tuple(context))


def clocks(base: Run, new: Run, group: Group) -> Difference | None:
    """The multiprocessors' usual clocks in both runs at one size, if they differ by more than the
    rounds of one run may."""
    usual = [_usual_clock(run, group) for run in (base, new)]
    one, other = usual
    if not one or not other or abs(one - other) <= CLOCK_TOLERANCE * max(one, other):
        return None
    return Difference("multiprocessor clock", *(f"{hz / 1e6:,.0f} MHz" for hz in (one, other)))


def _usual_clock(run: Run, group: Group) -> float | None:
    found = [
        r.sm_clock_hz
        for p in run.groups().get(group, [])
        for cache in ("cold", "warm")
        for r in run.timings.rounds(p.case, cache)
        if r.sm_clock_hz
    ]
    return median(found) if found else None


def _device(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Difference]:
    """Report the device's name if it differs, otherwise its other properties."""
    was, now = (info.get("device") or {} for info in (one, other))
    if was.get("name") != now.get("name"):
        return _compared("device", was.get("name"), now.get("name"))
    # A run that predates the recording of a property is not reported to differ in it.
    keys = [key for key in was if key in now and key not in _ELSEWHERE]
    return [d for key in keys for d in _compared(key, was[key], now[key])]


def _versions(was: Mapping[str, str], now: Mapping[str, str]) -> list[Difference]:
    keys = [key for key in dict.fromkeys((*was, *now)) if key not in _ALSO]
    return [d for key in keys for d in _compared(key, was.get(key), now.get(key))]


def _compared(what: str, one: Any, other: Any) -> list[Difference]:
    if one == other:
        return []
    return [Difference(what, *(str(x) if x not in (None, "") else "unknown" for x in (one, other)))]
