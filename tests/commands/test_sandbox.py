"""--sandbox runs the command again inside bubblewrap, tested with a bwrap that only records and
with a real one."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import pytest
from sandboxes import needs_a_sandbox, notes, pairs, sandboxed, says, started, stub, title

from harness.commands.runs.sandbox import _STARTED as STARTED
from harness.errors import UsageError
from harness.sandbox import no_sockets

REPOSITORY = Path(__file__).parents[2]


PROBES = """
def probe():
    import os, resource, socket
    from pathlib import Path
    found = {{}}
    for name in ("/etc/probe", "/usr/probe", {repository!r} + "/probe", {here!r} + "/probe",
                 {here!r} + "/.cache/probe", os.path.expanduser("~/probe"),
                 {here!r} + "/run/probe"):
        try:
            Path(name).write_text("x")
            found[name] = "written"
        except OSError as error:
            found[name] = error.strerror
    try:
        socket.create_connection(("127.0.0.1", {port}), timeout=2)
        found["network"] = "connected"
    except OSError as error:
        found["network"] = "none"
    found["secret"] = os.path.exists("/tmp/{secret}")
    found["processes"] = sum(name.isdigit() for name in os.listdir("/proc"))
    found["data"] = resource.getrlimit(resource.RLIMIT_DATA)[0]
    found["settings"] = [n for n in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness",
                                     "/proc/sysrq-trigger") if os.access(n, os.W_OK)]
    os.chmod({here!r} + "/run/probe", 0o6755)
    return found
"""


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with caches of its own, because a sandbox follows no link to the caches that
    commands share."""
    return tmp_path_factory.mktemp("sandbox")


@pytest.fixture
def bwrap(tmp_path: Path) -> Path:
    """A folder for PATH with a bwrap that records its arguments and waits for a while."""
    programs = tmp_path / "programs"
    programs.mkdir()
    stub(programs, tmp_path, works=True, waits=0)
    return programs


@pytest.mark.fault(
    "--sandbox without bubblewrap", outcome="a sentence and exit code 2; nothing runs"
)
@pytest.mark.parametrize("command", ["run", "profile"])
def test_without_bubblewrap_nothing_runs(folder: Path, tmp_path: Path, command: str) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    ended = started(folder, str(empty), command, "--sandbox", "--backend", "emulator")
    out, err = ended.communicate(timeout=120)
    assert ended.returncode == 2, err
    assert "--sandbox needs bubblewrap, and there is no bwrap on PATH\n  install it" in out
    assert "Traceback" not in out + err
    assert not (folder / "reports").exists()


@pytest.mark.fault(
    "bubblewrap that may not make a sandbox here",
    outcome="a sentence and exit code 2; nothing runs",
)
def test_where_no_sandbox_can_be_made_nothing_runs(folder: Path, bwrap: Path) -> None:
    stub(bwrap, bwrap.parent, works=False, waits=0)
    ended = started(folder, str(bwrap), "run", "--sandbox")
    out, err = ended.communicate(timeout=120)
    assert ended.returncode == 2
    assert "bubblewrap cannot create a sandbox on this machine" in out
    assert "bwrap: no namespaces here" in err
    assert list((folder / "reports").glob("*")) == []


def test_the_same_command_runs_inside_walls(folder: Path, bwrap: Path) -> None:
    ended = started(folder, str(bwrap), "run", "--sandbox", "--only", "double", "--quick", "--json",
                    "results.json")  # fmt: skip
    _, err = ended.communicate(timeout=120)
    assert ended.returncode == 7, err
    given, limits = notes(bwrap.parent)
    walls, inner = given[: given.index("--")], given[given.index("--") + 1 :]
    assert inner[:-1] == [sys.executable, "-c", STARTED, str(REPOSITORY), "run", "--only", "double",
                          "--quick", "--json", "results.json", "--out"]  # fmt: skip
    run = folder / inner[-1]
    assert run.parent == folder / "reports"
    for option in ("--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1"):
        assert option in walls
    assert "--share-net" not in walls
    assert pairs(walls, "--cap-drop")[0][0] == "ALL"
    assert pairs(walls, "--ro-bind")[0] == ("/", "/")
    cache = folder / ".cache"
    compiled, home, *named = pairs(walls, "--bind")
    assert compiled[1] == str(cache / "compile")
    own = Path(compiled[0]).parent
    assert home == (str(own / "home"), "/tmp/harness-home")
    assert own.parent == Path(tempfile.gettempdir())
    assert not own.exists()  # used by this run only
    assert named == [
        (str(run), str(run)),
        (str(folder / "results.json"), str(folder / "results.json")),
    ]
    assert ("--tmpfs", "/tmp") in list(pairwise(walls))
    assert ("--tmpfs", "/run") in list(pairwise(walls))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < limits["DATA"][0] < memory
    assert limits["DATA"][0] == limits["DATA"][1]
    assert 4096 < limits["NPROC"][0] < 2**31
    assert limits["CORE"] == [0, 0]


