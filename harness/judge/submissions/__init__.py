"""A submission: kernels and the problem that they solve, as plain data.

Kernels and problems are validated when created. A reference that is a Python function becomes text
or an import path (references.py), so that a submission can be sent to another process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, TypeAdapter
from pydantic.dataclasses import dataclass
from pydantic.json_schema import SkipJsonSchema

from harness.errors import UsageError
from harness.judge.submissions.fields import CONFIG
from harness.judge.submissions.functions import HostFunction, PythonFunction
from harness.judge.submissions.kernels import Kernel, Launch, Text, is_path
from harness.judge.submissions.problems import Problem, ProblemFolder

MOST_KERNELS = 256
"""The most kernels of one submission."""


NATIVE = (
    "{} runs natively, on a GPU, with the rights of whoever runs the judge: a request has none\n"
    "  judge it from Python: harness.compare([…], problem)"
)
"""The message for a request that contains a function: why that is not allowed, and what to do."""


def _kernel_data(value: Any) -> Any:
    """Return a kernel's data from a request; reject data that describes a function."""
    if isinstance(value, Mapping):
        for key, what in (("python", "a Python function"), ("function", "a Python function"),
                          ("host", "a host function")):  # fmt: skip
            if key in value:
                raise ValueError(NATIVE.format(what))
    return value


def _kernel_tag(value: Any) -> str:
    """Distinguish a text from a whole kernel: a text has no launch."""
    if isinstance(value, PythonFunction | HostFunction):
        return "python" if isinstance(value, PythonFunction) else "host"
    if isinstance(value, Mapping):
        return "kernel" if {"entry", "launches", "grid", "block", "args"} & set(value) else "text"
    return "text" if isinstance(value, Text) else "kernel"


def _problem_tag(value: Any) -> str:
    found = "folder" in value if isinstance(value, Mapping) else isinstance(value, ProblemFolder)
    return "folder" if found else "problem"


AKernel = Annotated[
    Annotated[Kernel, Tag("kernel")]
    | Annotated[Text, Tag("text")]
    | SkipJsonSchema[Annotated[PythonFunction, Tag("python")]]
    | SkipJsonSchema[Annotated[HostFunction, Tag("host")]],
    Discriminator(_kernel_tag),
    BeforeValidator(_kernel_data),
]
AnyKernel = Kernel | Text | PythonFunction | HostFunction
AProblem = Annotated[
    Annotated[Problem, Tag("problem")] | Annotated[ProblemFolder, Tag("folder")],
    Discriminator(_problem_tag),
]
Kind = Literal["check", "compare", "time"]


@dataclass(config=CONFIG)
class Submission:
    """One or several kernels for a problem. The first is the baseline."""

    kernels: Annotated[tuple[AKernel, ...], Field(min_length=1, max_length=MOST_KERNELS)]
    problem: AProblem
    kind: Kind = "check"
    arch: str | None = None
    """The architecture to compile for and to emulate; by default sm_90."""
    seconds: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    """The seconds after which the judge stops waiting for an answer."""
    interval: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Half the width that a speed-up's interval should have on a GPU, as a fraction of the
    speed-up; by default 0.005. A wider interval needs fewer placements."""

    def __post_init__(self) -> None:
        if isinstance(self.problem, Problem):
            if any(isinstance(each, Text) for each in self.kernels):
                raise ValueError("a kernel without a launch needs a problem's folder to launch as")
        elif not all(isinstance(each, Text) for each in self.kernels):
            raise ValueError("in a problem's folder a kernel is a text: source, and maybe a name")


SUBMISSION: TypeAdapter[Submission] = TypeAdapter(Submission)


def listed(kernels: AnyKernel | Sequence[AnyKernel]) -> tuple[AnyKernel, ...]:
    """Turn one or several kernels into a tuple. Raises UsageError if there are none."""
    found = (kernels,) if isinstance(kernels, AnyKernel) else tuple(kernels)
    if not found:
        raise UsageError("there is no kernel to judge: give at least one")
    return found


__all__ = [
    "CONFIG", "SUBMISSION", "AnyKernel", "HostFunction", "Kernel", "Kind", "Launch", "Problem",
    "ProblemFolder", "PythonFunction", "Submission", "Text", "is_path", "listed",
]  # fmt: skip
