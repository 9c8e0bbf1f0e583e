"""The process that runs kernels: it runs one job, and writes its records as lines to a pipe.

    python -m harness.worker JOB.json FD|FILE
    python -m harness.worker serve cpu|torch|kernels|gpu|compiling SOCKET

The second form forks workers, each with a job and a descriptor, from a process that has done the
imports (harness/processes/fork_server.py). A kernel may crash the process, hang it or lose the
GPU's context. The parent (harness/processes/workers.py) keeps the records written so far, finds in
the last `now` line which case was running, and continues with the others.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness import backends
from harness.compiler.functions import torch_compile
from harness.errors import BackendUnavailable, DeviceLost, HarnessError, OutOfMemory, ProblemError
from harness.job import JOB, Job
from harness.processes import fork_server, host_memory
from harness.worker.pipe import Pipe

_FOR_KERNELS = (
    "harness.worker.qualify", "harness.worker.timing", "harness.backends.cuda.backend",
)  # fmt: skip
_ON_A_GPU = (*_FOR_KERNELS, "torch")
_EMULATED = (
    "harness.worker.qualify", "harness.worker.timing", "harness.worker.counting",
    "harness.backends.emulated", "numpy.random",
)  # fmt: skip
_AHEAD = {
    "cpu": _EMULATED,
    "torch": (*_EMULATED, "torch"),
    "kernels": _FOR_KERNELS,
    "gpu": _ON_A_GPU,
    "compiling": (*_ON_A_GPU, "torch._dynamo", "torch._inductor.compile_fx"),
}
"""Kind of server → the modules that its workers need."""
LATE = {
    "gpu": ("torchvision", "triton"),
    "compiling": ("torchvision", "triton", *torch_compile.LATE_IMPORTS),
}
"""Kind of server → packages that are imported if importing them starts nothing that a fork would
break. Otherwise each worker has to import them, which takes as long as its timing."""
_GARBAGE = 50_000
"""Python collects garbage whenever this many new objects exist. A translated program consists of
many objects, few of which become garbage, so Python's default of 700 would only cost time."""
TRIAL_S = 30
_TASKS = {
    "qualify": ("harness.worker.qualify", "qualify"),
    "ceilings": ("harness.worker.timing", "measure_ceilings"),
    "prepare": ("harness.worker.timing", "prepare"),
    "measure": ("harness.worker.timing", "time_placement"),
    "profile": ("harness.worker.timing", "profile"),
}


def _import_ahead(where: str) -> None:
    """Import everything that workers need, except modules that start something that does not
    survive a fork.

    All objects are frozen: otherwise a worker's garbage collector would touch and thus copy their
    memory, and its shutdown would take four times as long as everything else in that worker.
    """
    gc.disable()
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    if where == "compiling":
        torch_compile.settle()
    for module in _AHEAD[where]:
        with suppress(ImportError):
            importlib.import_module(module)
    for module in LATE.get(where, ()):
        if _survives_a_fork(module):
            _import(module)
    if where == "compiling":
        torch_compile.work_out_keys()
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    gc.enable()


def _import(module: str) -> None:
    with suppress(Exception):  # a worker could not import it either
        importlib.import_module(module)


def _survives_a_fork(module: str) -> bool:
    """Return whether importing a package leaves the driver untouched, by trying it."""
    trial = os.fork()
    if not trial:
        signal.alarm(TRIAL_S)
        _import(module)
        os._exit(_has_begun_cuda())
    return os.waitpid(trial, 0)[1] == 0


def _has_begun_cuda() -> bool:
    """Return whether an import has started the driver, after which no fork of this process can use
    it."""
    count = ctypes.c_int()
    try:
        return ctypes.CDLL("libcuda.so.1").cuDeviceGetCount(ctypes.byref(count)) == 0
    except OSError:
        return False


def _do(job: Job, pipe: Pipe) -> None:
    """Run the job and, if this worker stays, those that follow it, in the same context."""
    if job.task == "describe":
        _describe(job, pipe)
        return
    if job.task == "draw":
        _hold_memory(job)
        importlib.import_module("harness.worker.timing").draw(job, pipe)
        return
    backend: Any = backends.open_backend(job.backend, job.arch, job.jobs)
    try:
        _carry_out(job, backend, pipe)
        while job.seat:
            backend.rest()
            name = pipe.next_job()
            if not name:
                return
            job = _read(name)
            _carry_out(job, backend, pipe)
    finally:
        backend.close()


def _read(name: str) -> Job:
    return JOB.validate_json(Path(name).read_bytes())


def _hold_memory(job: Job) -> None:
    bounds = [b for b in (host_memory.available(), job.most_bytes) if b is not None]
    if bounds:
        host_memory.hold(min(bounds))


def _carry_out(job: Job, backend: Any, pipe: Pipe) -> None:
    _hold_memory(job)
    # Import only what the task needs, because imports take a while: counting, for example, imports
    # the emulator.
    module, function = _TASKS[job.task]
    getattr(importlib.import_module(module), function)(job, backend, pipe)


def _describe(job: Job, pipe: Pipe) -> None:
    from harness.machine import card
    from harness.worker.describing import describe

    before = card.free_bytes()
    backend: Any = backends.open_backend(job.backend, job.arch, job.jobs)
    try:
        pipe.device(describe(backend, before))
    finally:
        backend.close()


def _of_the_machine(error: MemoryError) -> str:
    said, left = str(error), host_memory.available()
    words = f"the machine has no memory left: {said}" if said else "the machine has no memory left"
    return words if left is None else f"{words}; {left / 2**30:.1f} GiB of it are available"


def main(arguments: list[str]) -> int:
    if arguments[1] == "serve":
        _import_ahead(arguments[2])
        if arguments[2] == "compiling" and _has_begun_cuda():
            # Otherwise each worker imports them itself, which takes some seconds.
            again = ["-m", "harness.worker", "serve", "gpu", arguments[3]]
            os.execv(sys.executable, [sys.executable, *again])
        forked = fork_server.serve(int(arguments[3]))
        if forked is None:
            return 0
        arguments[1:] = forked
    else:
        fork_server.die_with_the_parent()
    name, where = arguments[1:]
    pipe = Pipe(int(where) if where.isdecimal() else where)
    try:
        _do(_read(name), pipe)
    except ProblemError as error:
        pipe.now("")  # a fault of the problem, not of a case: the same text for all variants
        pipe.error(str(error))
        return 1
    except (DeviceLost, BackendUnavailable) as error:
        pipe.error(str(error), "lost")
        return 1
    except OutOfMemory as error:
        pipe.error(str(error), "memory")
        return 1
    except MemoryError as error:
        # Inputs and references take most memory here, and all variants share them.
        pipe.now("")
        pipe.error(_of_the_machine(error), "machine")
        return 1
    except (HarnessError, ImportError) as error:
        pipe.error(str(error))
        return 1
    except OSError as error:  # not raised by a kernel or problem.py: those are reported as theirs
        place = f": {error.filename}" if error.filename else ""
        pipe.error(f"{error.strerror or error}{place}", "outside")
        return 1
    return 0


if __name__ == "__main__":
    code = main(sys.argv)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # torch's module-by-module cleanup takes as long as a few launches
