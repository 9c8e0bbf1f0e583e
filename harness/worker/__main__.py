"""The process that runs kernels: one job, its records written as lines to a pipe.

    python -m harness.worker JOB.json|wait|wait-for-gpu FD|FILE

A worker that waits reads the name of its job's file from standard input, so that a process can be
started, and its imports made, before its job is known. A kernel may crash the process, hang it or
lose the GPU's context; whoever started it (harness/run/processes.py) keeps what was written, knows
from the last `now` line what was running, and goes on with the others.
"""

from __future__ import annotations

import ctypes
import importlib
import signal
import sys
from pathlib import Path
from typing import Any

from harness import backends
from harness.errors import (
    BackendUnavailable,
    DeviceLost,
    HarnessError,
    OutOfMemory,
    ProblemError,
)
from harness.job import JOB, Job
from harness.worker.pipe import Pipe

_PR_SET_PDEATHSIG = 1

_TASKS = {
    "qualify": ("harness.worker.qualify", "qualify"),
    "ceilings": ("harness.worker.timing", "measure_ceilings"),
    "prepare": ("harness.worker.timing", "prepare"),
    "measure": ("harness.worker.timing", "time_placement"),
    "profile": ("harness.worker.timing", "profile"),
}


def _do(job: Job, pipe: Pipe) -> None:
    backend: Any = backends.open_backend(job.backend, job.arch, job.jobs)
    try:
        if job.task == "describe":
            pipe.device(backend.device)
            return
        # What a task needs takes a while to import: to count takes the emulator, to time does not.
        module, function = _TASKS[job.task]
        getattr(importlib.import_module(module), function)(job, backend, pipe)
    finally:
        backend.close()


def _die_with_the_parent() -> None:
    """A worker that hangs must not outlive a parent that was killed."""
    try:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):  # not on this system
        return


def main(arguments: list[str]) -> int:
    _die_with_the_parent()
    where = arguments[2]
    pipe = Pipe(int(where) if where.isdecimal() else where)
    name = arguments[1]
    if name.startswith("wait"):
        if name == "wait-for-gpu":
            backends.import_heavy_parts()
        name = sys.stdin.readline().strip()
        if not name:
            return 0  # a spare that was not needed
    try:
        _do(JOB.validate_json(Path(name).read_bytes()), pipe)
    except ProblemError as error:
        pipe.now("")  # a fault of the problem, and of no case: the same words for all variants
        pipe.error(str(error))
        return 1
    except (DeviceLost, BackendUnavailable) as error:
        pipe.error(str(error), "lost")
        return 1
    except (OutOfMemory, MemoryError) as error:
        pipe.error(str(error) or "the machine has no memory left", "memory")
        return 1
    except (HarnessError, ImportError) as error:
        pipe.error(str(error))
        return 1
    except OSError as error:  # none that a kernel or problem.py raises: those are told as theirs
        place = f": {error.filename}" if error.filename else ""
        pipe.error(f"{error.strerror or error}{place}", "outside")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
