"""`pack`: whatever goes wrong, no run is lost or mixed with another."""

from __future__ import annotations

import gzip
import json
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness import report, tables
from harness.__main__ import app
from harness.errors import HarnessError
from harness.journal.file import Journal
from harness.journal.records import Outcome, Planned

pytestmark = pytest.mark.usefixtures("without_pages")

INFO: dict[str, Any] = {
    "backend": "emulator", "timing": {"confidence": 0.95, "same_within": 0.01},
    "choice": {"only": []}, "problems": {"one": {}, "two": {}}, "sources": {"one/v0.cu": "1"},
}  # fmt: skip


def run_in(folder: Path, reason: str) -> Path:
    """A run of two problems, whose cases were skipped for a reason that tells it from others."""
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({**INFO, "id": reason}))
    with Journal(folder / "journal.jsonl") as journal:
        for problem in ("one", "two"):
            case = f"{problem}/v0/float32/n=1"
            journal.append(Planned(case, problem, "v0", "float32", {"n": 1}, {"block": 64}, 8, 1,
                                   True, False))  # fmt: skip
            journal.append(Outcome(case, "skipped", reason))
    report.write(tables.load(folder))
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return run_in(tmp_path / "run", "new")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return run_in(tmp_path / "other", "old")


def pack(*arguments: object) -> str:
    """Run the command; return the error's message, or nothing."""
    ended = CliRunner().invoke(app, ["pack", *map(str, arguments)])
    if ended.exit_code == 0:
        return ""
    assert isinstance(ended.exception, HarnessError), ended.exception  # exits with 2, in one line
    return str(ended.exception)


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def problems(folder: Path) -> set[str]:
    return {planned.problem for planned in tables.load(folder).planned.values()}


@pytest.mark.fault(
    "`pack` of a folder, or into one, in which a run is still writing",
    outcome="Refused, and the run loses nothing.",
)
@pytest.mark.parametrize("written", ["run", "other"])
def test_no_run_is_packed_or_replaced_while_it_is_written(
    run: Path, other: Path, tmp_path: Path, written: str
) -> None:
    target = run if written == "run" else other
    before = content(tmp_path)
    with Journal(tmp_path / written / "journal.jsonl") as journal:
        for given in ([run, target, "--force"], [run, other, "--force"]):
            told = f"{tmp_path / written}/journal.jsonl: a run is still writing into this folder"
            assert told in pack(*given)
            assert content(tmp_path) == before
        journal.append(Outcome("two/v0/float32/n=1", "skipped", "late"))
    assert pack(run, target, "--force") == ""


@pytest.mark.fault(
    "`pack --only` into the run's own folder",
    outcome="Refused, because the other problems would be deleted.",
)
@pytest.mark.parametrize("name", ["run", "link", "other/../run"])
def test_one_problem_is_not_packed_into_the_runs_own_folder(
    run: Path, other: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "link").symlink_to(run)
    before = content(run)
    for given in ([run, tmp_path / name], [tmp_path / name, run]):
        said = pack(*given, "--only", "one", "--force")
        assert "its other problems would be deleted; name another target" in said
    assert content(run) == before
    assert pack(run, tmp_path / name) == ""
    assert problems(run) == {"one", "two"}


@pytest.mark.fault(
    "a disk that is full while `pack --force` replaces a run",
    outcome="The run that was there stays whole, and nothing else is left behind.",
)
def test_a_full_disk_leaves_the_run_that_was_to_be_replaced(
    run: Path, other: Path, tmp_path: Path
) -> None:
    noise = os.urandom(2048).hex()  # it does not compress
    with Journal(run / "journal.jsonl") as journal:
        journal.append(Outcome("one/v0/float32/n=1", "skipped", noise))
    before, folders = content(tmp_path), sorted(tmp_path.iterdir())
    had = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, had[1]))  # run.json fits
        said = pack(run, other, "--force")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, had)
    assert said == f"{other}/journal.jsonl.gz: File too large"
    assert content(tmp_path) == before
    assert sorted(tmp_path.iterdir()) == folders
    assert pack(run, other, "--force") == ""
    assert tables.load(other).info["id"] == "new"


