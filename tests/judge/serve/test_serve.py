"""`serve` replies to every line: to a request with verdicts, to anything else with the error in
it."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import affine
import pytest

from harness.commands.serve import serve
from harness.errors import UsageError
from harness.judge.judge import Judge
from harness.judge.serve import protocol
from harness.judge.slots.pool import SlotLost
from harness.judge.slots.process import Answer
from harness.judge.submissions import SUBMISSION
from harness.machine import devices
from harness.processes import reaper

ROOT = Path(__file__).parents[3]
Asked = Callable[..., list[dict[str, Any]]]


def line(name: str, **more: object) -> str:
    said = json.loads(SUBMISSION.dump_json(affine.submission(name)))
    return json.dumps({**said, "id": name, **more})


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    """Send lines to a separate judge: asked(lines, option, …) → its replies."""

    def ask(lines: Sequence[str], *options: str) -> list[dict[str, Any]]:
        ended = subprocess.run(
            [sys.executable, "-m", "harness", "serve", "--jobs", "1", *options],
            input="\n".join([*lines, ""]), cwd=tmp_path, capture_output=True, text=True,
            timeout=300, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        ready, *answers = map(json.loads, ended.stdout.splitlines())
        assert ready["ready"]
        assert ready["version"] == protocol.VERSION
        return answers

    return ask


KINDS = {
    "right": "right", "wrong": "wrong", "endless": "fault", "outside": "fault",
    "unknown": "compile-error", "cheat": "cheat",
}  # fmt: skip


def test_every_request_has_an_answer_by_its_own_name(asked: Asked) -> None:
    answers = asked([line(name) for name in [*KINDS, "right"]], "--no-sandbox")
    found = sorted((each["id"], each["verdicts"][0]["verdict"]) for each in answers)
    assert found == sorted([*KINDS.items(), ("right", "right")])
    seeds = {each["verdicts"][0]["seed"] for each in answers}
    assert len(seeds) == len(answers), "inputs that are known beforehand"


@pytest.mark.fault(
    "lines that are no requests: broken, too long, too deep, of unknown fields",
    "each is answered with what is wrong with it, and the judge goes on",
)
def test_what_is_no_request_is_answered_with_what_is_wrong(asked: Asked) -> None:
    good = json.loads(line("right"))
    problem = good["problem"]
    broken = [
        '{"id": 1, ',
        "[]",
        json.dumps({**good, "id": 2, "kernels": []}),
        json.dumps({**good, "id": 3, "kernls": []}),
        json.dumps({**good, "id": 4, "problem": {**problem, "test": {"m": [1]}}}),
        json.dumps({**good, "id": 5, "version": 99}),
        json.dumps({**good, "id": 6, "seconds": 1e9}),
        json.dumps({**good, "id": 7, "kernels": [{**good["kernels"][0], "grid": "n +"}]}),
        json.dumps({**good, "id": 8, "kind": "time"}),
        "x" * (protocol.LONGEST + 10),
        "",
        "[" * 100_000,
        "\udcff".encode("utf-8", "surrogateescape").decode("latin-1"),
    ]
    answers = asked([*broken, line("right")], "--no-sandbox")
    errors = {each["id"]: each["error"] for each in answers if each["error"]}
    assert len(answers) == len(broken)  # the empty line gets no reply; the last line does
    assert answers[-1]["verdicts"][0]["verdict"] == "right"
    kinds = [(n, errors[n]["kind"], errors[n]["at"]) for n in range(2, 9)]
    assert kinds == [
        (2, "not-a-request", "kernels"), (3, "not-a-request", "kernls"),
        (4, "not-a-request", "problem"), (5, "not-a-request", "version"),
        (6, "not-a-request", "seconds"), (7, "refused", ""), (8, "no-gpu", ""),
    ]  # fmt: skip
    assert "did you mean kernels?" in errors[3]["message"]
    assert "right.cu" not in errors[7]["message"]
    assert "bench.yaml" in errors[7]["message"]
    assert "harness.check() counts exactly" in errors[8]["message"]


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({"entry": "x" * 5000, "name": ""}, "kernels.0.entry"),
        ({"entry": "ß" * 101, "name": ""}, "kernels.0.entry"),
        ({"name": "x" * 201}, "kernels.0.name"),
        ({"headers": {"a/" + "x" * 201: ""}}, "kernels.0.headers"),
        ({"entry": "", "grid": [], "block": [], "args": [],
          "launches": [{"entry": "x" * 201, "grid": [1], "block": [1], "args": []}]},
         "kernels.0.launches.0.entry"),
    ],
)  # fmt: skip
def test_a_name_too_long_for_a_file_is_refused_with_its_field(
    change: dict[str, Any], at: str
) -> None:
    good = json.loads(line("right"))
    kernel = good["kernels"][0]
    known = json.dumps({**good, "kernels": [{**kernel, "entry": "x" * 200}]})
    assert protocol.read(known.encode())
    with pytest.raises(protocol.BadRequest) as caught:
        protocol.read(json.dumps({**good, "kernels": [{**kernel, **change}]}).encode())
    error = caught.value.answer.error
    assert error
    assert error.at.startswith(at)
    assert error.message.endswith("bytes; at most 200")


@pytest.fixture
def sandboxed() -> None:
    from harness.judge.slots import walls

    if why := walls.refusal():
        pytest.skip(why)


@pytest.mark.fault(
    "a reference that writes files and opens sockets, in the sandbox of `serve`",
    "both are refused by the system",
)
@pytest.mark.usefixtures("sandboxed")
def test_in_a_sandbox_a_reference_can_write_nothing_and_reach_nobody(
    asked: Asked, tmp_path: Path
) -> None:
    target = tmp_path / "written"
    source = (
        "import pathlib, socket, tempfile\n"
        "def tried(what):\n"
        "    try:\n"
        "        what()\n"
        "        return 0\n"
        "    except OSError:\n"
        "        return 1\n"
        f"refused = tried(lambda: open({str(target)!r}, 'w'))\n"
        f"refused += tried(lambda: open({str(ROOT / 'written')!r}, 'w'))\n"
        "refused += tried(lambda: socket.create_connection(('127.0.0.1', 9), 1))\n"
        "refused += tried(lambda: socket.socket(socket.AF_UNIX))\n"
        "refused += tried(lambda: open(pathlib.Path(__file__).with_name('more'), 'w'))\n"
        "here, scratch = pathlib.Path.cwd(), pathlib.Path(tempfile.gettempdir())\n"
        "is_swept = here.is_relative_to(scratch)\n"
        "def affine(x, n):\n"
        "    return 3 * x + n + (refused != 5 or is_swept)\n"
    )
    request = json.loads(line("right"))
    request["problem"]["reference"] = {"source": source, "name": "affine"}
    answers = asked([json.dumps(request)], "--sandbox")
    assert answers[0]["verdicts"][0]["verdict"] == "right", answers
    assert not target.exists()


@pytest.mark.fault(
    "a submission that takes more memory than it may",
    "cannot-tell, with the line that asked for it; the next is judged",
)
def test_what_takes_too_much_memory_is_ended_and_the_next_is_judged(asked: Asked) -> None:
    eats = json.loads(line("right", id="eats"))
    source = "kept = bytearray(3 << 30)\ndef affine(x, n):\n    return 3 * x + n\n"
    eats["problem"]["reference"] = {"source": source, "name": "affine"}
    answers = asked([json.dumps(eats), line("right")], "--no-sandbox", "--memory", "1024")
    found = {each["id"]: each["verdicts"][0] for each in answers}
    assert found["eats"]["verdict"] == "cannot-tell"
    assert "MemoryError" in found["eats"]["text"]
    assert found["right"]["verdict"] == "right"


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "judge"
    serving = subprocess.Popen(
        [sys.executable, "-m", "harness", "serve", "--jobs", "1", "--no-sandbox",
         "--socket", str(path)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert serving.stderr
    assert "listening" in serving.stderr.readline()
    yield path
    serving.send_signal(signal.SIGTERM)
    assert serving.wait(30) == 128 + signal.SIGTERM
    assert not path.exists()
    left, _ = reaper.marked(str(serving.pid))
    assert not left


def test_a_socket_serves_several_and_belongs_to_its_user(listening: Path) -> None:
    assert stat.S_IMODE(listening.stat().st_mode) == 0o600
    answers = []
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as gone:
        for each in (one, gone):
            each.connect(str(listening))
        gone.sendall(line("endless").encode() + b"\n")
        gone.close()  # a client that disconnects does not affect the others
        one.sendall(f"{line('wrong')}\n{line('right')}\n".encode())
        one.shutdown(socket.SHUT_WR)
        with one.makefile("rb") as lines:
            _, *answers = map(json.loads, lines)
    found = {each["id"]: each["verdicts"][0]["verdict"] for each in answers}
    assert found == {"wrong": "wrong", "right": "right"}


def test_a_socket_that_is_taken_is_refused(listening: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "harness", "serve", "--no-sandbox", "--socket", str(listening)],
        capture_output=True, text=True, timeout=120, cwd=listening.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert ended.returncode == 2
    assert "a judge listens there already" in ended.stdout + ended.stderr


@pytest.mark.fault("`serve` is killed", "none of its processes outlives it")
def test_it_ends_with_whoever_started_it_and_leaves_no_process(tmp_path: Path) -> None:
    serving = subprocess.Popen(
        [sys.executable, "-m", "harness", "serve", "--jobs", "1", "--no-sandbox"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert serving.stdout
    serving.stdout.readline()
    before = _below(serving.pid)
    assert before
    serving.kill()
    until = time.monotonic() + 20
    while any(map(_runs, before)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not [pid for pid in before if _runs(pid)]


def _below(pid: int) -> list[int]:
    """All descendants of a given process."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            told = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(told[1]), []).append(int(path.name))
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_requests_and_answers_keep_to_the_published_schema(asked: Asked) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "harness" / "schemas" / "judge.schema.json").read_text())
    request = json.loads(line("right"))
    short = {
        "id": "short", "problem": {**request["problem"], "inputs": {"x": "n"}, "dtypes": "float32"},
        "kernels": [{**request["kernels"][0], "grid": "ceil_div(n, 256)", "block": 256}],
    }  # fmt: skip
    answers = asked([json.dumps(short), line("wrong"), "{}"], "--no-sandbox")
    for each in (request, short, *answers):
        jsonschema.validate(each, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**request, "kernls": []}, schema)


