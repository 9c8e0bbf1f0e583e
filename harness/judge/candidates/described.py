"""Turn a candidate into a Submission, from the checked output of the process that traced it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from harness.errors import UsageError
from harness.files import scratch
from harness.judge.candidates.flags import FLAGS
from harness.judge.public import read
from harness.judge.slots import walls as slot_walls
from harness.judge.submissions import Kernel, Launch, Problem, Submission
from harness.processes import children
from harness.sandbox import walls

TRACE_S = 120.0
"""Deadline, in seconds, for a candidate's Python; importing torch alone takes three."""

_AS_TORCH = ("--expt-relaxed-constexpr",)
"""The options that torch's load_inline passes to nvcc, and that some kernels need."""
_MOST_TEXT = 4 << 20
_ENTRY = re.compile(r"[A-Za-z_][\w:<>, *-]*")
_CONFIG = ConfigDict(extra="forbid", frozen=True)
_Extents = Annotated[list[Annotated[int, Field(ge=0, lt=1 << 32)]], Field(min_length=1)]


@dataclass(config=_CONFIG)
class _Step:
    kernel: str
    module: int
    grid: _Extents
    block: _Extents
    shared: int
    args: list[str | int | float]


@dataclass(config=_CONFIG)
class _Told:
    """The output of trace.py. `texts`: extension number → its kernels. `scratch`: name → the
    number and type of its elements."""

    refused: str = ""
    texts: dict[str, str] = Field(default_factory=dict)
    steps: list[_Step] = Field(default_factory=list)
    scratch: dict[str, tuple[int, str]] = Field(default_factory=dict)
    flags: list[str] = Field(default_factory=list)
    overwrites: list[str] = Field(default_factory=list)
    """Inputs that the candidate changes in place and returns."""


_TOLD: TypeAdapter[_Told] = TypeAdapter(_Told)


def submission(
    solution: str | Path, problem: str | Path, sizes: Mapping[str, int] | None = None,
    arch: str | None = None, seconds: float = 60.0, name: str = "candidate", **more: Any,
) -> Submission:  # fmt: skip
    """A candidate's kernels, with the launches that it makes at these sizes.

    `solution`: a Python file with ModelNew, or its text. `problem`: the file with Model, get_inputs
    and get_init_inputs. `more`: fields of the Problem, such as `partly_read`. Raises UsageError,
    with the reason, if its launches cannot be determined.
    """
    stated = replace(read(problem, sizes), **more)
    text = Path(solution).read_text() if _is_path(solution) else str(solution)
    told = _told(text, Path(problem).read_text(), dict(sizes or {}), stated)
    if told.refused:
        raise UsageError(f"{name}: its launches cannot be known: {told.refused}")
    if strange := [each for each in told.scratch if not re.fullmatch(r"scratch\d+", each)]:
        raise UsageError(f"{name}: an array `{strange[0][:40]}` that cannot be")
    shapes: dict[str, tuple[str, ...]] = {}
    shapes |= {each: (str(count),) for each, (count, _) in told.scratch.items()}
    types = {each: kind for each, (_, kind) in told.scratch.items() if kind != "float32"}
    try:
        kernel = _kernel(told, stated, name)
        whole = replace(stated, scratch=shapes, types={**stated.types, **types})
    except ValidationError as error:
        raise UsageError(f"{name}: a launch that cannot be: {error.errors()[0]['msg']}") from None
    return Submission((kernel,), whole, "check", arch, seconds)


def _is_path(solution: str | Path) -> bool:
    return isinstance(solution, Path) or (solution.endswith(".py") and "\n" not in solution)


def _told(candidate: str, problem: str, sizes: dict[str, int], stated: Problem) -> _Told:
    outputs = {each: prod(map(int, shape)) for each, shape in stated.outputs.items()}
    request = {"candidate": candidate, "problem": problem, "sizes": sizes, "outputs": outputs}
    with scratch.folder() as own:
        path = own / "request.json"
        path.write_text(json.dumps(request))
        command = [sys.executable, "-m", "harness.judge.candidates.trace", str(path)]
        try:
            said = children.output([*_walls(own), *command], TRACE_S)
        except children.LateError:
            raise UsageError(f"the candidate's Python was not done within {TRACE_S:g} s") from None
    try:
        return _TOLD.validate_json(said.out.strip().rpartition("\n")[2][:_MOST_TEXT])
    except ValidationError:
        last = (said.err.strip().splitlines() or [f"code {said.code}"])[-1]
        raise UsageError(f"the candidate's process ended without an answer: {last}") from None


