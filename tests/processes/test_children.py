"""Every process that the harness starts ends, with all its descendants, before the harness itself
does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from started_processes import gone, run_python

from harness.compiler import cache
from harness.errors import CompileError, CompilerStopped
from harness.processes import children

ROOT = Path(__file__).parents[2]

FAMILY = """\
#!{python}
import os, signal, subprocess, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
ignoring = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
near = subprocess.Popen([sys.executable, "-c", ignoring])
far = subprocess.Popen([sys.executable, "-c", ignoring], start_new_session=True)
with open({told!r} + ".tmp", "w") as file:
    file.write(f"{{os.getpid()}} {{near.pid}} {{far.pid}}")
os.rename({told!r} + ".tmp", {told!r})
time.sleep(600)
"""
"""A program that ignores signals, with a child in its group and one in a session of its own."""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "endless"
    path.write_text(FAMILY.format(python=sys.executable, told=str(tmp_path / "pids")))
    path.chmod(0o755)
    return path


def pids(folder: Path) -> list[int]:
    for _ in range(600):
        if (folder / "pids").exists():
            return [int(word) for word in (folder / "pids").read_text().split()]
        time.sleep(0.05)
    raise AssertionError("it never started")


@pytest.mark.fault(
    "a compilation that never ends",
    outcome="nvcc is killed at its deadline with all passes that it started; its variants fail.",
)
def test_an_endless_compilation_ends_with_its_passes_at_the_deadline(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "DEADLINE_S", 3)
    started = time.monotonic()
    with pytest.raises(CompileError, match=r"a\.cu: nvcc did not end within 3 s"):
        cache.run(Path("a.cu"), [str(program)])
    assert time.monotonic() - started < 20
    family = pids(tmp_path)
    assert len(family) == 3
    assert all(gone(pid) for pid in family)


def test_a_command_that_ends_says_its_code_and_both_of_its_outputs() -> None:
    said = children.output(["sh", "-c", "echo out; echo err >&2; exit 3"], 60)
    assert said == children.Said(3, "out\n", "err\n")


def test_what_a_command_leaves_running_in_its_group_ends_with_it() -> None:
    said = children.output(["sh", "-c", "sleep 600 & echo $!"], 60)
    assert gone(int(said.out))


def test_a_command_that_does_not_exist_is_an_oserror() -> None:
    with pytest.raises(OSError, match="No such file"):
        children.output(["/no/such/program"], 1)


@pytest.mark.fault(
    "kill -9 of the harness while it compiles",
    outcome="A guardian kills the compiler and all that it started, sessions of their own too.",
)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_parent_that_is_killed(
    program: Path, tmp_path: Path, number: int
) -> None:
    script = f"from harness.processes import children; children.output([{str(program)!r}], 600)"
    parent = subprocess.Popen(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    family = pids(tmp_path)
    os.kill(parent.pid, number)
    assert parent.wait(20) == -number
    assert all(gone(pid) for pid in family)


def test_after_stopping_nothing_more_is_started(tmp_path: Path) -> None:
    script = (
        "from harness.processes import children\n"
        "children.stop_all()\n"
        "print(children.output(['sleep', '600'], 600).code)"
    )
    ended = run_python(script)
    assert (ended.returncode, ended.stdout) == (0, "-9\n")


@pytest.mark.fault(
    "a compiler that is killed, or has no room for its files",
    outcome="Its variants fail with what it said, and a resumed run compiles them again.",
)
@pytest.mark.parametrize(
    "script",
    ["kill -9 $$", "echo \"nvcc error : 'cicc' died due to signal 9 (Kill signal)\" >&2; exit 9",
     "echo 'fatal error: error writing to /tmp/x: No space left on device' >&2; exit 1"],
)  # fmt: skip
def test_a_compiler_that_was_stopped_says_nothing_against_the_source(script: str) -> None:
    with pytest.raises(CompilerStopped, match=r"nvcc was stopped at a\.cu"):
        cache.run(Path("a.cu"), ["sh", "-c", script])


@pytest.mark.fault(
    "a source that does not compile", outcome="Its variants fail with nvcc's words; others run."
)
def test_a_source_that_is_rejected_is_no_stopped_compiler() -> None:
    with pytest.raises(CompileError, match=r"nvcc rejects a\.cu:\nx\.cu\(5\): error") as caught:
        cache.run(Path("a.cu"), ["sh", "-c", "echo 'x.cu(5): error: no' >&2; exit 2"])
    assert not isinstance(caught.value, CompilerStopped)


def test_a_process_knows_its_relatives_by_their_marks() -> None:
    told = "from harness.processes import reaper; print(reaper.relatives([{}, 1]))"
    sibling = children.Child(["sleep", "30"])
    stranger = subprocess.Popen(["sleep", "30"])
    try:
        said = children.output([sys.executable, "-c", told.format(sibling.pid)], 30)
        assert said.out.split() == [f"[{sibling.pid}]"]
        said = children.output([sys.executable, "-c", told.format(stranger.pid)], 30)
        assert said.out.split() == ["[]"]
    finally:
        sibling.end(thoroughly=True)
        stranger.kill()
        stranger.wait()