class FreeSlots:
    """A pool that has as many slots as requested."""

    def __init__(self, home: Path) -> None:
        self.home = home

    @contextmanager
    def one(self) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(home=self.home, matrices=self.home)

    def stop(self) -> None: ...


def test_two_timed_submissions_never_share_the_gpu_and_a_check_passes_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "has_driver", lambda: True)
    monkeypatch.setattr("harness.judge.judge.Slots", lambda *asked: FreeSlots(tmp_path))
    checked, running, most = threading.Event(), set[int](), list[int]()

    def answer(self: Judge, own: object, submission: Any, *rest: object) -> Answer:
        if submission.kind == "check":
            checked.set()
            return Answer([])
        running.add(id(submission))
        most.append(len(running))
        assert checked.wait(30), "the check waited for what is timed"
        threading.Event().wait(0.02)  # long enough for another to begin
        running.discard(id(submission))
        return Answer([])

    monkeypatch.setattr(Judge, "_answer", answer)
    with Judge(jobs=2, home=tmp_path) as judge:
        own = threading.Thread(target=judge.judge, args=(affine.submission("right", kind="time"),))
        own.start()  # a direct call from Python, which does not go through the queue
        timed = [judge.submit(affine.submission("right", kind=k)) for k in ("time", "compare")]
        judge.submit(affine.submission("right")).result(30)
        for each in timed:
            each.result(30)
        own.join()
    assert most == [1, 1, 1]


def test_a_judge_whose_processes_do_not_start_says_so_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(self: FreeSlots) -> None:
        raise SlotLost("the process that judged it ended\nbwrap: no such file")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("harness.judge.judge.Slots", lambda *asked: FreeSlots(tmp_path))
    monkeypatch.setattr(FreeSlots, "wait", wait, raising=False)
    with pytest.raises(UsageError, match=r"could not be started: .*\nbwrap: no such file"):
        serve(1, None, False, None, 60)