def _walls(folder: Path) -> list[str]:
    """A sandbox around the candidate's Python, if available."""
    if _why_none():
        return []
    shown = [slot_walls.PACKAGE, Path(sys.prefix), Path(sys.base_prefix), folder]
    return [str(walls.program()), *walls.around(shown), "--"]


@lru_cache(maxsize=1)
def _why_none() -> str:
    return slot_walls.refusal()


def _kernel(told: _Told, stated: Problem, name: str) -> Kernel:
    """Make a kernel from a trace. Raises UsageError for an invalid trace."""
    arrays = {*stated.inputs, *stated.outputs, *told.scratch}
    launches = []
    for step in told.steps:
        strange = [a for a in step.args if isinstance(a, str) and a not in arrays]
        if strange or not _ENTRY.fullmatch(step.kernel) or len(step.grid) > 3:
            raise UsageError(f"{name}: a launch of `{step.kernel[:40]}` that cannot be")
        own = str(step.module)
        several = len(told.texts) > 1 and own in told.texts
        entry = f"extension{own}::{step.kernel}" if several else step.kernel
        launches.append(
            Launch(entry, tuple(step.grid), tuple(step.block), tuple(step.args), step.shared)
        )
    if wrong := [flag for flag in told.flags if flag not in FLAGS]:
        raise UsageError(f"{name}: nvcc's option {wrong[0]} is not a candidate's to choose")
    return Kernel(
        _source(told), launches=tuple(launches), name=name,
        flags=tuple(dict.fromkeys((*_AS_TORCH, *told.flags))),
        overwrites=tuple(each for each in stated.inputs if each in told.overwrites),
    )  # fmt: skip


def _source(told: _Told) -> str:
    """The kernels of all extensions, each in a namespace if there are several, followed by the
    harness's own kernels."""
    used = {step.kernel for step in told.steps if step.module < 0}
    ours = "".join(_OURS[each] for each in sorted(used) if each in _OURS)
    if len(told.texts) == 1:
        [text] = told.texts.values()
        return f"{text}\n{ours}"
    heads, parts = list[str](), []
    for number, text in told.texts.items():
        lines = text.split("\n")
        heads += [line for line in lines if re.match(r"\s*#\s*include\b", line)]
        rest = [line for line in lines if not re.match(r"\s*#\s*(include|line)\b", line)]
        parts.append(f"namespace extension{number} {{\n" + "\n".join(rest) + "\n}\n")
    return "\n".join([*dict.fromkeys(heads), *parts, ours])


def _fill(size: int, kind: str) -> str:
    return f"""
extern "C" __global__ void harness_fill_{size}({kind}* to, long long at, {kind} value,
                                               long long n) {{
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) to[at + i] = value;
}}
"""


def _copy(size: int, kind: str, dimensions: int = 8) -> str:
    each = ", ".join(
        f"long long {letter}{n}" for letter in "est" for n in range(dimensions)
    )  # fmt: skip
    steps = "".join(
        f"    from += rest % e{n} * s{n}; into += rest % e{n} * t{n}; rest /= e{n};\n"
        for n in reversed(range(dimensions))
    )
    return f"""
extern "C" __global__ void harness_copy_{size}(const {kind}* source, {kind}* to, long long count,
                                               long long from, long long into, {each}) {{
    long long rest = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (rest >= count) return;
{steps}    to[into] = source[from];
}}
"""


_KINDS: Mapping[int, str] = {1: "char", 2: "short", 4: "int", 8: "long long"}
_OURS: Mapping[str, str] = {
    **{f"harness_fill_{size}": _fill(size, kind) for size, kind in _KINDS.items()},
    **{f"harness_copy_{size}": _copy(size, kind) for size, kind in _KINDS.items()},
}
"""The harness's own kernels for the fills and copies that a candidate asks torch to do."""
