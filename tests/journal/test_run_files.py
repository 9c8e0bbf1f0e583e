"""A run's folder may be untrusted: no link in it is followed, and only regular files are opened."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import report, tables
from harness.comparison import sources
from harness.comparison.pairs import Side
from harness.journal import run_files
from harness.journal.file import Journal, read_journal
from harness.journal.records import Compiled, Outcome, Planned
from harness.ncu import container
from harness.ncu.failures import Failure
from harness.tables import packed

ROOT = Path(__file__).parents[2]
PLANNED = Planned("p/v0/float32/n=1", "p", "v0", "float32", {"n": 1}, {"block": 64}, 8, 1, True,
                  False)  # fmt: skip
PRECIOUS = "what nobody may touch\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run's folder with one skipped case, next to a file that belongs to the user."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text(
        json.dumps({"backend": "emulator", "timing": {"confidence": 0.95, "same_within": 0.01}})
    )
    with Journal(folder / "journal.jsonl") as journal:
        journal.append(PLANNED)
        journal.append(Outcome(PLANNED.case, "skipped", "$(touch owned)"))
    (tmp_path / "precious").write_text(PRECIOUS)
    return folder


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command with limited memory, so that reading /dev/zero cannot exhaust the machine."""
    most = 6 << 30
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments], cwd=cwd, text=True, capture_output=True,
        timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most)),
    )  # fmt: skip


DRAWN = ["results.csv", "counters.csv", "report.html", "problems/p.html", "assets/page.css"]


@pytest.mark.fault(
    "a file of a run's folder that is a link to a file of the user's",
    outcome="`report` and `compare` replace the link; the file stays as it is",
)
@pytest.mark.parametrize("name", DRAWN)
def test_a_link_is_replaced_and_not_written_through(run: Path, tmp_path: Path, name: str) -> None:
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).symlink_to(tmp_path / "precious")
    report.write(tables.load(run))
    assert (tmp_path / "precious").read_text() == PRECIOUS
    assert not (run / name).is_symlink()
    assert (run / name).read_text() != PRECIOUS


def test_the_page_of_a_comparison_is_not_written_through_a_link(run: Path, tmp_path: Path) -> None:
    (run / "comparison.html").symlink_to(tmp_path / "precious")
    ended = command("compare", str(run), str(run), cwd=tmp_path)
    assert ended.returncode in (0, 3), ended.stdout + ended.stderr
    assert (tmp_path / "precious").read_text() == PRECIOUS
    assert not (run / "comparison.html").is_symlink()


@pytest.mark.fault(
    "a folder in a run's folder that is a link to a folder of the user's",
    outcome="Refused with its name; nothing is written to or removed from where it leads.",
)
@pytest.mark.parametrize("name", ["problems", "figures", "assets"])
def test_a_folder_that_is_a_link_is_refused(run: Path, tmp_path: Path, name: str) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for each in ("mine.html", "mine.png", "mine.css"):
        (theirs / each).write_text(PRECIOUS)
    (run / name).symlink_to(theirs)
    ended = command("report", str(run), cwd=tmp_path)
    assert ended.returncode == 2
    assert f"error: {run / name}: it is a link, and links in a run's folder are not" in ended.stdout
    assert "Traceback" not in ended.stderr
    assert sorted(path.name for path in theirs.iterdir()) == ["mine.css", "mine.html", "mine.png"]


@pytest.mark.fault(
    "a journal or run.json that is a link",
    outcome="Refused with its name: neither read nor added to.",
)
@pytest.mark.parametrize("name", ["run.json", "journal.jsonl"])
def test_what_is_read_is_no_link(run: Path, tmp_path: Path, name: str) -> None:
    (run / name).rename(tmp_path / name)
    (run / name).symlink_to(tmp_path / name)
    ended = command("report", str(run), cwd=tmp_path)
    assert ended.returncode == 2
    assert "it is a link, and links in a run's folder are not followed" in ended.stdout
    if name == "journal.jsonl":
        before = (tmp_path / name).read_bytes()
        with pytest.raises(Exception, match="it is a link"):
            Journal(run / name)
        assert (tmp_path / name).read_bytes() == before


