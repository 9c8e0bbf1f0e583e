"""Reasons why Nsight Compute may give no value for a counter, each with its own message.

A failure is a value rather than an exception: it is shown in a table's cells, and affects only the
cases concerned.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "absent", "broken", "forbidden", "driver", "crashed", "late", "no report", "truncated",
    "unreadable", "other version", "foreign", "no kernel",
]  # fmt: skip

_HOPELESS = frozenset[Kind]({"absent", "broken", "forbidden", "driver"})
_SHOWN = 600
"""Characters of ncu's own message that are worth repeating."""

FORBIDDEN = (
    "the driver lets only administrators read the GPU's counters (ERR_NVGPUCTRPERM)\n"
    "  the administrator writes `options nvidia NVreg_RestrictProfilingToAdminUsers=0` into a "
    "file in /etc/modprobe.d, rebuilds the initramfs and reboots; in a container, adds the "
    "capability SYS_ADMIN; https://developer.nvidia.com/ERR_NVGPUCTRPERM"
)


@dataclass(frozen=True)
class Failure:
    """The reason why counters are missing. `text` says what happened and what to do about it."""

    kind: Kind
    text: str

    @property
    def reason(self) -> str:
        """The text for a cell: not permitted, not applicable or not collected, and why."""
        status = {"forbidden": "not permitted", "no kernel": "not applicable"}.get(self.kind)
        return f"{status or 'not collected'}: {self.text}"

    @property
    def is_absent(self) -> bool:
        """Return whether ncu is missing, or the named program is not ncu."""
        return self.kind in ("absent", "broken")

    @property
    def hopeless(self) -> bool:
        """Return whether no other case can succeed either, so that no more cases are tried."""
        return self.kind in _HOPELESS


NO_KERNEL = Failure(
    "no kernel",
    "the function launched no kernel; the driver's own copies and fills have no counters",
)
"""The reason for a step with nothing to count, which is not a failure of the run."""


@dataclass(frozen=True)
class Ending:
    """The end of one ncu process. code is None if it was killed at its deadline."""

    code: int | None
    said: str
    """The output of ncu and of the worker."""
    at: str = ""
    """The case that was running, according to the worker's last line."""
    error: str = ""
    """The error that the worker itself reported."""
    deadline_s: float = 0.0


def refused_metrics(said: str) -> set[str]:
    """Base names of the metrics that ncu reports as unknown."""
    return set(re.findall(r"Failed to find metric (?:regex:\^?)?(\w+)", said))


def explain(ending: Ending) -> Failure | None:
    """Say what went wrong in an ncu process; None if it ended successfully."""
    errors = _errors(ending.said)
    at = f" while profiling {ending.at}" if ending.at else ""
    if "ERR_NVGPUCTRPERM" in ending.said:
        return Failure("forbidden", FORBIDDEN)
    if "not compatible with Nsight Compute" in ending.said:
        return Failure(
            "driver",
            f"this ncu does not work with the driver: {errors}\n"
            "  install the Nsight Compute of the driver's CUDA release, and name it with --ncu",
        )
    if ending.code is None:
        return Failure(
            "late",
            f"not done within {ending.deadline_s:g} s, and stopped{at}\n"
            "  the same command again goes on with what is missing",
        )
    if ending.code or ending.error:
        # ncu repeats the application's exit code; the worker's own output says more.
        what = ending.error or errors or ending.said[-_SHOWN:].strip() or "it printed nothing"
        how = f"ended by signal {-ending.code}" if ending.code < 0 else f"exit code {ending.code}"
        told = ending.error or "application returned an error code" in ending.said
        who = "the profiled process" if told else "ncu"
        return Failure("crashed", f"{who} failed{at} ({how}): {what}")
    return None


def ended_in(reason: str, case: str) -> bool:
    """Return whether ncu stopped while it profiled this case, judging by the reason."""
    return re.search(rf" while profiling {re.escape(case)}(?=\s|$)", reason) is not None


def no_report(ending: Ending) -> Failure:
    """Describe the failure of an ncu process that ended successfully but wrote nothing."""
    said = _errors(ending.said) or ending.said[-_SHOWN:].strip() or "it printed nothing"
    return Failure("no report", f"ncu wrote no report: {said}")


def _errors(said: str) -> str:
    """The lines that ncu marks as errors or warnings, without the mark."""
    lines = re.findall(r"^==(?:ERROR|WARNING)== (.+)$", said, re.MULTILINE)
    return " ".join(dict.fromkeys(line.strip() for line in lines))[:_SHOWN]
