"""A run that is stopped at any point leaves no process running, and can be resumed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from tiny_problem import timed_matrix

from harness import tables

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MATRIX = timed_matrix("honest1: {source: v0.cu}", "honest2: {source: v0.cu, builds_on: honest1}")
PLACES = (
    "planning", "compile", "test sizes", "ceilings", "timed size", "rounds", "profile", "report",
)  # fmt: skip
PROGRAM = """\
#!{python}
import os, sys
sys.path[:0] = [{here!r}, {ncu!r}]
from pausing import pause
"""
NVCC = f"""{PROGRAM}
'--version' in sys.argv or pause('compile')
os.execv({{nvcc!r}}, ['nvcc', *sys.argv[1:]])
"""
NCU = f"""{PROGRAM}
import stub_ncu
'--export' in sys.argv and pause('profile')
sys.exit(stub_ncu.main(sys.argv[1:]))
"""


class Stage:
    """A folder with two correct kernels, in which runs are started and found again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "run"
        shutil.rmtree(folder / ".cache")  # each test compiles the file at which nvcc is stopped
        self.pause = folder / "pause"
        self._reached = folder / "pause.reached"
        (folder / "bench.yaml").write_text(MATRIX)
        texts = {"nvcc": NVCC, "ncu": NCU}
        for name, text in texts.items():
            (folder / name).write_text(text.format(
                python=sys.executable, here=str(HERE), ncu=str(HERE.parent / "ncu"),
                nvcc=shutil.which("nvcc"),
            ))  # fmt: skip
            (folder / name).chmod(0o755)

    def start(self, place: str = "") -> subprocess.Popen[str]:
        """Start a run, which waits at the given point if there is one."""
        if place:
            self.pause.touch()
            self._reached.unlink(missing_ok=True)
        environment = {
            **os.environ, "PYTHONPATH": f"{ROOT}:{HERE}", "NVCC": str(self.folder / "nvcc"),
            "NCU": str(self.folder / "ncu"), "PAUSE": str(self.pause), "PAUSE_AT": place,
            "FAKE_COSTS": json.dumps({"honest2": 500.0}),
        }  # fmt: skip
        command = [sys.executable, str(HERE / "whole_run.py"), "profile", "--out", str(self.out)]
        running = subprocess.Popen(
            command, cwd=self.folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        end = time.monotonic() + 120
        while place and not self._reached.exists():
            assert running.poll() is None, running.communicate()[0]
            assert time.monotonic() < end, f"the run never got to {place}"
            time.sleep(0.02)
        return running

    def run(self) -> subprocess.CompletedProcess[str]:
        """Run to completion."""
        started = self.start()
        said, _ = started.communicate(timeout=200)
        return subprocess.CompletedProcess(started.args, started.returncode, said)

    def left(self, within_s: float = 10) -> list[str]:
        """The command lines of those processes started by a run that are still running after a
        while."""
        mark, end = f"PAUSE={self.pause}".encode(), time.monotonic() + within_s
        while True:
            found = []
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if mark in (process / "environ").read_bytes().split(b"\0"):
                        found.append((process / "cmdline").read_bytes().decode())
                except OSError:
                    continue
            if not found or time.monotonic() > end:
                return found
            time.sleep(0.05)


@pytest.fixture
def stage(folder: Path) -> Iterator[Stage]:
    found = Stage(folder)
    yield found
    found.pause.unlink(missing_ok=True)


def is_whole(folder: Path) -> bool:
    """Return whether both variants are timed and counted, and the faster one is known."""
    run = tables.load(folder)
    cold = run.results[run.results.cache == "cold"].set_index("variant")
    assert set(run.counters.case) == set(run.planned)
    return set(cold.status) == {"ok"} and cold.verdict["honest2"] == "faster"


WAYS = {
    "Ctrl-C": ((signal.SIGINT, 130),),
    "SIGTERM, SIGHUP and kill -9": (
        (signal.SIGTERM, 143), (signal.SIGKILL, -9), (signal.SIGHUP, 129), (signal.SIGKILL, -9),
    ),
}  # fmt: skip


@pytest.mark.fault(
    "Ctrl-C, SIGTERM, SIGHUP or kill -9, in every phase of a run",
    outcome="No worker, compiler or ncu is left; exit 130, 143 or 129 where the harness could "
    "still choose it; the same command with --out goes on to the same verdicts.",
)
@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_is_stopped_at_every_place_in_turn_leaves_nothing_and_is_completed(
    stage: Stage, way: str
) -> None:
    """The test is slow, because each point is reached by a separate command with all its
    workers."""
    for place, (number, code) in zip(PLACES, cycle(WAYS[way])):
        running = stage.start(place)
        running.send_signal(number)
        said, _ = running.communicate(timeout=120)
        assert running.returncode == code, f"{place}: {said}"
        assert "Traceback" not in said, place
        assert stage.left() == [], place
        if place != "planning":
            assert tables.load(stage.out).planned, place
    stage.pause.unlink()
    again = stage.run()
    assert again.returncode == 0, again.stdout
    assert is_whole(stage.out)
    assert stage.left() == []
