"""Run a submission's folder as `python -m harness run` does, and read its records.

Nothing is drawn or printed; the caller reads the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from harness import tables
from harness.console.progress import console
from harness.errors import BackendUnavailable
from harness.machine import devices
from harness.machine.card import look
from harness.machine.gpu_lock import gpu_to_itself
from harness.matrix import model
from harness.matrix.filters import Choice
from harness.run.executor import LocalExecutor, RunContext
from harness.run.folder import Folder
from harness.run.runner import Runner
from harness.tables import Run

NO_GPU = (
    "a time needs an NVIDIA GPU, and there is none that works here: {}\n"
    "  harness.check() counts exactly without one"
)


def run(
    folder: Path, backend: str, arch: str | None, jobs: int, out: Path, seed: int | None = None,
    with_ceilings: bool = True,
) -> Run:  # fmt: skip
    """Run the matrix in a folder into `out`; return the run.

    `seed`: the seed of the inputs, instead of the matrix's own. `with_ceilings`: also measure the
    GPU's limits, which a page shows but no verdict needs. Raises HarnessError if the matrix cannot
    run at all; a failed kernel is recorded in the run.
    """
    started = datetime.now(timezone.utc)
    bench = model.load(folder / "bench.yaml")
    if seed is not None:
        bench = replace(bench, timing=bench.timing.model_copy(update={"seed": seed}))
    with quiet():
        chosen, device, _ = devices.choose(backend, arch)
        if chosen == "cuda":
            card = look(device.bus)
            with gpu_to_itself(card.uuid or device.bus):
                place = RunContext(chosen, device, LocalExecutor(jobs), card)
                return _whole(bench, place, out, started, with_ceilings)
        place = RunContext(chosen, device, LocalExecutor(jobs))
        return _whole(bench, place, out, started, with_ceilings)


def on_a_gpu(
    folder: Path, arch: str | None, jobs: int, out: Path, seed: int | None = None,
    with_ceilings: bool = True,
) -> Run:  # fmt: skip
    """Work like `run`, but on a GPU. Raises BackendUnavailable, which suggests an alternative, if
    there is no GPU.

    Detecting that a machine has no driver does not need another process.
    """
    if not devices.has_driver():
        raise BackendUnavailable(NO_GPU.format("no driver is installed"))
    try:
        return run(folder, "cuda", arch, jobs, out, seed, with_ceilings)
    except BackendUnavailable as error:
        raise BackendUnavailable(NO_GPU.format(str(error).splitlines()[0])) from None


def _whole(
    bench: model.Bench, place: RunContext, out: Path, started: datetime, with_ceilings: bool
) -> Run:
    folder = Folder(out, bench, Choice(), place.backend, place.device, started)
    runner = Runner(
        folder.bench, place.device, place.backend, (), folder.path, None, place.executor,
        folder.chosen, place.driver, matrix=bench, with_ceilings=with_ceilings,
    )  # fmt: skip
    folder.open(runner, place.card)
    runner.run()
    found = tables.load(folder.path)
    folder.close(int(runner.failed), found, place.card)
    return found


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress a run's progress output within the `with` block."""
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
