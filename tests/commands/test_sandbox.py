"""--sandbox: the command again inside bubblewrap, with a bwrap that only notes, and a real one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

NOTES = """\
#!{python}
import json, os, resource, signal, sys, time
args = sys.argv[1:]
limits = {{n: resource.getrlimit(getattr(resource, "RLIMIT_" + n))
          for n in ("DATA", "NPROC", "CORE")}}
json.dump({{"args": args, "limits": limits}}, open({notes!r}, "w"))
if {works}:
    stopped = []
    signal.signal(signal.SIGINT, lambda *_: stopped.append(1))
    with os.fdopen(int(args[args.index("--info-fd") + 1]), "w") as about:
        json.dump({{"child-pid": os.getpid()}}, about)
    end = time.monotonic() + {waits}
    while time.monotonic() < end and not stopped:
        time.sleep(0.02)
    sys.exit(130 if stopped else 7)
print("bwrap: no namespaces here", file=sys.stderr)
sys.exit(1)
"""

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
    return found
"""


@pytest.fixture
def bwrap(tmp_path: Path) -> Path:
    """A folder for PATH, with a bwrap that notes what it is given and waits for a while."""
    programs = tmp_path / "programs"
    programs.mkdir()
    _stub(programs, tmp_path, works=True, waits=0)
    return programs


def _stub(programs: Path, folder: Path, works: bool, waits: float) -> None:
    text = NOTES.format(python=sys.executable, notes=str(folder / "notes.json"), works=works,
                        waits=waits)  # fmt: skip
    (programs / "bwrap").write_text(text)
    (programs / "bwrap").chmod(0o755)


def started(folder: Path, path: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *arguments], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def notes(folder: Path) -> tuple[list[str], dict[str, list[int]]]:
    said = json.loads((folder / "notes.json").read_text())
    return said["args"], said["limits"]


def pairs(arguments: list[str], option: str) -> list[tuple[str, str]]:
    return [(arguments[i + 1], arguments[i + 2]) for i, a in enumerate(arguments) if a == option]


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
    _stub(bwrap, bwrap.parent, works=False, waits=0)
    ended = started(folder, str(bwrap), "run", "--sandbox")
    out, err = ended.communicate(timeout=120)
    assert ended.returncode == 2
    assert "bubblewrap cannot make a sandbox on this machine" in out
    assert "bwrap: no namespaces here" in err
    assert list((folder / "reports").glob("*")) == []


def test_the_same_command_runs_inside_walls(folder: Path, bwrap: Path) -> None:
    ended = started(folder, str(bwrap), "run", "--sandbox", "--only", "double", "--quick", "--json",
                    "results.json")  # fmt: skip
    _, err = ended.communicate(timeout=120)
    assert ended.returncode == 7, err
    given, limits = notes(bwrap.parent)
    walls, inner = given[: given.index("--")], given[given.index("--") + 1 :]
    assert inner[:-1] == [sys.executable, "-m", "harness", "run", "--only", "double", "--quick",
                          "--json", "results.json", "--out"]  # fmt: skip
    run = folder / inner[-1]
    assert run.parent == folder / "reports"
    for option in ("--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1"):
        assert option in walls
    assert "--share-net" not in walls
    assert pairs(walls, "--cap-drop")[0][0] == "ALL"
    assert pairs(walls, "--ro-bind")[0] == ("/", "/")
    cache = folder / ".cache"
    assert pairs(walls, "--bind") == [
        (str(cache / "sandbox" / "compile"), str(cache / "compile")),
        (str(cache / "sandbox"), str(cache / "sandbox")),
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
    "asked", [["--save-baseline", "a/b"], ["--save-baseline=a/b"]], ids=["apart", "joined"]
)
def test_a_name_that_no_baseline_can_have_is_refused_before_anything_runs(
    folder: Path, bwrap: Path, asked: list[str]
) -> None:
    ended = started(folder, str(bwrap), "profile", "--sandbox", *asked)
    out, err = ended.communicate(timeout=120)
    assert ended.returncode == 2, err
    assert "--save-baseline 'a/b': a name is up to 100 letters" in out
    assert not (bwrap.parent / "notes.json").exists()


def test_a_run_that_did_not_end_inside_is_not_kept(folder: Path, bwrap: Path) -> None:
    ended = started(folder, str(bwrap), "run", "--sandbox", "--save-baseline", "before", "--quick")
    out, err = ended.communicate(timeout=120)
    assert ended.returncode == 7, err
    assert "not kept as before: the run did not end" in out
    given, _ = notes(bwrap.parent)
    assert given[given.index("run") :][:2] == ["run", "--quick"]  # inside, nothing is kept
    assert not (folder / "reports" / "baselines").exists()


def test_ctrl_c_is_handed_on_to_what_runs_inside(folder: Path, bwrap: Path) -> None:
    _stub(bwrap, bwrap.parent, works=True, waits=60)
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
    import socket
    import tempfile

    if shutil.which("bwrap") is None:
        pytest.skip("no bwrap on PATH: the sandbox is not tested; apt-get install bubblewrap")
    tried = subprocess.run(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"],
                           capture_output=True, text=True)  # fmt: skip
    if tried.returncode:
        pytest.skip(f"bubblewrap may not make a sandbox here: {tried.stderr.strip()}")
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
    assert found.pop("processes") < 20
    assert 0 < found.pop("data") < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert found.pop(f"{folder}/run/probe") == "written"
    assert len(found) == 6
    assert "written" not in found.values()
    assert (run / "report.html").exists()
    assert list((folder / ".cache" / "compile").iterdir()) == []  # nothing of it is used outside
    assert list((folder / ".cache" / "sandbox" / "compile").iterdir()) != []
