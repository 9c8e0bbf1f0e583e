"""The command that runs inside a sandbox: what is imported, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.commands.runs import sandbox
from harness.compiler import cache
from harness.errors import UsageError

IGNORES = """
import signal, time
for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(each, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.fault(
    "a package `harness` in the folder in which a sandboxed run starts",
    outcome="It is not imported.",
)
def test_a_package_of_that_name_in_the_current_folder_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness" / "__init__.py").write_text("raise SystemExit('a stranger')")
    command = [sys.executable, "-c", sandbox._STARTED, str(sandbox.REPOSITORY), "--version"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert "stranger" not in ended.stdout + ended.stderr


@pytest.mark.fault(
    "a stranger's code that ignores signals", outcome="With --sandbox, it is killed after a while."
)
def test_a_command_that_ignores_signals_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_GRACE_S", 0.2)
    inside = subprocess.Popen([sys.executable, "-c", IGNORES], stdout=subprocess.PIPE)
    assert inside.stdout is not None
    with inside.stdout:
        inside.stdout.readline()
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
        assert sandbox._wait(inside, inside.pid) == 128 + signal.SIGKILL


def test_nothing_is_made_behind_a_link_to_the_caches(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path = tmp_path_factory.mktemp("linked")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".cache").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(cache, "CACHE", tmp_path / ".cache" / "compile")
    with pytest.raises(UsageError, match="is a link"):
        sandbox._inside("bwrap", None, [], tmp_path / "own", [])  # type: ignore[arg-type]
    assert list((tmp_path / "elsewhere").iterdir()) == []
