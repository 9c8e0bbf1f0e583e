"""A run where one stands: from the matrix to the report, on what this machine has or a cluster."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from harness.commands.asked import Asked
from harness.commands.runs import clusters
from harness.commands.runs.whole import WholeRun
from harness.errors import UsageError
from harness.matrix import model
from harness.measure.card import look
from harness.progress import console
from harness.run import devices, machine
from harness.run.gpu_lock import gpu_to_itself
from harness.run.hands import OwnCores, Place


def carry_out(asked: Asked) -> tuple[int, Path]:
    """From the matrix to the report: the exit code, and the run's folder."""
    asked.told.check()
    started = datetime.now(timezone.utc)
    bench = asked.bench or model.load(asked.config, asked.kernels)
    if asked.cluster:
        return clusters.carry_out(asked, started, bench)
    backend, device, warning = devices.choose(asked.backend, asked.arch)
    if warning:
        console.print(warning, markup=False)
    if asked.wanted and asked.wanted.sets and backend == "emulator":
        raise UsageError(
            "--metrics chooses what ncu counts on a GPU; the emulator always counts all it can\n"
            "  leave --metrics out, or run where there is a GPU"
        )
    hands = OwnCores(asked.jobs or machine.cores())
    if backend != "cuda":
        return _run(asked, started, bench, Place(backend, device, hands))
    card = look(device.bus)
    with gpu_to_itself(card.uuid or device.bus):
        return _run(asked, started, bench, Place(backend, device, hands, card))


def _run(asked: Asked, started: datetime, bench: model.Bench, place: Place) -> tuple[int, Path]:
    run = WholeRun(asked, started, bench, place)
    run.carry_out()
    return run.tell()
