"""However a worker ends, a sentence describes how it ended, and no process remains."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from started_processes import gone
from tiny_problem import KERNEL

from harness.cases import Case
from harness.compiler import cache as compile_cache
from harness.compiler import compile as compiler
from harness.compiler.compile import Built, Unit
from harness.job import Job
from harness.journal.records import Outcome, Record, Verified, to_json
from harness.processes import workers
from harness.processes.workers import Ended, Workers

pytestmark = pytest.mark.usefixtures("importable")

LONG = 60.0
"""A deadline that no test should reach."""
SHORT = 5.0
"""A deadline that is reached, yet long enough for the first size on a slow machine."""

Qualify = Callable[[str], Job]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The kernel of the tiny problem, compiled once: only problem.py differs between the tests."""
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "v0.cu").write_text(KERNEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compile_cache, "CACHE", folder / "cache")
        return compiler.build(Unit(folder / "v0.cu", (), (("DTYPE", "float"),), "sm_90"))


@pytest.fixture
def qualify(folder: Path, built: Built, double: Callable[..., Case]) -> Qualify:
    """A job at n = 1 and then n = 33, whose problem.py misbehaves at its second size."""

    def make(at_33: str) -> Job:
        problem = folder / "kernels" / "double" / "problem.py"
        text = problem.read_text()
        start = "    def inputs(self, sizes, dtype, rng, draw):\n"
        assert text.count(start) == 1
        problem.write_text(
            "import os, signal, subprocess, sys, time\n"
            f"FOLDER = {str(folder)!r}\n"
            + text.replace(start, f"{start}        if sizes['n'] == 33:\n            {at_33}\n")
        )
        tests = (double(n=1), double(n=33))
        return Job("qualify", "emulator", "sm_90", folder / "kernels", 7, tests,
                   built={case.id: built for case in tests})  # fmt: skip

    return make


def do(job: Job, deadline_s: float = LONG) -> tuple[Ended, list[Record]]:
    records: list[Record] = []
    workers = Workers()
    ended = workers.do(job, deadline_s, records.append)
    assert workers._running == set()
    return ended, records


def is_first_size_on_both_draws(records: list[Record]) -> bool:
    return [(r.sizes, r.draw, r.ok) for r in records if isinstance(r, Verified)] == [
        ({"n": 1}, 0, True),
        ({"n": 1}, 1, True),
    ]


def test_a_job_done_whole_has_no_reason(qualify: Qualify) -> None:
    ended, records = do(qualify("pass"))
    assert ended == Ended()
    assert [r.sizes["n"] for r in records if isinstance(r, Verified) and r.ok] == [1, 1, 33, 33]


@pytest.mark.fault(
    "a worker, a kernel or a problem.py that prints on standard output",
    outcome="It is kept for when the worker dies, and nothing of it is taken for a result.",
)
def test_what_a_worker_prints_is_no_result(qualify: Qualify) -> None:
    forged = to_json(Outcome("double/v0/float32/n=33/block=64", "ok", "forged"))
    ended, records = do(qualify(f"print('record ' + {forged!r}); print('now x'); print('error y')"))
    assert ended == Ended()
    assert [r.sizes["n"] for r in records if isinstance(r, Verified) and r.ok] == [1, 1, 33, 33]
    assert not any(isinstance(r, Outcome) for r in records)


def test_a_line_of_the_pipe_that_is_no_record_ends_its_worker(qualify: Qualify) -> None:
    ended, records = do(qualify("os.write(int(sys.argv[2]), b'record no such thing\\n')"))
    assert ended.reason == "its worker wrote no record: record no such thing"
    assert is_first_size_on_both_draws(records)


def test_describing_gives_the_device() -> None:
    ended, _ = do(Job("describe", "emulator", "sm_80", Path(), 1))
    assert ended.reason == ""
    assert ended.device is not None
    assert ended.device.arch == "sm_80"


