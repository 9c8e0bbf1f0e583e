"""Read a .ncu-rep file into values by case and step, through the ncu_report package.

A launch belongs to the case and step of its NVTX range; a launch outside the harness's ranges is
ignored. A metric for which the report has no number gets a reason instead: never 0, and never NaN.

Several launches in one range (a library call that launches several kernels) are one step. Amounts,
such as bytes, are summed. Anything else, such as a hit rate, has no value for the step, because the
mean of several launches' rates would describe none of the launches. Ratios derived from amounts
have a value.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from harness.backends.base import NVTX_DOMAIN
from harness.console.suggestions import command, install
from harness.journal.counter_records import Counted, Uncounted
from harness.journal.numbers import is_physical
from harness.ncu import ranges
from harness.ncu.container import Container, inspect
from harness.ncu.derived import FORMULAS
from harness.ncu.failures import Failure
from harness.ncu.metrics import Catalogue, Metric, catalogue
from harness.processes import children

_READING_S = 300.0
"""Deadline in seconds for a report; a report on two hundred launches takes about ten seconds."""

Step = tuple[str, int]
"""A case's id and the index of one of its steps."""

_UNITS: Mapping[str, Mapping[str, float]] = {
    "byte": {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12},
    "ns": {
        "ns": 1, "nsecond": 1, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6,
        "s": 1e9, "second": 1e9,
    },
    "ratio": {"%": 1e-2, "ratio": 1},
}  # fmt: skip
"""Base unit → ncu's multiples of it, decimal as in its CLI guide, "Metrics and Units"."""


@dataclass(frozen=True)
class Counts:
    """One step's figures: a value or a reason for every requested key."""

    kernel: str
    values: Mapping[str, float]
    reasons: Mapping[str, str]


@dataclass(frozen=True)
class Report:
    """The figures in a file. `foreign`: the number of launches made outside the harness's
    ranges."""

    path: Path
    version: str
    steps: Mapping[Step, Counts]
    foreign: int = 0


def read(path: Path, module: Any = None) -> Report | Failure:
    """The report's figures, or why it has none. `module` stands in for ncu_report in tests."""
    container = inspect(path)
    if isinstance(container, Failure):
        return container
    if module is None:
        try:
            module = importlib.import_module("ncu_report")
        except ImportError as error:
            return Failure(
                "broken",
                f"the Python package ncu-report cannot be used: {error}\n"
                f"  install it: {install('ncu-report')}",
            )
    try:
        # Keep the report to the end: launches and metrics are in its memory, and older versions of
        # the package do not keep it alive.
        opened = module.load_report(str(path))
        launches = list(_launches(opened))
    except Exception as error:  # NVIDIA's C++ library does not document its exceptions
        return _other_version(path, container, str(error))
    if container.launches and not launches:
        return _other_version(path, container, "it shows none of the launches")
    found: dict[Step, list[Any]] = defaultdict(list)
    foreign = 0
    for launch in launches:
        step = _step(launch)
        if step is None:
            foreign += 1
        else:
            found[step].append(launch)
    if launches and not found:
        return Failure(
            "foreign",
            f"{path}: none of its {len(launches)} launches was made inside an NVTX range of the "
            f"domain {NVTX_DOMAIN}\n  collect it with: {command('profile', 'profile')}",
        )
    steps = {step: _counts(same, catalogue()) for step, same in found.items()}
    return Report(path, container.version, steps, foreign)


def read_apart(path: Path) -> Report | Failure:
    """Read a report in a separate process.

    NVIDIA's C++ library, which reads the report, is designed to have a process to itself. If it
    crashes, only this file's figures are lost, not the run.
    """
    try:
        said = children.output([sys.executable, "-m", "harness.ncu.reader", str(path)], _READING_S)
    except children.LateError:
        return Failure("unreadable", f"{path}: reading it took longer than {_READING_S:.0f} s")
    if said.code:
        ended = f"signal {-said.code}" if said.code < 0 else f"exit code {said.code}"
        last = said.err.strip().splitlines()[-1:]
        told = f"{path}: what reads it, the Python package ncu-report, ended with {ended}"
        again = f"the file is kept, and read again by: {command('report --ncu FILE')}"
        return Failure("unreadable", "\n  ".join([told, *last, again]))
    return _ANSWER.validate_json(said.out).told(path)


@dataclass(frozen=True)
class _Answer:
    """The output of a reading process: a report without its path, or the reason why there is no
    report."""

    failure: Failure | None = None
    version: str = ""
    steps: Sequence[tuple[str, int, Counts]] = ()
    foreign: int = 0

    def told(self, path: Path) -> Report | Failure:
        steps = {(case, step): counts for case, step, counts in self.steps}
        return self.failure or Report(path, self.version, steps, self.foreign)


_ANSWER = TypeAdapter(_Answer)