def test_the_runs_folder_itself_may_be_reached_by_a_link(run: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(run)
    report.write(tables.load(tmp_path / "latest"))
    assert (run / "report.html").is_file()


def test_packing_follows_no_link_on_either_side(run: Path, tmp_path: Path) -> None:
    target = tmp_path / "kept"
    target.mkdir()
    (target / "journal.jsonl.gz").symlink_to(tmp_path / "precious")
    packed.pack(run, target)
    assert (tmp_path / "precious").read_text() == PRECIOUS
    assert len(list(read_journal(target / "journal.jsonl.gz"))) == 2
    (run / "journal.jsonl").unlink()
    (run / "journal.jsonl").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="it is a link"):
        packed.pack(run, tmp_path / "again")


@pytest.mark.fault(
    "a file of a packed run that unpacks to gigabytes",
    outcome="Refused before it is unpacked, when it is packed again or gone on with.",
)
def test_a_packed_journal_that_unpacks_without_end_is_refused(run: Path) -> None:
    import gzip

    (run / "journal.jsonl").unlink()
    (run / "journal.jsonl.gz").write_bytes(gzip.compress(b"\0" * (1 << 24)))
    with pytest.raises(OSError, match="unpacks to more than any journal"):
        packed.unpack(run)
    assert not (run / "journal.jsonl").exists()


Made = Callable[[Path], None]


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)  # takes no space


@pytest.mark.fault(
    "a source named in run.json that is a pipe, a device, endless, or leads out of the kernels",
    outcome="`compare` does not read it, and says that the source is not here.",
)
@pytest.mark.parametrize("make", [_pipe, _zeros, _huge])
@pytest.mark.parametrize("own", [False, True], ids=["kernels", "its-own"])
def test_a_comparison_reads_no_source_but_files_of_the_kernels(
    run: Path, tmp_path: Path, make: Made, own: bool
) -> None:
    kernels = run / "kernels" if own else tmp_path / "kernels"
    kernels.mkdir()
    make(kernels / "v0.cu")
    found = _difference(run, tmp_path, "v0.cu")
    assert found.missing.startswith("v0.cu as it was is neither here nor in commit")


@pytest.mark.parametrize("name", ["/dev/zero", "../precious", "/etc/passwd", "a\0b"])
def test_a_comparison_reads_no_path_that_leads_out(run: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "kernels").mkdir()
    assert "neither here nor" in _difference(run, tmp_path, name).missing


def _difference(run: Path, tmp_path: Path, name: str) -> sources.Difference:
    """Look for the differing source as `compare` does; run.json has the same hash as the
    journal."""
    code = "0" * 64
    info = json.loads((run / "run.json").read_text()) | {"sources": {name: code}}
    loaded = tables.Run(run, info, [PLANNED, _compiled(code)])
    side = Side(loaded, PLANNED.case)
    return sources.difference(side, side, tmp_path / "kernels")


@pytest.mark.fault(
    "a .ncu-rep that is a pipe, a device or larger than any report",
    outcome="Refused in a sentence, without being read.",
)
@pytest.mark.parametrize("make", [_pipe, _zeros, _huge])
def test_a_report_of_ncu_that_is_no_file_is_refused(tmp_path: Path, make: Made) -> None:
    make(tmp_path / "a.ncu-rep")
    found = container.inspect(tmp_path / "a.ncu-rep")
    assert isinstance(found, Failure)
    assert "cannot be read: it " in found.text


def test_a_name_that_leads_out_of_the_folder_is_refused(run: Path) -> None:
    for name in ("../precious", "/etc/passwd", "a/../../precious", ""):
        with pytest.raises(OSError, match="is not in the run's folder"):
            run_files.read(run, name)
        with pytest.raises(OSError, match="is not in the run's folder"):
            run_files.write(run, name, "x")