def test_pages_that_cannot_be_drawn_leave_the_run_that_was_to_be_replaced(
    run: Path, other: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    before, folders = content(tmp_path), sorted(tmp_path.iterdir())
    monkeypatch.setattr(report, "write", full)
    assert pack(run, other, "--force") == f"{other}: No space left on device"
    assert content(tmp_path) == before
    assert sorted(tmp_path.iterdir()) == folders


def test_a_file_that_cannot_be_replaced_leaves_all_others(
    run: Path, other: Path, tmp_path: Path
) -> None:
    (other / "counters.csv.gz").mkdir()
    before = content(tmp_path)
    assert pack(run, other, "--force") == f"{other}/counters.csv.gz: Is a directory"
    assert content(tmp_path) == before


def test_a_failed_move_is_undone(
    run: Path, other: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, rename = content(tmp_path), os.rename

    def fails(path: Path, to: Path) -> None:
        if to == other / "results.csv" and "old" not in str(path):
            monkeypatch.setattr(os, "rename", rename)
            raise OSError(5, "Input/output error", str(path))
        rename(path, to)

    monkeypatch.setattr(os, "rename", fails)
    assert pack(run, other, "--force") == f"{other}/results.csv: Input/output error"
    assert content(tmp_path) == before


def test_a_replaced_run_leaves_none_of_its_pages_and_the_users_files_stay(
    run: Path, other: Path
) -> None:
    for name in ("problems/gone.html", "figures/gone.png", "problems/mine.txt", "notes"):
        (other / name).parent.mkdir(exist_ok=True)
        (other / name).write_text("")
    assert pack(run, other, "--force") == ""
    there = content(other)
    assert {"problems/mine.txt", "notes", "run.json", "journal.jsonl.gz"} <= there.keys()
    gone = {"problems/gone.html", "figures/gone.png", "journal.jsonl", "counters.csv"}
    assert not gone & there.keys()


TORN = '{"crc32":"00000000","record":{"kind":"outco'


@pytest.mark.parametrize("damage", [lambda t: t + TORN, lambda t: "\n" + t.replace("\n", "\n\n")])
def test_one_problem_is_packed_from_a_journal_that_a_report_accepts(
    run: Path, tmp_path: Path, damage: Callable[[str], str]
) -> None:
    journal = run / "journal.jsonl"
    journal.write_text(damage(journal.read_text()))
    assert problems(run) == {"one", "two"}
    target = tmp_path / "kept"
    assert pack(run, target, "--only", "two") == ""
    assert problems(target) == {"two"}
    assert gzip.decompress((target / "journal.jsonl.gz").read_bytes()).count(b"\n") == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"problems": None}, "`problems` in {path} does not list it"),
        ({"problems": {"two": {}}}, "`problems` in {path} does not list it"),
        ({"choice": None}, "{path} has no `choice`"),
    ],
)
@pytest.mark.parametrize("missing", [False, True])
def test_a_run_json_that_says_too_little_to_choose_a_problem_is_refused(
    run: Path, tmp_path: Path, changes: dict[str, Any], said: str, missing: bool
) -> None:
    path = run / "run.json"
    info = {**INFO, **changes}
    if missing:
        info = {key: value for key, value in info.items() if value is not None}
    path.write_text(json.dumps(info))
    told = pack(run, tmp_path / "kept", "--only", "one")
    assert told == f"--only one: {said.format(path=path)}; omit --only"
    assert not (tmp_path / "kept").exists()
    assert pack(run, tmp_path / "kept") == ""


def test_sources_may_be_null_where_one_problem_is_packed(run: Path, tmp_path: Path) -> None:
    (run / "run.json").write_text(json.dumps({**INFO, "sources": None, "code": None}))
    assert pack(run, tmp_path / "kept", "--only", "one") == ""


def test_a_run_is_packed_into_a_folder_that_a_link_names(run: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    assert pack(run, tmp_path / "link") == ""
    assert (tmp_path / "link").is_symlink()
    assert problems(tmp_path / "there") == {"one", "two"}
    shutil.rmtree(run)
    assert problems(tmp_path / "link") == {"one", "two"}
