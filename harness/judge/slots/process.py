"""A process that judges submissions, each in its own fork; `pool.py` starts it.

    python -m harness.judge.slots.process BYTES KEPT

The process imports everything in advance, and runs the server from which workers are forked. A
request is a line on standard input, and a reply is a line on standard output. Changes that a
submission's problem.py makes to its process end with that process; a kernel runs in another one,
with its own deadline. BYTES limits the allocations of any process here; 0 means no limit. KEPT
limits the number of compiled kernels kept in the slot's folder; 0 means that it is shared.
"""

from __future__ import annotations

import gc
import importlib
import os
import re
import resource
import signal
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from harness.analysis import finders
from harness.compiler import cache, toolchain
from harness.errors import CompileError, HarnessError
from harness.files import scratch
from harness.journal.records import Finished, from_json, to_json
from harness.judge import judging, wording
from harness.judge.slots import folder_runs
from harness.judge.verdicts import VERDICTS, Verdict
from harness.machine import environment
from harness.processes import descendants, workers
from harness.run import staleness
from harness.tables import Run

_RUNS = 4
"""How many runs of crashed processes are kept, because the newest is still read."""

_AGAIN = "again"
"""The folder, in a run's, of its second attempt."""

_TORCH = re.compile(rb"\b(torch|model_file|wants_tensors)\b")
"""Matches the text of a problem.py that needs torch."""

_CONFIG = ConfigDict(extra="forbid", frozen=True)


@dataclass(config=_CONFIG)
class Request:
    """`folder`: the submission's matrix. `out`: the run's folder, if it is to be kept. `timed`:
    True to time on a GPU. `keep`: True to keep the run's folder, with the data that its page
    needs."""

    folder: str
    out: str
    kernels: tuple[str, ...]
    arch: str | None = None
    timed: bool = False
    keep: bool = False
    backend: str = "emulator"
    jobs: int = 1
    seed: int | None = None
    """The seed of the inputs, which replaces the matrix's own."""


@dataclass(config=_CONFIG)
class Answer:
    """The verdicts, or why the matrix could not run, or how its process ended."""

    verdicts: list[Verdict]
    refused: str = ""
    ended: str = ""


REQUEST: TypeAdapter[Request] = TypeAdapter(Request)
ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)


def judged(request: Request) -> Answer:
    """Run the matrix and derive the verdicts from its records.

    If the compiler crashed, everything is tried once more. The first run's records stay in place
    meanwhile, for the case that the deadline ends the second.
    """
    began = time.monotonic()
    folder, out = Path(request.folder), Path(request.out)
    try:
        found = _verdicts(request, out)
        if any(each.cause == judging.CRASH for each in found):
            second = _verdicts(request, out / _AGAIN)
            found = list(map(judging.crashed_again, found, second))
            _replace(out, out / _AGAIN)
    except HarnessError as error:
        return Answer([], without_folder(str(error), folder))
    return Answer([replace(each, seconds=time.monotonic() - began) for each in found])


def _verdicts(request: Request, out: Path) -> list[Verdict]:
    folder = Path(request.folder)
    how = request.arch, request.jobs, out, request.seed, request.keep
    if request.timed:
        run = folder_runs.on_a_gpu(folder, *how)
    else:
        run = folder_runs.run(folder, request.backend, *how)
    return of_run(run, folder, request.kernels)


def _replace(out: Path, second: Path) -> None:
    """Put the second run in place of the first, whose folder it is in."""
    aside = out.with_name(f"{out.name}-{_AGAIN}")
    second.rename(aside)
    scratch.remove(out)
    aside.rename(out)


def of_run(run: Run, folder: Path, kernels: tuple[str, ...]) -> list[Verdict]:
    return judging.verdicts(run, kernels, lambda text: without_folder(text, folder))