def test_a_file_that_is_removed_is_the_link_and_not_its_target(run: Path, tmp_path: Path) -> None:
    (run / "budgets.csv").symlink_to(tmp_path / "precious")
    run_files.remove(run, "budgets.csv")
    run_files.remove(run, "budgets.csv")  # it is gone, which is no error
    assert not os.path.lexists(run / "budgets.csv")
    assert (tmp_path / "precious").read_text() == PRECIOUS


def _compiled(source: str) -> Compiled:
    return Compiled(PLANNED.case, 0, "v0", source, source, 8, 0, 0, 0, 64, 1.0, "blocks")


@pytest.mark.fault(
    "a link, a pipe or a socket in a folder that a run is to go on in",
    outcome="Refused with its name before anything runs; ncu would write through a link.",
)
@pytest.mark.parametrize("name", ["profile", "kernels", "profile/p.ncu-rep"])
def test_no_run_goes_on_in_a_folder_with_a_link(folder: Path, name: str) -> None:
    out, theirs = folder / "run", folder / "theirs"
    (out / name).parent.mkdir(parents=True)
    theirs.mkdir()
    (out / name).symlink_to(theirs)
    ended = command("run", "--backend", "emulator", "--out", "run", cwd=folder)
    assert ended.returncode == 2
    assert f"error: --out run/{name}: it is a link, and links in a run's" in ended.stdout
    assert list(theirs.iterdir()) == []


OPENS = {"open", "fdopen", "read_text", "read_bytes", "write_text", "write_bytes", "to_csv",
         "savefig", "savez", "mkstemp"}  # fmt: skip
MAY_OPEN: dict[str, str] = {
    "report/site.py": "what the package itself has",
    "report/figures/style.py": "into memory",
    "report/comparison/trend.py": "into memory",
    "tables/files.py": "into memory",
    "journal/file.py": "what the door has opened",
    "comparison/sides/beside.py": "a folder that was checked, or one of its own",
    "comparison/sides/baselines.py": "the folder of baselines, to lock it",
    "comparison/sides/commits.py": "a folder of its own",
    "journal/storage.py": "files that the command line names",
}


def test_what_handles_runs_opens_no_file_by_itself() -> None:
    import ast

    rooms = ("report", "tables", "analysis", "comparison", "commands/printed")
    files = [path for room in rooms for path in sorted((ROOT / "harness" / room).rglob("*.py"))]
    files += [ROOT / "harness" / name for name in ("journal/file.py", "journal/storage.py",
              "run/folder.py", "commands/compare.py", "commands/redraw.py", "commands/pack.py",
              "commands/trend.py", "ncu/container.py")]  # fmt: skip
    found = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in OPENS:
                    found.add(path.relative_to(ROOT / "harness").as_posix())
    assert found <= set(MAY_OPEN), found - set(MAY_OPEN)


def test_no_file_keeps_the_right_to_run_as_its_owner(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name, mode in (("su", 0o6755), ("deep/sg", 0o2640), ("plain", 0o604)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    outside = tmp_path.with_name("outside")
    outside.touch()
    outside.chmod(0o4700)
    (tmp_path / "link").symlink_to(outside)
    run_files.without_privileges(tmp_path)
    modes = [(tmp_path / n).stat().st_mode & 0o7777 for n in ("su", "deep/sg", "plain")]
    assert modes == [0o755, 0o640, 0o604]
    assert outside.stat().st_mode & 0o7777 == 0o4700


@pytest.mark.fault(
    "a run's folder with thousands of folders in one another", outcome="Refused with its name."
)
def test_a_folder_that_is_too_deep_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / Path(*["d"] * 70)).mkdir(parents=True)
    with pytest.raises(OSError, match="over 64 folders in one another"):
        run_files.check(folder)