@pytest.mark.fault(
    "a worker that crashes", outcome="Its end is told in a sentence, and its records stay."
)
@pytest.mark.parametrize(
    ("crash", "words"),
    [
        ("os.abort()", "the process was ended by SIGABRT"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "the process was ended by SIGSEGV"),
        ("os._exit(3)", "the process ended with exit code 3"),
        ("sys.exit(4)", "the process ended with exit code 4"),
        ("print('its last words', flush=True); os._exit(5)", "exit code 5\nits last words"),
        ("print('x' * 5000 + 'the end', file=sys.stderr, flush=True); os._exit(6)", "xxxthe end"),
        ("os.write(int(sys.argv[2]), b'record {\"torn'); os._exit(7)", "exit code 7"),
        ("os.write(int(sys.argv[2]), b'no such word\\n'); os._exit(8)", "exit code 8"),
    ],
)
def test_a_worker_that_dies_becomes_a_sentence_and_its_records_stay(
    qualify: Qualify, crash: str, words: str
) -> None:
    ended, records = do(qualify(crash))
    assert words in ended.reason
    assert len(ended.reason) < 2500
    assert ended.at == "double/v0/float32/n=1/block=64"
    assert is_first_size_on_both_draws(records)


def test_a_fault_of_the_problem_is_told_as_one_of_no_case(qualify: Qualify) -> None:
    ended, records = do(qualify("raise KeyError('no such thing')"))
    assert "inputs(): KeyError: 'no such thing'\n  for n = 33, float32, draw 0" in ended.reason
    assert ended.at == ""
    assert is_first_size_on_both_draws(records)


def test_a_refusal_of_the_harness_is_told_in_its_own_words(qualify: Qualify) -> None:
    ended, records = do(qualify("return {'input': rng.random(2, dtype='float32')}"))
    assert ended.reason.startswith("problem.py: inputs()['input'] is 2 × float32")
    assert is_first_size_on_both_draws(records)


def test_running_out_of_memory_is_an_end_like_others(qualify: Qualify) -> None:
    ended, records = do(qualify("raise MemoryError"))
    assert re.fullmatch(
        r"the machine has no memory left; [\d.]+ GiB of it are available", ended.reason
    )
    assert ended.no_memory
    assert is_first_size_on_both_draws(records)


def test_a_problem_that_cannot_be_loaded_is_told_with_its_line(
    qualify: Qualify, folder: Path
) -> None:
    job = qualify("pass")
    (folder / "kernels" / "double" / "problem.py").write_text("x = 1\nx +\n")
    ended, records = do(job)
    assert "problem.py:2: SyntaxError" in ended.reason
    assert records == []


def test_a_worker_that_hangs_is_stopped_at_its_deadline(qualify: Qualify, folder: Path) -> None:
    job = qualify("open(FOLDER + '/pid', 'w').write(str(os.getpid())); time.sleep(600)")
    ended, records = do(job, SHORT)
    assert ended.reason == "not done within 5 s, and stopped"
    assert ended.at == "double/v0/float32/n=1/block=64"
    assert is_first_size_on_both_draws(records)
    assert gone(int((folder / "pid").read_text()))


