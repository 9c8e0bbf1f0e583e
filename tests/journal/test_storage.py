"""Whatever error the disk reports, previously written data remains intact."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import JournalError
from harness.journal import run_files, storage
from harness.journal.file import Journal, read_journal
from harness.journal.records import Finished, Planned
from harness.journal.storage import replace_named, replace_text

ROOT = Path(__file__).parents[2]
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
PLANNED = Planned("p/v0/float32/n=1", "p", "v0", "float32", {"n": 1}, {"block": 64}, 8, 1, True,
                  False)  # fmt: skip
BROKEN = OSError(errno.EIO, os.strerror(errno.EIO))


class Disk:
    """A file that accepts this many bytes, and then fails with the given error."""

    def __init__(self, room: int, error: OSError) -> None:
        self.room, self.error = room, error

    def write(self, file: int, content: bytes) -> int:
        if self.room <= 0:
            raise self.error
        taken = content[: self.room]
        self.room -= len(taken)
        return _WRITE(file, taken)


_WRITE = os.write
RECORDS = [Finished(f"stage {number}") for number in range(4)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal with two records."""
    with Journal(tmp_path / "journal.jsonl") as journal:
        for record in RECORDS[:2]:
            journal.append(record)
    return tmp_path / "journal.jsonl"


@pytest.mark.fault(
    "a disk that is full, or fails, while the journal is written",
    outcome="The run ends with one sentence and exit code 2; every line in the journal is whole.",
)
@pytest.mark.parametrize("error", [FULL, BROKEN], ids=["full", "broken"])
@pytest.mark.parametrize("room", [0, 1, 30])
def test_a_line_that_a_disk_refuses_leaves_no_trace(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, room: int
) -> None:
    before = path.read_bytes()
    with Journal(path) as journal:
        with monkeypatch.context() as patched:
            patched.setattr(storage.os, "write", Disk(room, error).write)
            with pytest.raises(JournalError, match=error.strerror) as caught:
                journal.append(RECORDS[2])
        assert f"--out {path.parent}" in str(caught.value)
        with pytest.raises(JournalError, match=error.strerror):
            journal.append(RECORDS[3])  # nothing is appended after a line that may be torn
    assert path.read_bytes() == before
    with Journal(path) as journal:
        journal.append(RECORDS[2])
    assert list(read_journal(path)) == RECORDS[:3]


def test_a_torn_line_that_cannot_even_be_taken_back_is_forgiven(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> None:
        raise BROKEN

    with monkeypatch.context() as patched, Journal(path) as journal:
        patched.setattr(storage.os, "write", Disk(25, FULL).write)
        patched.setattr(storage.os, "ftruncate", refuse)
        with pytest.raises(JournalError):
            journal.append(RECORDS[2])
    assert list(read_journal(path)) == RECORDS[:2]
    with Journal(path) as journal:
        journal.append(RECORDS[3])
    assert list(read_journal(path)) == [*RECORDS[:2], RECORDS[3]]


@pytest.mark.parametrize("is_written", [False, True], ids=["before its write", "after its write"])
@pytest.mark.parametrize("ends", [False, True], ids=["another line follows", "the run ends"])
def test_an_interrupt_around_a_line_is_not_taken_for_another_writer(
    path: Path, monkeypatch: pytest.MonkeyPatch, is_written: bool, ends: bool
) -> None:
    def interrupt(file: int, content: bytes) -> int:
        if is_written:
            _WRITE(file, content)
        raise KeyboardInterrupt

    expected = RECORDS[: 3 if is_written else 2]
    with Journal(path) as journal:
        with monkeypatch.context() as patched:
            patched.setattr(storage.os, "write", interrupt)
            with pytest.raises(KeyboardInterrupt):
                journal.append(RECORDS[2])
        if not ends:
            journal.append(RECORDS[3])
            expected = [*expected, RECORDS[3]]
    assert list(read_journal(path)) == expected


@pytest.mark.fault(
    "a function that is measured writes a line into the run's journal",
    outcome="The run ends with one sentence: what stands there counts for nothing.",
)
@pytest.mark.parametrize("ends", [False, True], ids=["before another line", "before the end"])
def test_a_line_that_something_else_wrote_into_the_journal_is_noticed(
    path: Path, ends: bool
) -> None:
    journal = Journal(path)
    journal.append(RECORDS[2])
    with path.open("a") as file:
        file.write(path.read_text().splitlines()[0] + "\n")
    with pytest.raises(JournalError, match="was changed by something other than this run"):
        journal.close() if ends else journal.append(RECORDS[3])
    if not ends:
        journal.close()


@pytest.mark.fault(
    "a disk that fails when the journal is closed",
    outcome="The run ends with one sentence and exit code 2.",
)
def test_an_error_at_the_end_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int) -> None:
        raise BROKEN

    journal = Journal(path)
    monkeypatch.setattr(storage.os, "fsync", refuse)
    with pytest.raises(JournalError, match="Input/output error"):
        journal.close()


