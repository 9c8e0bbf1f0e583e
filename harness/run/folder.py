"""A run's folder: run.json, which says what ran on what, and reports/latest, which points to it."""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from harness import tables
from harness.errors import UsageError
from harness.matrix import plan
from harness.progress import console
from harness.run import machine
from harness.run.runner import Runner, timing_of

REPORTS = Path("reports")
LATEST = REPORTS / "latest"


class Folder:
    """One run's folder, opened before anything runs and closed with how it ended.

    Raises UsageError where another run is there, or nothing can be written.
    """

    def __init__(self, runner: Runner, patterns: Sequence[str], started: datetime) -> None:
        self.path = runner.folder
        self._info = _about(runner, patterns, started)
        self._file = self.path / "run.json"
        if self._file.exists():
            before = tables.load(self.path).info
            if before["fingerprint"] != self._info["fingerprint"]:
                raise UsageError(
                    f"{self.path} holds another run (its matrix, sources, machine, --only or "
                    "--arch differ)\n  name another folder with --out, or delete it"
                )
            console.print(f"resuming {self.path}", markup=False)
            self._info["started"] = before["started"]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._write()
        except OSError as error:
            raise UsageError(f"--out {self.path}: {error.strerror}") from None

    def close(self, exit_code: int) -> None:
        self._info |= {"finished": datetime.now(timezone.utc).isoformat(), "exit_code": exit_code}
        self._write()

    def point_latest(self) -> None:
        """reports/latest → the run, when it lies in reports/."""
        if self.path.resolve().parent == REPORTS.resolve():
            LATEST.unlink(missing_ok=True)
            LATEST.symlink_to(self.path.name)

    def _write(self) -> None:
        self._file.write_text(json.dumps(self._info, indent=1) + "\n")


def fresh(started: datetime) -> Path:
    """The folder of a run that names none."""
    return REPORTS / started.strftime("%Y%m%d-%H%M%S")


def _about(runner: Runner, patterns: Sequence[str], started: datetime) -> dict[str, Any]:
    """run.json as it stands before anything runs."""
    bench, device, backend = runner.bench, runner.device, runner.backend
    names = sorted({problem for problem, _ in plan.matching(bench, patterns)})
    sources = machine.sources(bench, names)
    matrix = bench.model_dump_json(exclude={"document", "kernels"})
    what = [matrix, backend, vars(device), sources, sorted(patterns)]
    return {
        "id": runner.folder.name,
        "fingerprint": hashlib.sha256(json.dumps(what).encode()).hexdigest(),
        "started": started.isoformat(),
        "command": shlex.join(["python", "-m", "harness", *sys.argv[1:]]),
        "seed": bench.timing.seed,
        "backend": backend,
        "device": vars(device),
        "timing": timing_of(bench),
        "timed_inputs_seed": runner.fresh,
        "machine": machine.describe(),
        "driver": machine.driver(),
        "versions": machine.versions(),
        "commit": machine.commit(),
        "problems": {
            name: {
                "title": problem.title,
                "baseline": bench.problems[name].baseline,
                "library": bench.problems[name].library,
            }
            for name, problem in runner.problems.items()
        },
        "sources": sources,
    }