@pytest.mark.parametrize(
    "given", [["--save-baseline", "a/b"], ["--save-baseline=a/b"]], ids=["apart", "joined"]
)
def test_a_name_that_no_baseline_can_have_is_refused_before_anything_runs(
    folder: Path, bwrap: Path, given: list[str]
) -> None:
    ended = started(folder, str(bwrap), "profile", "--sandbox", *given)
    out, err = ended.communicate(timeout=120)
    assert ended.returncode == 2, err
    assert "--save-baseline 'a/b': a name has up to 100 letters" in out
    assert not (bwrap.parent / "notes.json").exists()


def test_a_run_that_did_not_end_inside_is_not_kept(folder: Path, bwrap: Path) -> None:
    ended = started(folder, str(bwrap), "run", "--sandbox", "--save-baseline", "before", "--quick")
    out, err = ended.communicate(timeout=120)
    assert ended.returncode == 7, err
    assert "not kept as before: the run did not end" in out
    given, _ = notes(bwrap.parent)
    assert given[given.index("run") :][:2] == ["run", "--quick"]  # no baseline is kept inside
    assert not (folder / "reports" / "baselines").exists()


def test_ctrl_c_is_handed_on_to_what_runs_inside(folder: Path, bwrap: Path) -> None:
    stub(bwrap, bwrap.parent, works=True, waits=60)
    running = started(folder, str(bwrap), "run", "--sandbox")
    deadline = time.monotonic() + 60
    while not (bwrap.parent / "notes.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130


@pytest.mark.fault(
    "a stranger's problem.py that writes elsewhere, connects, or looks at other processes",
    outcome="with --sandbox it cannot: read-only but for the run's folder, no network, limits",
)
def test_inside_a_real_sandbox_a_stranger_reaches_nothing(folder: Path) -> None:
    needs_a_sandbox()
    problem = folder / "kernels" / "double" / "problem.py"
    run = folder / "run"
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        tempfile.NamedTemporaryFile(dir="/tmp") as secret,
    ):
        probes = PROBES.format(repository=str(REPOSITORY), here=str(folder),
                               port=server.getsockname()[1],
            secret=Path(secret.name).name)  # fmt: skip
        text = problem.read_text().replace(
            'title = "output[i] = 2 input[i]"', "title = str(probe())"
        )
        assert "probe()" in text
        problem.write_text(probes + text)
        ended = started(folder, os.environ["PATH"], "run", "--sandbox", "--backend", "emulator",
                        "--quick", "--out", "run", "--save-baseline=theirs")  # fmt: skip
        out, err = ended.communicate(timeout=300)
    assert ended.returncode == 0, out + err
    assert "kept as reports/baselines/theirs" in out
    assert (folder / "reports" / "baselines" / "theirs" / "journal.jsonl.gz").exists()
    found = eval(json.loads((run / "run.json").read_text())["problems"]["double"]["title"])
    assert found.pop("network") == "none"
    assert found.pop("secret") is False
    assert found.pop("settings") == []
    assert (run / "probe").stat().st_mode & 0o7777 == 0o755
    assert found.pop("processes") < 20
    assert 0 < found.pop("data") < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert found.pop(f"{folder}/run/probe") == "written"
    assert len(found) == 6
    assert "written" not in found.values()
    assert (run / "report.html").exists()
    assert list((folder / ".cache" / "compile").iterdir()) == []  # no entry is left outside it


REPLACES = """
import os, shutil
from pathlib import Path
left = []
homes = [os.environ["XDG_CACHE_HOME"], {here!r} + "/.cache/compile", {here!r} + "/.cache/sandbox"]
for home in map(Path, homes):
    for place in (home, home / "compile", home / "home", home / "kernel-harness"):
        try:
            shutil.rmtree(place, ignore_errors=True)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to({mine!r})
            left.append(str(place))
        except OSError:
            pass
return left
"""
WRITES = """
import os
from pathlib import Path
for name in ("XDG_CACHE_HOME", "TRITON_CACHE_DIR"):
    for path in Path(os.environ[name]).glob("**/*"):
        if path.is_symlink():
            return "what an earlier run left is here"
try:
    Path({mine!r}, "notes.txt").write_text("overwritten")
except OSError as error:
    return error.strerror
"""