def without_folder(text: str, folder: Path) -> str:
    """Shorten paths in a text to the submission's own file names, wherever its files are stored."""
    # If the submission is in the slot's own folder, a text may use a relative path.
    for place in (str(folder.absolute()), f"{folder.parent.name}/{folder.name}"):
        for problem in (folder / "kernels").glob("*/problem.py"):
            text = text.replace(f"{place}/kernels/{problem.parent.name}/", "")
        text = text.replace(f"{place}/", "")
    return text


def cannot_tell(kernels: tuple[str, ...], cause: str, message: str) -> list[Verdict]:
    """A verdict of cannot-tell for each of the kernels."""
    return [
        wording.worded(Verdict(kernel, "cannot-tell", "", cause=cause, message=message))
        for kernel in kernels
    ]


def main(arguments: list[str]) -> int:
    _bound(int(arguments[0]))
    kept = int(arguments[1])
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # keeps all other output out of the answers
    for late in ("harness.analysis.losses", "harness.run.runner", "harness.worker.qualify"):
        importlib.import_module(late)
    workers.start_server()
    _work_out_ahead()
    gc.freeze()  # frozen objects are not visited, so no fork copies their memory
    descendants.adopt()
    answers.write(b"ready\n")
    for line in sys.stdin.buffer:
        _import_torch_for(Path(REQUEST.validate_json(line).folder))
        workers.start_server()  # if a submission has ended it
        own = descendants.descendants()
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(reading)
            os.setsid()
            _answer(line, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as told:
            answer = told.read()
        _, status = os.waitpid(pid, 0)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        if not descendants.end_all_but(own):  # the pool ends this process and them
            sys.exit("a submission starts processes faster than they can be ended")
        request = REQUEST.validate_json(line)
        if answer and not request.keep:
            scratch.remove(Path(request.out))
        if kept:
            tidy(cache.CACHE, kept)
            tidy(Path(request.out).parent, _RUNS)
        answers.write((answer or _ended(status)) + b"\n")
    return 0


def _import_torch_for(folder: Path) -> None:
    """Import torch once, instead of in each fork, if the reference in this folder names it."""
    if "torch" in sys.modules:
        return
    for problem in folder.glob("kernels/*/problem.py"):
        with suppress(OSError):
            if _TORCH.search(problem.read_bytes()):
                with suppress(Exception):  # the code that needs it reports what is missing
                    importlib.import_module("torch")
                gc.freeze()


def tidy(folder: Path, most: int) -> None:
    """Keep at most `most` cached files, for kernels that may be submitted again; remove the
    oldest."""
    kept = sorted(folder.glob("*"), key=lambda path: path.lstat().st_mtime_ns)
    for path in kept[: max(0, len(kept) - most)]:
        scratch.remove(path)


def _work_out_ahead() -> None:
    """Compute in advance the values that every fork would otherwise compute."""
    staleness.harness_hash(False)
    finders.stall_reasons()
    from_json(to_json(Finished("plan")))
    environment.versions()
    with suppress(CompileError):  # every submission reports it
        toolchain.find()


def _answer(line: bytes, where: int) -> None:
    """Judge one submission in a fork: report, and exit without the parent's cleanup."""
    code = 1
    gc.disable()
    try:
        with os.fdopen(where, "wb") as tells:
            tells.write(ANSWER.dump_json(judged(REQUEST.validate_json(line))))
        code = 0
    finally:
        if code:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)


def _ended(status: int) -> bytes:
    code = os.waitstatus_to_exitcode(status)
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
    return ANSWER.dump_json(Answer([], ended=f"the process that judged it {how}"))


def _bound(most: int) -> None:
    """Limit the memory of each process, and disable core files."""
    for what, limit in ((resource.RLIMIT_DATA, most), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(what)[1]
        if what == resource.RLIMIT_DATA and not most:
            continue
        lower = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(what, (lower, lower))


__all__ = ["ANSWER", "REQUEST", "VERDICTS", "Answer", "Request", "cannot_tell", "of_run"]

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