def _main(path: Path) -> None:
    found = read(path)
    if isinstance(found, Failure):
        answer = _Answer(found)
    else:
        steps = [(*step, counts) for step, counts in found.steps.items()]
        answer = _Answer(None, found.version, steps, found.foreign)
    sys.stdout.write(_ANSWER.dump_json(answer).decode())
    sys.stdout.flush()
    os._exit(0)  # skip the library's cleanup at the end of a process


def _other_version(path: Path, container: Container, what: str) -> Failure:
    wrote = f"Nsight Compute {container.version}" if container.version else "another Nsight Compute"
    return Failure(
        "other version",
        f"{path} was written by {wrote}, and the installed ncu-report cannot read it: {what}\n"
        "  install an ncu-report at least as new (python -m pip install --upgrade ncu-report); the "
        f"file is kept, and read then by: {command('report --ncu FILE')}",
    )


def _launches(context: Any) -> Iterator[Any]:
    for i in range(context.num_ranges()):
        group = context.range_by_idx(i)
        for k in range(group.num_actions()):
            yield group.action_by_idx(k)


def _step(launch: Any) -> Step | None:
    """The innermost of the harness's ranges around the launch."""
    state = launch.nvtx_state()
    if state is None:
        return None
    for number in state.domains():
        domain = state.domain_by_id(number)
        if domain is None or domain.name() != NVTX_DOMAIN:
            continue
        # The names on the call stack, outermost first: push_pop_ranges() would sort them.
        stack, i = [], 0
        while (entry := domain.push_pop_range(i)) is not None:
            stack.append(entry.name() or entry.message() or "")
            i += 1
        for text in reversed(stack):
            if step := ranges.parse(text):
                return step
    return None


def _counts(launches: Sequence[Any], known: Catalogue) -> Counts:
    """The figures of one step."""
    values: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for key, metric in known.metrics.items():
        answers = [_value(launch, metric) for launch in launches]
        numbers = [answer for answer in answers if not isinstance(answer, str)]
        if len(numbers) < len(answers):
            reasons[key] = next(answer for answer in answers if isinstance(answer, str))
        elif len(numbers) == 1 or metric.adds_up:
            values[key] = sum(numbers)
        else:
            reasons[key] = (
                f"not applicable: the step made {len(numbers)} launches, "
                "and this figure of several launches is none of one"
            )
    for key, derived in known.derived.items():
        missing = [need for need in derived.needs if need not in values]
        if missing:
            reasons[key] = reasons[missing[0]]
            continue
        answer = FORMULAS[key](values)
        if answer is None:
            reasons[key] = "not applicable: nothing to divide by in this launch"
        else:
            values[key] = answer
    names = dict.fromkeys(launch.name() for launch in launches)
    return Counts(" + ".join(names), values, reasons)


def _value(launch: Any, metric: Metric) -> float | str:
    """One metric of one launch in its base unit, or why there is none."""
    for name in metric.names:
        found = launch.metric_by_name(name)
        if found is None:
            continue
        if not _is_number(found):
            return f"not collected: ncu gives no number for {name}"
        value = found.as_double()
        scale = _scale(metric, name, found.unit())
        if scale is None:
            return f"not collected: ncu gives {name} in {found.unit()}, not in {metric.unit}"
        if not is_physical(value * scale):
            return f"not collected: ncu gives {value} for {name}"
        return value * scale
    return f"not collected: {metric.ncu} is not in the report"


def _is_number(found: Any) -> bool:
    """Return whether the metric has a value. Without one, as_double() returns 0."""
    numeric = {
        found.ValueKind_FLOAT, found.ValueKind_DOUBLE,
        found.ValueKind_UINT32, found.ValueKind_UINT64,
    }  # fmt: skip
    return found.kind() in numeric


def _scale(metric: Metric, name: str, unit: str) -> float | None:
    """The factor from ncu's unit to the metric's own; None if the unit is incompatible.

    A report holds values in base units, and names the units if ncu_report supports the GPU. If it
    does not, the metric's name still says whether it is a percentage.
    """
    if metric.unit not in _UNITS:
        return 1.0  # a count; ncu's name for its unit differs between releases
    if unit:
        return _UNITS[metric.unit].get(unit)
    return 1e-2 if metric.unit == "ratio" and "pct" in name else 1.0


def records(step: Step, counts: Counts, names: Sequence[str] | None = None,
            kernel: str = "") -> Iterator[Counted | Uncounted]:  # fmt: skip
    """A step's figures for the journal.

    `names`: the requested figures, each of which gets a record; if omitted, as for a file collected
    elsewhere, every figure with a value gets one. `kernel`: the step's own name for its kernel.
    """
    by_name = catalogue().by_name()
    keys = {metric.name: key for key, metric in catalogue().metrics.items()}
    wanted = [n for n in by_name if keys.get(n, n) in counts.values] if names is None else names
    case, index = step
    for name in wanted:
        key = keys.get(name, name)
        if key in counts.values:
            yield Counted(
                case, index, kernel or counts.kernel, name, counts.values[key],
                by_name[name].unit, "ncu",
            )  # fmt: skip
        else:
            yield Uncounted(case, index, name, counts.reasons[key])


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
