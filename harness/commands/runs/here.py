"""A whole run, from the matrix to the report, on this machine or a cluster."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from harness.commands.request import RunRequest
from harness.commands.runs import clusters
from harness.commands.runs.whole import WholeRun
from harness.console.progress import console
from harness.errors import UsageError
from harness.machine import devices, environment
from harness.machine.card import look
from harness.machine.gpu_lock import gpu_to_itself
from harness.matrix import model
from harness.run.executor import LocalExecutor, RunContext


def carry_out(request: RunRequest) -> tuple[int, Path]:
    """Run from the matrix to the report; return the exit code and the run's folder."""
    request.told.check()
    started = datetime.now(timezone.utc)
    bench = request.bench or model.load(request.config, request.kernels)
    if request.cluster:
        return clusters.carry_out(request, started, bench)
    backend, device, warning = devices.choose(request.backend, request.arch)
    if warning:
        console.print(warning, markup=False)
    if request.wanted and request.wanted.sets and backend == "emulator":
        raise UsageError(
            "--metrics chooses what ncu counts on a GPU; the emulator always counts what it can\n"
            "  omit --metrics, or run where there is a GPU"
        )
    executor = LocalExecutor(request.jobs or environment.cores())
    if backend != "cuda":
        return _run(request, started, bench, RunContext(backend, device, executor))
    card = look(device.bus)
    with gpu_to_itself(card.uuid or device.bus):
        return _run(request, started, bench, RunContext(backend, device, executor, card))


def _run(
    request: RunRequest, started: datetime, bench: model.Bench, place: RunContext
) -> tuple[int, Path]:
    run = WholeRun(request, started, bench, place)
    run.carry_out()
    return run.tell()
