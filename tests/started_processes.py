"""Python processes that a test starts, and whether they, or their descendants, have ended."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}


def run_python(program: str) -> subprocess.CompletedProcess[str]:
    """Run, to completion, a program that imports this harness."""
    return subprocess.run(
        [sys.executable, "-c", program], env=_environment(), capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip


def holding(program: str, folder: Path) -> subprocess.Popen[str]:
    """Start a program with a folder as its argument; return when it prints that it holds its
    resources."""
    started = subprocess.Popen(
        [sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, text=True,
        env=_environment(),
    )  # fmt: skip
    assert started.stdout is not None
    assert started.stdout.readline() == "held\n"
    return started


def gone(pid: int, within_s: float = 10) -> bool:
    """Return whether a process has ended in time; it may still be waiting for its parent to collect
    its exit."""
    end = time.monotonic() + within_s
    while not _is_gone(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "ZX"
