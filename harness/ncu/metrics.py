"""metrics.yaml, validated: the metrics that may be requested, and those that a GPU offers.

A GPU need not have every counter. ncu is asked for its list before anything runs. A missing metric
is replaced by the first available alternative, or left out with a reason; the others are still
collected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import ConfigError, UsageError
from harness.files import strict_yaml
from harness.ncu.derived import FORMULAS

PATH = Path(__file__).with_name("metrics.yaml")
ALWAYS = ("gpu__time_duration",)
"""The metrics that are collected with every set, so that ncu's duration is recorded as well as the
times between events."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Alternative(_Strict):
    """Another name for the same quantity, and the GPUs that use it."""

    ncu: str
    on: str


class Metric(_Strict):
    """One Nsight Compute counter."""

    title: str
    ncu: str
    unit: str
    meaning: str
    adds_up: bool = False
    listed: bool = True
    alternatives: tuple[Alternative, ...] = ()

    @property
    def name(self) -> str:
        """The name under which the metric's values are recorded, whatever the GPU's name for it
        is."""
        return self.ncu

    @property
    def names(self) -> tuple[str, ...]:
        """ncu's possible names for the metric, in order of preference."""
        return self.ncu, *(alternative.ncu for alternative in self.alternatives)


class Derived(_Strict):
    """A figure derived from others; its formula is derived.FORMULAS[key]."""

    title: str
    unit: str
    needs: tuple[str, ...] = Field(alias="from")
    meaning: str


class MetricSet(_Strict):
    """The metrics requested under one name on the command line."""

    title: str
    metrics: tuple[str, ...]


class Catalogue(_Strict):
    """The content of metrics.yaml."""

    sets: dict[str, MetricSet]
    metrics: dict[str, Metric]
    derived: dict[str, Derived]

    def by_name(self) -> dict[str, Metric | Derived]:
        """Recorded name → metric, for a page's column explanations."""
        return {**{m.name: m for m in self.metrics.values()}, **self.derived}


@dataclass(frozen=True)
class Selection:
    """The metrics that one run requests on one GPU.

    `ask`: key → this GPU's name for it. `absent`: key → why it is not requested.
    """

    catalogue: Catalogue
    ask: Mapping[str, str]
    derived: tuple[str, ...]
    absent: Mapping[str, str]

    def names(self) -> list[str]:
        """Every name that needs a value or a reason."""
        keys = [*self.ask, *self.absent]
        return [self.catalogue.metrics[key].name for key in keys] + list(self.derived)

    def without(self, refused: Collection[str], reason: str) -> Selection:
        """The selection after ncu rejected some names."""
        gone = {key: reason for key, name in self.ask.items() if base(name) in refused}
        kept = {key: name for key, name in self.ask.items() if key not in gone}
        return Selection(self.catalogue, kept, self.derived, {**self.absent, **gone})


def base(name: str) -> str:
    """A metric's name without its roll-up, as `ncu --query-metrics` lists it."""
    return name.partition(".")[0]


@cache
def catalogue(path: Path = PATH) -> Catalogue:
    """Read metrics.yaml. Raises ConfigError with the file, the line and the key."""
    document = strict_yaml.read(path)
    try:
        found = Catalogue.model_validate(document.data)
    except ValidationError as error:
        first = error.errors()[0]
        at = first["loc"]
        raise ConfigError(first["msg"], document.where(at), ".".join(map(str, at))) from None
    known = {*found.metrics, *found.derived}
    uses = [(("sets", name, "metrics"), s.metrics) for name, s in found.sets.items()]
    uses += [(("derived", key, "from"), d.needs) for key, d in found.derived.items()]
    for place, keys in uses:
        for key in keys:
            if key not in known:
                where = document.where(place)
                raise ConfigError(f"`{key}` is not a metric of this file", where, ".".join(place))
    for key in found.derived:
        if key not in FORMULAS:
            where = document.where(("derived", key))
            raise ConfigError(f"`{key}` has no formula in derived.py", where, f"derived.{key}")
    return found


def choose(
    sets: Sequence[str], available: Collection[str] | None, chip: str = "this GPU"
) -> Selection:
    """The metrics of the named sets (all sets if none is named).

    `available`: base names that the GPU has; if None, these are unknown and everything is
    requested. Raises UsageError for a set that does not exist.
    """
    found = catalogue()
    for name in sets:
        if name not in found.sets:
            known = "\n".join(f"  {key:<15} {s.title}" for key, s in found.sets.items())
            raise UsageError(f"--metrics {name}: there is no such set; there are\n{known}")
    wanted = dict.fromkeys(ALWAYS)
    for name in sets or found.sets:
        wanted |= dict.fromkeys(found.sets[name].metrics)
    derived = tuple(key for key in wanted if key in found.derived)
    for key in derived:
        wanted |= dict.fromkeys(found.derived[key].needs)
    ask, absent = {}, {}
    for key in wanted:
        if key in found.derived:
            continue
        metric = found.metrics[key]
        name = _first_known(metric.names, available) if metric.listed else metric.ncu
        if name:
            ask[key] = name
        else:
            absent[key] = f"not applicable: {chip} has no counter {base(metric.ncu)}"
    return Selection(found, ask, derived, absent)


def _first_known(names: Iterable[str], available: Collection[str] | None) -> str:
    return next((n for n in names if available is None or base(n) in available), "")
