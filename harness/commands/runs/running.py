"""Carry out `run` and `profile`: sandboxed, saved as a baseline, or repeated after every save."""

from __future__ import annotations

from pathlib import Path

from harness.commands.request import CarryOut, RunRequest
from harness.commands.runs import architectures, sandbox, watching
from harness.comparison.sides import baselines
from harness.console.progress import console
from harness.errors import UsageError
from harness.ncu.metrics import choose

ENDED = (0, 1)
"""Exit codes of a run that was not stopped early."""


def run(
    request: RunRequest, carry_out: CarryOut, baseline: str | None, in_sandbox: bool, watch: bool
) -> int:
    """Carry out `run` and return the exit code."""
    if architectures.are_several(request):
        given = {
            "--cluster": bool(request.cluster), "--sandbox": in_sandbox, "--watch": watch,
            "--save-baseline": baseline is not None, "--json": request.told.json is not None,
        }  # fmt: skip
        return architectures.run(request, carry_out, given)
    if request.cluster and (in_sandbox or watch):
        raise UsageError(
            "--cluster cannot be combined with --sandbox or --watch: workers are separate "
            "processes, which a sandbox here does not contain\n  omit one of the two"
        )
    if in_sandbox:
        return _kept(request, baseline, sandbox.run)[0]
    before = watching.files(request) if watch else {}
    code, folder = _kept(request, baseline, carry_out)
    return watching.go_on(request, folder, carry_out, code, before) if watch else code


def profile(
    request: RunRequest, carry_out: CarryOut, baseline: str | None, in_sandbox: bool
) -> int:
    """Carry out `profile` and return the exit code."""
    assert request.wanted is not None
    choose(request.wanted.sets, None)  # rejects a set that does not exist before anything runs
    return _kept(request, baseline, sandbox.run if in_sandbox else carry_out)[0]


def _kept(request: RunRequest, baseline: str | None, carry_out: CarryOut) -> tuple[int, Path]:
    """Carry out a run and, if a name is given and the run has ended, save it as a baseline."""
    if baseline is not None:
        baselines.check(baseline)
    code, folder = carry_out(request)
    if baseline is not None and code in ENDED:
        console.print(f"kept as {baselines.save(folder, baseline)}", markup=False)
    elif baseline is not None:
        console.print(f"not kept as {baseline}: the run did not end", markup=False)
    return code, folder
