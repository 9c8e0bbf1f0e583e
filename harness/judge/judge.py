"""The judge: takes submissions, and returns verdicts.

A submission is written as the folder of a matrix, which a process in a slot runs like `python -m
harness run`. Folders are named by their contents, so that compiled and disassembled files are
reused when the same kernel is submitted again.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from harness import tables
from harness.errors import BackendUnavailable, HarnessError, UsageError
from harness.files import scratch
from harness.judge import folders
from harness.judge.slots import process
from harness.judge.slots.folder_runs import NO_GPU
from harness.judge.slots.pool import Slot, SlotLost, Slots
from harness.judge.slots.process import Answer, Request
from harness.judge.submissions import Submission
from harness.judge.verdicts import Verdict
from harness.machine import devices, environment

HOME = Path(".cache") / "judge"
"""The folder for submissions and their compiled files, below the working folder."""


@dataclass(frozen=True)
class Judged:
    """One verdict per kernel, in order. `run`, `matrix`: the folders of both, if kept."""

    verdicts: list[Verdict]
    run: Path | None = None
    matrix: Path | None = None


class Judge:
    """Judges submissions in processes that are started ahead. It is a context manager and safe to
    use from any thread.

    `jobs`: submissions judged at once; by default one per core. `sandbox`: put bubblewrap around
    each slot: no network, and only its own folder writable. `memory`: bytes that a process may
    allocate; by default a share of the machine's. `home`: the folder for compiled files; in a
    sandbox it is a scratch folder. `secret`: True to give each submission its own unpredictable
    inputs instead of the default ones. With secret inputs, data-dependent counters vary a little.
    """

    def __init__(
        self, jobs: int = 0, sandbox: bool = False, memory: int | None = None,
        home: Path | None = None, with_spare: bool = False, secret: bool = False,
    ) -> None:  # fmt: skip
        self._is_secret, self._is_sandboxed = secret, sandbox
        jobs = jobs or environment.cores()
        self._left = ExitStack()
        try:
            if sandbox:
                self._home = self._left.enter_context(scratch.folder())
            else:
                self._home = (home or HOME).absolute()
                self._home.mkdir(parents=True, exist_ok=True)
            most = _share(jobs) if memory is None else memory
            self._slots = Slots(jobs, self._home, most, sandbox, with_spare)
            self._left.callback(self._slots.stop)
            self._kept: list[Path] = []
            self._left.callback(self._forget)
            self._pool = ThreadPoolExecutor(max_workers=jobs)
            # Submissions that wait for the GPU do not block those that do not need it.
            self._timing = ThreadPoolExecutor(max_workers=1)
            self._gpu = Lock()
        except BaseException:
            self._left.close()
            raise

    def wait(self) -> None:
        """Wait until all slots have started."""
        self._slots.wait()

    @property
    def pids(self) -> list[int]:
        """The process ids of the slots; all judged code runs in their descendants."""
        return self._slots.pids

    def submit(self, submission: Submission, keep_run: bool = False) -> Future[Judged]:
        """Judge as soon as a slot is free. The future raises HarnessError if judging is
        impossible."""
        pool = self._timing if _is_for_gpu(submission) else self._pool
        return pool.submit(self.judge, submission, keep_run)

    def check(self, submission: Submission) -> Verdict:
        """Judge the first kernel. Raises HarnessError if the judge can reach no verdict."""
        return self.judge(submission).verdicts[0]

    def judge(self, submission: Submission, keep_run: bool = False) -> Judged:
        """Return the verdict on each kernel. Raises HarnessError for a submission that is not a
        valid matrix.

        `keep_run`: keep the run's folder for the caller; `close` removes it.
        """
        if submission.kind == "time" and not devices.has_driver():
            raise BackendUnavailable(NO_GPU.format("no driver is installed"))
        with self._alone(submission), self._slots.one() as own:
            out = own.home / "runs" / secrets.token_hex(8)
            folder = placed(submission, own.matrices)
            try:
                answer = self._answer(own, submission, folder, out, keep_run)
                cause, ended = "crash", answer.ended
            except SlotLost as lost:
                cause, ended = "deadline" if lost.late else "crash", str(lost)
            if ended:
                found = _so_far(cause, ended, submission, folder, out)
                if not self._is_sandboxed:  # else the slot does it: a link may lead anywhere
                    scratch.remove(out)
                return Judged(found)
        if answer.refused:
            raise UsageError(answer.refused)
        if not keep_run:
            return Judged(answer.verdicts)
        self._kept.append(out)
        return Judged(answer.verdicts, out, folder)

    def _answer(
        self, own: Slot, submission: Submission, folder: Path, out: Path, keep: bool
    ) -> Answer:
        jobs = environment.cores() if _is_for_gpu(submission) else 1  # to compile and verify
        request = Request(
            str(folder), str(out.relative_to(own.home)),
            tuple(folders.names(submission)), submission.arch, submission.kind == "time",
            backend="auto" if submission.kind == "compare" else "emulator",
            keep=keep, jobs=jobs, seed=secrets.randbits(62) if self._is_secret else None,
        )  # fmt: skip
        return own.do(request, submission.seconds)

    def _alone(self, submission: Submission) -> AbstractContextManager[object]:
        """Hold the GPU for as long as the submission needs exclusive use of it."""
        return self._gpu if _is_for_gpu(submission) else nullcontext()

    def _forget(self) -> None:
        for path in self._kept:
            scratch.remove(path)

    def close(self) -> None:
        """End all processes; submissions still waiting are not judged."""
        for pool in (self._pool, self._timing):
            pool.shutdown(wait=False, cancel_futures=True)
        self._left.close()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_for_gpu(submission: Submission) -> bool:
    """Return whether a submission needs the GPU to itself, because two timed at once would disturb
    each other."""
    return submission.kind != "check" and devices.has_driver()


def placed(submission: Submission, matrices: Path) -> Path:
    """The submission's folder under `matrices`, named by its contents."""
    with scratch.folder(matrices) as own:
        made = folders.to_folder(submission, own / "matrix")
        found = hashlib.sha256()
        for part in _parts(made):
            found.update(part)
        path = matrices / found.hexdigest()[:16]
        with suppress(OSError):  # it exists already
            os.rename(made, path)
        os.utime(path)  # the oldest are removed first
    return path


def _parts(folder: Path) -> Iterator[bytes]:
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield f"{file.relative_to(folder)}\0".encode()
        yield hashlib.sha256(file.read_bytes()).digest()


def _so_far(cause: str, why: str, submission: Submission, folder: Path, out: Path) -> list[Verdict]:
    """Verdicts from the records that arrived before the process ended; cannot-tell for the other
    kernels."""
    kernels = tuple(folders.names(submission))
    nothing = process.cannot_tell(kernels, cause, why)
    try:
        run = tables.load(out)
    except HarnessError:  # the run had not begun
        return nothing
    found = process.of_run(run, folder, kernels)
    return [
        blank if each.cause == "not run" else each
        for each, blank in zip(found, nothing, strict=True)
    ]


def _share(jobs: int) -> int:
    """Each slot's share of the machine's memory."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(0.75 * total / jobs)