CHILD = (
    "signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "child = subprocess.Popen(['sleep', '600'], pass_fds=[int(sys.argv[2])] if {keep} else [],"
    " start_new_session={far});"
    " open(FOLDER + '/pid', 'w').write(str(child.pid)); {then}"
)


@pytest.mark.fault(
    "a worker that ignores SIGTERM, or leaves children behind",
    outcome="It is killed at its deadline with all of its children, even those in a session of "
    "their own.",
)
@pytest.mark.parametrize(
    ("keep", "far", "then", "deadline_s", "words"),
    [
        (False, False, "os._exit(9)", LONG, "exit code 9"),
        (False, False, "time.sleep(600)", SHORT, "not done within"),
        (False, True, "os._exit(9)", LONG, "exit code 9"),
        (False, True, "time.sleep(600)", SHORT, "not done within"),
        # A child that holds the pipe open keeps the parent waiting; the deadline ends this wait,
        # too.
        (True, False, "os._exit(9)", SHORT, "not done within"),
        (True, True, "os._exit(9)", SHORT, "not done within"),
    ],
)
def test_no_child_of_a_worker_outlives_it(
    qualify: Qualify, folder: Path, keep: bool, far: bool, then: str, deadline_s: float, words: str
) -> None:
    ended, _ = do(qualify(CHILD.format(keep=keep, far=far, then=then)), deadline_s)
    assert words in ended.reason
    assert gone(int((folder / "pid").read_text()))


@pytest.mark.fault(
    "kill -9 of the process that workers are forked from",
    outcome="The worker counts as killed from outside, and the next comes from another such "
    "process.",
)
def test_a_worker_that_dies_with_its_server_was_killed_and_the_next_runs(qualify: Qualify) -> None:
    ended, records = do(qualify("os.kill(os.getppid(), signal.SIGKILL); time.sleep(600)"))
    assert ended.reason.startswith("the process was ended by SIGKILL")
    assert ended.killed
    assert is_first_size_on_both_draws(records)
    ended, _ = do(Job("describe", "emulator", "sm_80", Path(), 1))
    assert ended.reason == ""
    assert ended.device is not None


def test_servers_of_import_paths_that_were_left_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    servers, before = [], os.environ["PYTHONPATH"]
    monkeypatch.setattr(workers, "MOST_SERVERS", 2)
    for number in range(workers.MOST_SERVERS + 1):
        monkeypatch.setenv("PYTHONPATH", f"{before}:{tmp_path / str(number)}")
        ended, _ = do(Job("describe", "emulator", "sm_80", Path(), 1))
        assert ended.reason == ""
        servers.append(workers._server("cpu")._child.pid)
    assert gone(servers[0])
    assert not gone(servers[-1], within_s=0.1)


def test_a_worker_stands_in_the_folder_of_its_time_and_imports_from_it(
    qualify: Qualify, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    job, servers = qualify("import beside; sys.exit(f'{os.getcwd()} {beside.WORD}')"), set()
    for word in ("one", "two"):
        (tmp_path / word).mkdir()
        (tmp_path / word / "beside.py").write_text(f"WORD = {word!r}\n")
        monkeypatch.chdir(tmp_path / word)
        ended, _ = do(job)
        assert ended.reason.endswith(f"{tmp_path / word} {word}")
        servers.add(workers._server("cpu")._child.pid)
    assert len(servers) == 1


def test_a_worker_has_the_environment_of_its_time(
    qualify: Qualify, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = qualify("sys.exit(os.environ['A_WORD'])")
    for word in ("one", "two"):
        monkeypatch.setenv("A_WORD", word)
        ended, _ = do(job)
        assert ended.reason == f"the process ended with exit code 1\n{word}"


def test_stopping_ends_whatever_runs(qualify: Qualify, folder: Path) -> None:
    job = qualify("open(FOLDER + '/pid', 'w').write(str(os.getpid())); time.sleep(600)")
    workers, found = Workers(), []
    thread = threading.Thread(target=lambda: found.append(workers.do(job, LONG)))
    thread.start()
    for _ in range(600):
        if (folder / "pid").exists() and (folder / "pid").read_text():
            break
        time.sleep(0.05)
    workers.stop()
    thread.join(30)
    assert not thread.is_alive()
    assert found[0].reason.startswith("the process was ended by SIGKILL")
    assert gone(int((folder / "pid").read_text()))
    workers.stop()  # nothing is left to stop


def test_a_listener_that_fails_takes_its_worker_with_it(qualify: Qualify, folder: Path) -> None:
    job = qualify("time.sleep(600)")
    path = folder / "kernels" / "double" / "problem.py"
    path.write_text(path.read_text() + "\nopen(FOLDER + '/pid', 'w').write(str(os.getpid()))\n")

    def refuse(record: Record) -> None:
        raise OSError("the disk is full")

    workers = Workers()
    with pytest.raises(OSError, match="disk is full"):
        workers.do(job, LONG, refuse)
    assert workers._running == set()
    assert gone(int((folder / "pid").read_text()))


def test_two_jobs_run_side_by_side_and_keep_their_records_apart(qualify: Qualify) -> None:
    job = qualify("pass")
    workers = Workers()
    other = replace(job, tests=job.tests[1:])
    found: dict[str, list[Record]] = {"a": [], "b": []}
    threads = [
        threading.Thread(target=workers.do, args=(job, LONG, found["a"].append)),
        threading.Thread(target=workers.do, args=(other, LONG, found["b"].append)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found["a"]) == 4
    assert len(found["b"]) == 2
