"""The files on a worker's disk, and the ones that a run adopts after its client has died."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.cluster import store
from harness.cluster.adoption import adopt
from harness.journal.file import Journal, read_journal
from harness.journal.records import Finished, Located, Outcome, Record

ATTEMPT = "0123456789abcdef"
ON_A, ON_B = (Located("a/v0/float32/n=1", "measure", "node1", gpu) for gpu in ("GPU-a", "GPU-b"))
OK = Outcome("a/v0/float32/n=1", "ok")


def written(path: Path, *records: Record) -> Path:
    with Journal(path) as journal:
        for record in records:
            journal.append(record)
    return path


class OneHost:
    """A pool whose workers are this process."""

    def one_per_host(self) -> list[str]:
        return ["here"]

    def ask(self, function: Any, *args: Any, of: Sequence[str]) -> dict[str, Any]:
        return {"here": function(*args)}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run's folder, whose last attempt is ATTEMPT."""
    (tmp_path / "run").mkdir()
    (tmp_path / "disk").mkdir()
    monkeypatch.setattr(store, "home", lambda: tmp_path / "disk")
    info = {"backend": "cuda", "timing": {"confidence": 0.95, "same_within": 0.01},
            "cluster": {"attempt": ATTEMPT}}  # fmt: skip
    (tmp_path / "run" / "run.json").write_text(json.dumps(info))
    return tmp_path / "run"


def test_what_a_worker_wrote_after_its_client_died_is_taken_once(run: Path) -> None:
    written(run / "journal.jsonl", Finished("plan"), ON_A)
    written(store.journal(ATTEMPT, "measure-1"), ON_A, OK)
    assert adopt(OneHost(), [run]) == 1  # type: ignore[arg-type]
    assert list(read_journal(run / "journal.jsonl")) == [Finished("plan"), ON_A, OK]
    assert store.journals(ATTEMPT) == []
    assert adopt(OneHost(), [run]) == 0  # type: ignore[arg-type]


def test_what_another_worker_has_been_given_since_is_left(run: Path) -> None:
    written(run / "journal.jsonl", ON_A, ON_B)
    written(store.journal(ATTEMPT, "measure-1"), ON_A, OK)
    assert adopt(OneHost(), [run]) == 0  # type: ignore[arg-type]


def test_a_torn_line_ends_what_is_taken(run: Path) -> None:
    written(run / "journal.jsonl", ON_A)
    path = written(store.journal(ATTEMPT, "measure-1"), ON_A, OK)
    path.write_bytes(path.read_bytes()[:-5] + b"\n")
    assert adopt(OneHost(), [run]) == 0  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["..", "../../etc", "", "0123456789ABCDEF", ATTEMPT + "/.."])
def test_no_name_of_an_attempt_leads_elsewhere(run: Path, name: str) -> None:
    with pytest.raises(ValueError, match="names no attempt"):
        store.forget(name)
    info = json.loads((run / "run.json").read_text()) | {"cluster": {"attempt": name}}
    (run / "run.json").write_text(json.dumps(info))
    written(run / "journal.jsonl", ON_A)
    assert adopt(OneHost(), [run]) == 0  # type: ignore[arg-type]


def test_files_are_kept_by_what_they_hold(run: Path) -> None:
    name = store.name_of(b"code", ".cubin")
    assert store.lacking(ATTEMPT, [name]) == [name]
    store.take(ATTEMPT, {name: b"code"})
    assert store.lacking(ATTEMPT, [name]) == []
    assert store.path_of(ATTEMPT, name).read_bytes() == b"code"
    with pytest.raises(ValueError, match="did not arrive complete"):
        store.take(ATTEMPT, {name: b"other code"})


def test_only_whole_lines_are_handed_on(run: Path) -> None:
    path = store.journal(ATTEMPT, "measure-1")
    path.write_bytes(b"one\ntwo\nthr")
    assert store.whole_lines(path, 0) == b"one\ntwo\n"
    assert store.whole_lines(path, 4) == b"two\n"
    assert store.whole_lines(path, 8) == b""
