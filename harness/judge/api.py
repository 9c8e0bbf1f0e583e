"""`harness.check`, `candidate`, `compare` and `time`: judge kernels from Python.

All calls share one judge, which starts with the first call and ends with the process.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.judge import candidates, triton_kernels
from harness.judge.judge import Judge
from harness.judge.results import Comparison, Report
from harness.judge.submissions import AnyKernel as Made
from harness.judge.submissions import (
    HostFunction,
    Kernel,
    Kind,
    Problem,
    ProblemFolder,
    PythonFunction,
    Submission,
    Text,
    listed,
)  # fmt: skip

SECONDS = 60.0
"""The seconds per kernel after which `check` stops waiting for an answer. Only timing takes
minutes."""
TIMED_SECONDS = 3600.0

AnyKernel = Any
"""A Kernel, a Text, a path or text of CUDA C++ or PTX, or a triton.jit function; or a function that
needs a GPU: a PythonFunction, a HostFunction, or a function that takes tensors."""
AnyProblem = Problem | ProblemFolder | str | Path

_lock = threading.Lock()
_judges: list[Judge] = []


def check(
    kernel: AnyKernel, problem: AnyProblem, *, arch: str | None = None, seconds: float = SECONDS,
    **launch: Any,
) -> Report:  # fmt: skip
    """Verify and count one kernel without a GPU. The report says whether it is right, wrong or
    faulty, and has exact counters.

    `kernel`: a Kernel, or its source or path together with entry, grid, block and args; or a
    triton.jit function, with grid, args, constants and num_warps. Any other function needs a GPU,
    and its verdict says so: use `time` or `compare`. `problem`: a Problem, or the folder of one.
    `arch`: the architecture to compile for and to emulate, such as sm_80. Raises HarnessError if
    nothing can be judged, for example if the reference cannot run.
    """
    submission = _submission(
        [_kernel(kernel, launch, problem, arch)], problem, "check", arch, seconds
    )
    return _report(submission)


def candidate(
    solution: str | Path, problem: str | Path, sizes: Mapping[str, int] | None = None, *,
    arch: str | None = None, seconds: float = SECONDS, **more: Any,
) -> Report:  # fmt: skip
    """Judge the kernels that a torch module launches, without a GPU, in the same way as `check`
    judges a single kernel.

    `solution`: a Python file with ModelNew, or its text, as in KernelBench; its kernels are
    those of `load_inline`. `problem`: the file with Model, get_inputs and get_init_inputs. `sizes`:
    replace those in that file. `more`: Problem fields, such as `tolerance` and `partly_read`.
    Raises UsageError, with the reason, if the launches cannot be determined from the solution's
    host code.
    """
    return _report(candidates.submission(solution, problem, sizes, arch, seconds, **more))


def time(
    kernel: AnyKernel, problem: AnyProblem, *, against: AnyKernel | None = None,
    seconds: float = TIMED_SECONDS, **launch: Any,
) -> Report:  # fmt: skip
    """Verify one kernel and time it on the GPU, alongside another one if `against` is given.

    Raises BackendUnavailable if there is no GPU: nothing emulated is ever shown as a time.
    """
    kernels = [_kernel(kernel, launch, problem)]
    if against is not None:
        kernels.insert(0, _kernel(against, {}))
    submission = _submission(kernels, problem, "time", None, seconds)
    judged = _judge().judge(submission, keep_run=True)
    return Report(judged.verdicts[-1], submission, judged.run, judged.matrix)


def compare(
    kernels: Sequence[AnyKernel], problem: AnyProblem, *, arch: str | None = None,
    seconds: float | None = None,
) -> Comparison:  # fmt: skip
    """Judge several kernels in one run, the first as the baseline; time them if there is a GPU."""
    own = [_kernel(each, {}) for each in kernels]
    limit = seconds or max(TIMED_SECONDS, SECONDS * len(own))
    submission = _submission(own, problem, "compare", arch, limit)
    judged = _judge().judge(submission, keep_run=True)
    return Comparison(judged.verdicts, submission, judged.run, judged.matrix)


def _report(submission: Submission) -> Report:
    judged = _judge().judge(submission, keep_run=True)
    return Report(judged.verdicts[0], submission, judged.run, judged.matrix)


def _kernel(
    kernel: AnyKernel, launch: dict[str, Any], problem: object = None, arch: str | None = None
) -> Made:
    if triton_kernels.is_one(kernel):
        if "args" not in launch or "grid" not in launch:
            raise UsageError(
                "a kernel in Triton needs its grid and args\n"
                "  to compare several, make each by harness.judge.triton_kernels.kernel(…), and "
                "those of triton.autotune by kernels(…)"
            )
        return triton_kernels.kernel(kernel, problem, arch=arch, **launch)
    if isinstance(kernel, Made):
        if launch:
            raise TypeError(f"a {type(kernel).__name__} has its {', '.join(launch)} already")
        return kernel
    if callable(kernel) and not isinstance(kernel, type):
        return PythonFunction(kernel, **launch)
    if not isinstance(kernel, str | Path):
        raise UsageError(
            f"a kernel is CUDA C++ or PTX, a path or a text, or a function, and no "
            f"{type(kernel).__name__}"
        )
    if "host" in launch:
        return HostFunction(str(kernel), **launch)
    if launch:
        return Kernel(str(kernel), **launch)
    text = kernel.read_text() if isinstance(kernel, Path) else kernel
    return Text(text)


def _submission(
    kernels: Sequence[Made], problem: AnyProblem, kind: Kind, arch: str | None,
    seconds: float,
) -> Submission:  # fmt: skip
    found = ProblemFolder(str(problem)) if isinstance(problem, str | Path) else problem
    return Submission(listed(kernels), found, kind, arch, seconds)


def _judge() -> Judge:
    """Return this process's judge. The first call creates it."""
    with _lock:
        if not _judges:
            _judges.append(Judge(jobs=1))
            atexit.register(close)
        return _judges[0]


def close() -> None:
    """Stop this process's judge; the next call starts another."""
    with _lock:
        while _judges:
            _judges.pop().close()
