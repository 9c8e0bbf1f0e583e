"""A process forked from a server is independent of it, but does not outlive it."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from started_processes import gone

from harness.processes import reaper
from harness.processes.children import begin_anew, stop_all
from harness.processes.fork_server import Forked, ForkServer, ServerEnded

SERVER = """\
import json, os, sys, time
imported = {"by": os.getpid()}
from harness.processes.fork_server import serve
arguments = serve(int(sys.argv[1]))
if arguments is not None:
    words, pipe = arguments[:-1], int(arguments[-1])
    exec(words[0])
"""

TELL = """\
import random, subprocess
found = dict(
    pid=os.getpid(), session=os.getsid(0), server=imported["by"], words=words,
    word=os.environ.get("A_WORD", ""), drawn=random.random(),
    marks=[open("/proc/self/environ").read()],
)
os.write(pipe, json.dumps(found).encode())
"""


@pytest.fixture
def server(importable: None) -> Iterator[ForkServer]:
    made = ForkServer([sys.executable, "-c", SERVER], 60)
    yield made
    made.close()


Fork = Callable[..., tuple[Forked, dict[str, Any]]]


@pytest.fixture
def fork(server: ForkServer) -> Fork:
    """A process that runs a program; return what it writes to its pipe until it ends."""

    def do(program: str, *words: str) -> tuple[Forked, dict[str, Any]]:
        process, reading = begun(server, program, *words)
        with os.fdopen(reading) as lines:
            text = lines.read()
        return process, json.loads(text or "{}")

    return do


def begun(server: ForkServer, program: str, *words: str) -> tuple[Forked, int]:
    reading, writing = os.pipe()
    try:
        with tempfile.TemporaryFile() as output:
            return server.fork([program, *words], output.fileno(), writing), reading
    finally:
        os.close(writing)


def test_each_has_its_own_session_words_environment_and_chance(
    fork: Fork, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, one = fork(TELL, "a")
    monkeypatch.setenv("A_WORD", "größer \udcff")
    second, other = fork(TELL, "b", "c")
    assert (first.end(), second.end()) == (0, 0)
    assert one["server"] == other["server"] != one["pid"] != other["pid"]
    assert one["session"] == one["pid"] == first.pid
    assert (one["words"][1:], other["words"][1:]) == (["a"], ["b", "c"])
    assert (one["word"], other["word"]) == ("", "größer \udcff")
    assert one["drawn"] != other["drawn"]


def test_what_one_changes_no_other_sees(fork: Fork) -> None:
    change = "imported['by'] = 0; os.environ['A_WORD'] = 'changed'; os.chdir('/')\n"
    _, one = fork(change + TELL)
    _, other = fork("os.stat('tests')\n" + TELL)
    assert (one["server"], one["word"]) == (0, "changed")
    assert (other["server"] > 0, other["word"]) == (True, "")


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("pass", 0),
        ("sys.exit(7)", 7),
        ("os._exit(8)", 8),
        ("raise KeyError", 1),
        ("os.abort()", -signal.SIGABRT),
        ("os.kill(os.getpid(), 9)", -signal.SIGKILL),
    ],
)
def test_its_end_is_told_by_its_exit_code(fork: Fork, program: str, code: int) -> None:
    process, _ = fork(program)
    assert process.end(thoroughly=False) == code
    assert process.end(thoroughly=False) == code  # the same again, after it was collected


def test_its_mark_in_proc_is_its_own(fork: Fork) -> None:
    marks = []
    for _ in range(2):
        process, found = fork(TELL)
        process.end()
        (block,) = found["marks"]
        (mark,) = (e for e in block.split("\0") if e.startswith(reaper.VARIABLE))
        marks.append(mark.partition("=")[2].rstrip("_"))
    assert marks[0] != marks[1]
    assert all(mark.endswith(".") for mark in marks)


STRAY = """\
if not os.fork():
    os.setsid()
    os.write(pipe, json.dumps(dict(pid=os.getpid())).encode())
    os.close(pipe)
    time.sleep(600)
os.close(pipe)
time.sleep({seconds})
"""


@pytest.mark.parametrize("seconds", [0, 600])
def test_what_it_forks_into_another_session_ends_with_it(fork: Fork, seconds: int) -> None:
    process, found = fork(STRAY.format(seconds=seconds))
    process.end()
    assert gone(found["pid"])


def test_ending_one_leaves_the_others(server: ForkServer) -> None:
    one, reading = begun(server, "time.sleep(600)")
    other, _ = begun(server, "time.sleep(600)")
    assert one.end() == -signal.SIGKILL
    assert not other.ends_within(0.2)
    assert other.end() == -signal.SIGKILL
    os.close(reading)


def test_none_outlives_its_server(server: ForkServer) -> None:
    process, _ = begun(server, "time.sleep(600)")
    server.close()
    assert process.ends_within(10)
    assert process.end() == -signal.SIGKILL
    with pytest.raises(ServerEnded):
        begun(server, "pass")


def test_a_server_that_cannot_start_says_why(importable: None) -> None:
    server = ForkServer([sys.executable, "-c", "import no_such_module"], 60)
    with pytest.raises(ServerEnded, match="No module named 'no_such_module'"):
        begun(server, "pass")
    assert not server.is_alive


def test_a_server_that_does_not_answer_is_ended(importable: None) -> None:
    server = ForkServer([sys.executable, "-c", "import time; time.sleep(600)"], 0.5)
    with pytest.raises(ServerEnded, match="timed out"):
        begun(server, "pass")
    assert not server.is_alive


def test_after_stopping_none_is_forked(server: ForkServer) -> None:
    process, _ = begun(server, "time.sleep(600)")
    try:
        stop_all()
        assert process.ends_within(10)
        with pytest.raises(ServerEnded):
            begun(server, "time.sleep(600)")
    finally:
        begin_anew()
