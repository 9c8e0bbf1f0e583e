"""Parse the reason for a refusal into its kind, cause, place and counterexample.

The reasons are sentences that the harness itself produces: in the output check (worker/verify.py),
in the search for shortcuts (worker/cheat_check.py), in the emulator's fault reports
(results/faults.py) and where workers are ended (processes/workers.py). An unknown sentence never
counts as a pass: the verdict is `cannot-tell`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from harness.backends.base import BUSY, KEPT, LATE, OTHER_RESULT
from harness.judge.verdicts import Element

Refusal = Literal["wrong", "fault", "cheat", "cannot-tell"]

FAULTS = (
    "out of bounds", "misaligned", "read-only", "uninitialised", "race", "divergent barrier",
    "warp mask", "deadlock", "budget", "trap", "assert", "stack overflow", "divergence",
    "mbarrier", "tensor map", "cluster", "wgmma",
)  # fmt: skip
"""The kinds of faults, as results/faults.py lists them."""

ENDLESS = "endless"

_PLACE = re.compile(
    r"(?:in its machine code: )?(?P<file><no line info>|[^\s:][^:\n]*):(?P<line>\d+): "
    rf"(?P<kind>{'|'.join(FAULTS)}): (?P<message>[^\n]*)"
)
_VALUE = re.compile(
    r"`(?P<array>\w+)\[(?P<index>\d+)\]` (?P<how>is wrong|was never written|is NaN|is infinite)"
    r"(?:: worst \[(?P<worst>\d+)\] = (?P<found>\S+), expected (?P<expected>\S+) ± (?P<bound>\S+))?"
    r"(?: \((?P<wrong>\d+) of (?P<elements>\d+) elements\))?"
)
_SHORTCUTS = (
    ("reads only", "reads only a part"),
    ("writes only", "writes only a part"),
    ("keeps state in __device__ memory", "keeps state between launches"),
    ("goes by what it finds", "reuses an earlier result"),
    (KEPT, "keeps answers"),
    (LATE, "works on after its end"),
    (BUSY, "works on another stream"),
    ("something else than the harness wrote", "forged its own records"),
    ("it replaced ", "replaced what times it"),
    ("were all in one state", "forged its own records"),
    ("with a few numbers of its inputs changed", "depends on the inputs that it was tested with"),
)
"""Words in a reason → a short name for the shortcut."""
_PROMISES = (
    ("was changed at element", "changes an input"),
    ("must be zero after the launch", "leaves a buffer that must be zero"),
)
_ENDS = (
    ("not done within", "hang"),
    ("the process was ended by", "crash"),
    ("the process ended with exit code", "crash"),
    ("its worker wrote no record", "forged its own records"),
)
ENDS = ("hang", "crash")
"""Causes that end a process; code other than the kernel runs in that process too."""
_LAUNCHES = (
    "but args: lists", "cannot be passed", "is a buffer, but the kernel takes",
    "is no integer, and the kernel takes one", "does not fit a",
)  # fmt: skip


@dataclass(frozen=True)
class Reason:
    """A reason, split into its parts."""

    refusal: Refusal
    cause: str
    file: str = ""
    line: int | None = None
    element: Element = field(default_factory=Element)


def of_launch(reason: str) -> Reason:
    """Explain why a test or a timed launch was refused, or why a worker ended early."""
    if match := _PLACE.search(reason):
        kind = match["kind"]
        cause = ENDLESS if kind == "budget" else kind
        file = "" if match["file"].startswith("<") else match["file"]
        return Reason("fault", cause, file, int(match["line"]) or None)
    value = _VALUE.search(reason)
    for words, cause in _SHORTCUTS:
        if words in reason and not (value and reason.startswith("`")):
            return Reason("cheat", cause)
    for words, cause in _PROMISES:
        if words in reason:
            return Reason("fault", cause)
    if value:
        return _of_value(value)
    for words, cause in _ENDS:
        if words in reason:
            return Reason("fault", cause)
    if OTHER_RESULT in reason or "right at first, then not" in reason or "wrong in" in reason:
        return Reason("wrong", "differs from launch to launch")
    if any(words in reason for words in _LAUNCHES):
        return Reason("fault", "launch")
    if "problem.py" in reason:
        return Reason("cannot-tell", "the problem")
    return Reason("cannot-tell", "not executed")


def _of_value(match: re.Match[str]) -> Reason:
    how = match["how"].removeprefix("is ").removeprefix("was ")
    index = match["worst"] or match["index"]
    element = Element(
        match["array"], int(index), _number(match["found"]), _number(match["expected"]),
        _number(match["bound"]), _whole(match["wrong"]), _whole(match["elements"]),
    )  # fmt: skip
    return Reason("wrong", {"wrong": "wrong values"}.get(how, how), element=element)


_DIAGNOSTIC = re.compile(
    r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?:catastrophic )?error", re.M
)


def of_compiler(message: str) -> Reason:
    """The place of nvcc's first error, if it names one."""
    match = _DIAGNOSTIC.search(message)
    if match:
        return Reason("fault", "compile error", match["file"], int(match["line"]))
    return Reason("fault", "compile error")


_STOPPED = "nvcc was stopped at"
_BLAME = "\n  the source is not to blame"
_OF_MACHINE = re.compile(
    "No space left on device|Disk quota exceeded|Input/output error|"
    "Failed to preprocess host compiler properties"
)
CRASHED = "the compiler crashed; it is not known whether this source or the machine is to blame"
CRASHED_AGAIN = (
    "the compiler crashed on this source, and again in the same way when tried once more"
)
_PASSING = re.compile(r"\S*tmp\S*|0x[0-9a-fA-F]+")
"""Names and addresses that differ from one process to the next."""


def crash_in(message: str) -> str:
    """How the compiler says that it crashed or was killed; empty if it does not say so.

    The compiler blames the machine, but a source may use up its memory, or run into a bug in it.
    """
    said, blames, _ = message.partition(_BLAME)
    is_crash = message.startswith(_STOPPED) and blames and not _OF_MACHINE.search(said)
    return said if is_crash else ""


def is_same_crash(first: str, second: str) -> bool:
    """Return whether two messages describe the same crash."""
    return _PASSING.sub("", first) == _PASSING.sub("", second)


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _whole(text: str | None) -> int | None:
    return None if text is None else int(text)
