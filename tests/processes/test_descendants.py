"""All processes that a process has started are found and ended, even those that left its session or
whose parent has ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import os, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from harness.processes import descendants

descendants.adopt()
sleep = ["sleep", "3600"]
kept = subprocess.Popen(sleep)
own = subprocess.Popen(sleep)
# A parent that ends at once, and leaves a process in a session of its own, without our environment.
left = subprocess.run(
    [sys.executable, "-S", "-c", "import subprocess; print(subprocess.Popen(['sleep', '3600'], "
     "env={}, start_new_session=True, stdout=subprocess.DEVNULL).pid)"],
    stdout=subprocess.PIPE, text=True,
)
stray = int(left.stdout)
assert {kept.pid, own.pid, stray} <= descendants.descendants()
assert descendants.end_all_but({kept.pid})
assert descendants.descendants() == {kept.pid}
assert kept.poll() is None and not os.path.exists(f"/proc/{stray}")
kept.kill()
"""


def test_all_are_ended_and_collected_but_those_that_are_kept() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT)], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