@pytest.mark.fault(
    "a record that no reader would take, such as one with a number of 2^63",
    outcome="It is not written, and the run ends with a sentence; the journal can be read.",
)
def test_what_could_not_be_read_again_is_not_written(path: Path) -> None:
    large = replace(PLANNED, sizes={"n": 2**63})
    with Journal(path) as journal:
        with pytest.raises(JournalError, match="could not be read back was not written: sizes"):
            journal.append(large)
        journal.append(RECORDS[2])
    assert list(read_journal(path)) == RECORDS[:3]


@pytest.mark.fault(
    "two runs into one folder",
    outcome="The second is refused with the folder's name, and writes nothing.",
)
def test_a_journal_has_one_writer_at_a_time(path: Path) -> None:
    with (
        Journal(path),
        pytest.raises(JournalError, match="another run is writing into this folder"),
    ):
        Journal(path)
    with Journal(path) as journal:
        journal.append(RECORDS[2])


HOLD = (
    "import sys, time; from pathlib import Path\n"
    "from harness.journal.file import Journal\n"
    "with Journal(Path(sys.argv[1])):\n"
    "    print('held', flush=True); time.sleep(600)\n"
)


@pytest.mark.fault(
    "a run that died while it was writing into its folder",
    outcome="The journal's lock frees itself, and the same command goes on.",
)
def test_the_journal_of_a_dead_run_is_free(path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(JournalError, match="another run is writing into this folder"):
            Journal(path)
    finally:
        process.kill()
        process.wait()
    with Journal(path) as journal:
        journal.append(RECORDS[2])
    assert list(read_journal(path)) == RECORDS[:3]
    assert list(path.parent.iterdir()) == [path]  # no lock file is left beside it


@pytest.mark.parametrize("code", ["ENOLCK", "ENOSYS", "ENOTSUP"])
def test_a_file_system_that_knows_no_locks_is_written_to(
    path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    def refuse(file: int, blocking: bool) -> bool:
        raise OSError(getattr(errno, code), "no locks here")

    monkeypatch.setattr(storage, "lock_descriptor", refuse)
    with Journal(path) as journal:
        journal.append(RECORDS[2])
    assert list(read_journal(path)) == RECORDS[:3]


@pytest.mark.fault(
    "a disk that is full while run.json is written",
    outcome="run.json is what it was before, whole, and nothing lies beside it.",
)
@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_file_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise FULL

    path = tmp_path / "run.json"
    replace_text(path, "the first\n")
    with monkeypatch.context() as patched:
        patched.setattr(storage.os, step, refuse)
        with pytest.raises(OSError, match="No space left"):
            replace_text(path, "the second\n")
    assert path.read_text() == "the first\n"
    assert list(tmp_path.iterdir()) == [path]
    replace_text(path, "the third\n")
    assert path.read_text() == "the third\n"


def test_a_file_that_the_user_names_is_replaced_even_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("before")
    (tmp_path / "link").symlink_to("file")
    replace_named(tmp_path / "link", "ü")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "ü"
    replace_named(Path(os.devnull), "no file takes its place")
    assert not Path(os.devnull).is_file()


def test_a_pipe_that_the_user_names_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    replace_named(tmp_path / "pipe", "told")
    assert os.read(reader, 9) == b"told"
    os.close(reader)


@pytest.mark.parametrize(("error", "text"), [(errno.EROFS, "after"), (errno.ENOSPC, "before")])
def test_a_named_file_is_written_in_place_only_where_no_other_can_be_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, text: str
) -> None:
    (tmp_path / "file").write_text("before")

    def write(*_: object) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(run_files, "write", write)
    with suppress(OSError):
        replace_named(tmp_path / "file", "after")
    assert (tmp_path / "file").read_text() == text
