"""Starting a worker process and listening to it, with a deadline.

Whatever becomes of the worker (an exit, a crash, a hang) becomes a sentence here; its records are
handed on as they arrive.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.cases import Device
from harness.job import DEVICE, JOB, Job
from harness.records import Record, from_json

_TAIL = 2000
"""Characters of a dead worker's own output that are worth showing."""


@dataclass(frozen=True)
class Ended:
    """How a worker ended. reason is empty when it did all of its job; `at` is what it was doing."""

    reason: str = ""
    at: str = ""
    device: Device | None = None
    late: bool = False
    """Whether it was stopped at its deadline."""


class Workers:
    """Every worker of a run, so that none outlives it."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self.stopped = False

    def do(
        self, job: Job, deadline_s: float, record: Callable[[Record], None] = lambda record: None
    ) -> Ended:
        """Run a job to its end, or to its deadline. Called from several threads at once."""
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "job.json"
            path.write_bytes(JOB.dump_json(job))
            with (Path(scratch) / "output").open("w+b") as output:
                return self._listen(path, output.fileno(), deadline_s, record)

    def _listen(
        self, path: Path, output: int, deadline_s: float, record: Callable[[Record], None]
    ) -> Ended:
        reading, writing = os.pipe()
        command = [sys.executable, "-m", "harness.run.worker", str(path), str(writing)]
        worker = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            pass_fds=(writing,), start_new_session=True,
        )  # fmt: skip
        os.close(writing)
        self._running.add(worker)
        late = threading.Event()

        def expire() -> None:
            late.set()
            _kill(worker)

        timer = threading.Timer(deadline_s, expire)
        timer.start()
        at, error, device = "", "", None
        try:
            with os.fdopen(reading, encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    if not line.endswith("\n"):
                        break  # it died while writing this
                    word, _, rest = line.rstrip("\n").partition(" ")
                    if word == "now":
                        at = rest
                    elif word == "record":
                        record(from_json(rest))
                    elif word == "device":
                        device = DEVICE.validate_json(rest)
                    elif word == "error":
                        error = rest.replace("\\n", "\n")
            code = worker.wait()
        finally:
            timer.cancel()
            _kill(worker)
            worker.wait()
            self._running.discard(worker)
        if late.is_set():
            reason = f"not done within {deadline_s:g} s, and stopped"
            return Ended(reason, at, device, late=True)
        if error:
            return Ended(error, at, device)
        if code:
            size = os.lseek(output, 0, os.SEEK_END)
            said = os.pread(output, _TAIL, max(0, size - _TAIL)).decode(errors="replace").strip()
            return Ended("\n".join(filter(None, [_died(code), said])), at, device)
        return Ended(device=device)

    def stop(self) -> None:
        """Kill whatever still runs, for good: what ends now ends for no fault of its own."""
        self.stopped = True
        for worker in list(self._running):
            _kill(worker)


def _kill(worker: subprocess.Popen[bytes]) -> None:
    """The worker and what it started."""
    with suppress(ProcessLookupError):  # what it started may outlive it
        os.killpg(worker.pid, signal.SIGKILL)


def _died(code: int) -> str:
    if code < 0:
        known = {int(each): each.name for each in signal.Signals}
        return f"the process was ended by {known.get(-code, f'signal {-code}')}"
    return f"the process ended with exit code {code}"