@pytest.mark.fault(
    "a stranger's problem.py that replaces the sandbox's caches by links to the user's files",
    outcome="each sandboxed run has caches of its own, and the next one never sees them",
)
def test_what_one_sandboxed_run_leaves_does_not_steer_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_a_sandbox()
    (folder / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    mine = folder / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("precious")
    problem = folder / "kernels" / "double" / "problem.py"
    honest = problem.read_text()
    says(folder, REPLACES.format(here=str(folder), mine=str(mine)))
    code, out, err = sandboxed(folder, "--out", "first")
    assert (folder / "first" / "run.json").exists(), out + err
    problem.write_text(honest)
    says(folder, WRITES.format(mine=str(mine)))
    code, out, err = sandboxed(folder, "--out", "second")
    assert code == 0, out + err
    assert title(folder / "second") == "Read-only file system"
    assert {path.name: path.read_text() for path in mine.iterdir()} == {"notes.txt": "precious"}
    assert list((folder / "tmp").iterdir()) == []


@pytest.mark.fault(
    "--out, --json or --markdown of a sandboxed run that is a link, or lies behind one",
    outcome="refused with its name and where it leads, before anything runs",
)
@pytest.mark.parametrize(
    "given", [["--out", "link"], ["--out", "link/run"], ["--json", "link/results.json"]]
)
def test_no_link_is_made_writable(folder: Path, bwrap: Path, given: list[str]) -> None:
    (folder / "mine").mkdir()
    (folder / "link").symlink_to("mine")
    ended = started(folder, str(bwrap), "run", "--sandbox", *given)
    out, err = ended.communicate(timeout=120)
    assert ended.returncode == 2, err
    assert f"--sandbox: {folder / 'link'} is a link" in out
    assert f"name the real path: {folder / 'mine'}" in out
    assert not (bwrap.parent / "notes.json").exists()
    assert list((folder / "mine").iterdir()) == []


def test_the_link_to_the_latest_run_is_the_harnesss_own(folder: Path, bwrap: Path) -> None:
    (folder / "reports" / "kept").mkdir(parents=True)
    (folder / "reports" / "kept" / "x").write_text("")
    (folder / "reports" / "latest").symlink_to("kept")
    ended = started(folder, str(bwrap), "run", "--sandbox", "--out", "reports/latest")
    _, err = ended.communicate(timeout=120)
    assert ended.returncode == 7, err
    run = str(folder / "reports" / "kept")
    assert (run, run) in pairs(notes(bwrap.parent)[0], "--bind")


CONNECTS = """
import socket
found = {{}}
def attempt(name, what):
    try:
        what()
        found[name] = "reached"
    except OSError as error:
        found[name] = error.strerror
stream, packets = {here!r} + "/a.sock", {here!r} + "/b.sock"
attempt("stream", lambda: socket.socket(socket.AF_UNIX).connect(stream))
attempt("datagram", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", packets))
def pair():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.sendto(b"x", packets)
attempt("pair", pair)
attempt("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
ours, theirs = socket.socketpair()
ours.sendall(b"x")
found["own pair"] = theirs.recv(1).decode()
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
found["io_uring"] = (libc.syscall(425, 1, ctypes.create_string_buffer(120)), ctypes.get_errno())
return found
"""


@pytest.mark.fault(
    "a Unix socket of a service that a sandboxed problem.py connects or sends to",
    outcome="no such socket can be made inside, wherever it lies; nothing arrives",
)
def test_no_socket_of_this_machine_is_reached_from_inside(folder: Path) -> None:

    needs_a_sandbox()
    says(folder, CONNECTS.format(here=str(folder)))
    with (
        socket.socket(socket.AF_UNIX) as streams,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as packets,
    ):
        here = os.getcwd()
        os.chdir(folder)  # a socket's whole path may be too long for its address
        try:
            streams.bind("a.sock")
            packets.bind("b.sock")
        finally:
            os.chdir(here)
        streams.listen()
        code, out, err = sandboxed(folder, "--out", "run")
        packets.setblocking(False)
        with pytest.raises(BlockingIOError):
            packets.recv(1)
    assert code == 0, out + err
    found = eval(title(folder / "run"))
    assert found.pop("own pair") == "x"
    assert found.pop("io_uring") == (-1, errno.ENOSYS)
    assert set(found) == {"stream", "datagram", "pair", "vsock"}
    assert set(found.values()) == {"Permission denied"}


@pytest.mark.fault(
    "a sandboxed problem.py that prints what a terminal would obey",
    outcome="it stands on the terminal as its escape, on standard error too",
)
def test_what_is_printed_inside_is_no_command_for_the_terminal(folder: Path) -> None:
    needs_a_sandbox()
    says(
        folder,
        """
import os, sys
print("\\x1b]52;c;bWluZQ==\\x07\\x1b[2J", flush=True)
os.write(2, b"\\x1b[2Jraw\\xff\\n")
return "a title"
""",
    )
    code, out, err = sandboxed(folder, "--out", "run")
    assert code == 0, out + err
    assert "\x1b" not in out + err
    assert "\x07" not in out + err
    assert r"\x1b]52;c;bWluZQ==\x07\x1b[2J" in out
    assert r"\x1b[2Jraw" in err
    assert "report.html" in out


def test_the_rules_for_sockets_are_refused_where_calls_have_other_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lengths = set()
    for machine in ("x86_64", "aarch64"):
        monkeypatch.setattr(no_sockets.platform, "machine", lambda found=machine: found)
        lengths.add(len(no_sockets.rules()) % 8)
    assert lengths == {0}
    monkeypatch.setattr(no_sockets.platform, "machine", lambda: "riscv64")
    with pytest.raises(UsageError, match="no system calls of riscv64"):
        no_sockets.rules()
