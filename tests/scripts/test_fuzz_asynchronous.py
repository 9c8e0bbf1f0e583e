"""Broken kernels of the asynchronous machine on all cores: failures, crashes and hangs are counted,
and each costs at most its own batch."""

from __future__ import annotations

import csv
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.usefixtures("processes")


@pytest.fixture(scope="module")
def script(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("fuzz_asynchronous")


def _attempt(content: bytes, folder: Path) -> None:
    if content == b"a bug":
        raise ValueError(content)
    if content == b"a long message":
        raise AssertionError("a message of 4,001 characters")
    if content == b"a crash":
        os.kill(os.getpid(), signal.SIGKILL)
    while content == b"a hang":
        with suppress(BaseException):  # like the engine, it ignores the deadline
            time.sleep(1)


def _rows(script: ModuleType, folder: Path, *more: str) -> tuple[int, dict[str, dict[str, str]]]:
    with pytest.MonkeyPatch.context() as patch:
        command = ["fuzz", "--jobs", "2", "--out", str(folder), *more]
        patch.setattr(script.sys, "argv", command)
        code = script.main()
    with (folder / "mutations.csv").open() as file:
        return code, {row["what"].split()[0]: row for row in csv.DictReader(file)}


@pytest.fixture
def planted(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one input in the first batch of each target fail, and no other."""
    bad = dict(zip(script.TARGETS, (b"a crash", b"a hang", b"a bug"), strict=True))
    monkeypatch.setattr(script, "_SILENT_S", 2.0)
    monkeypatch.setattr(script, "BATCH", 4)
    for name, what in bad.items():
        drawn = iter([b"good", b"good", what, *[b"good"] * 100])
        target = script.fuzz.Target(lambda: [], _attempt, lambda draw, seeds, of=drawn: next(of))
        monkeypatch.setitem(script.fuzz.TARGETS, name, target)


@pytest.mark.usefixtures("planted")
def test_a_crash_a_hang_and_a_traceback_are_counted_and_their_inputs_kept(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script.fuzz, "DEADLINE_S", 0.2)
    code, rows = _rows(script, tmp_path, "--inputs", "10")
    assert code == 1
    found = {name: (row["inputs"], row["crashes"], row["hangs"], row["tracebacks"])
             for name, row in rows.items()}  # fmt: skip
    assert found == {
        "PTX": ("3", "1", "0", "0"), "listings": ("3", "0", "1", "0"),
        "cubins": ("2", "0", "0", "0"),
    }  # fmt: skip
    kept = {path.suffix: path.read_bytes() for path in tmp_path.iterdir() if path.suffix != ".csv"}
    assert kept == {".crash": b"a crash", ".hang": b"a hang"}


def test_a_failure_is_counted_by_its_kind(script: ModuleType) -> None:
    kinds = {
        "not done after 10 s": "hangs", "AssertionError at a.py:1: a message of 4,001 characters":
        "messages_too_long", "ValueError at a.py:1: a bug": "tracebacks",
    }  # fmt: skip
    assert {what: script.kind_of(what) for what in kinds} == kinds


def test_two_calls_that_follow_each_other_draw_other_inputs_and_the_same_call_the_same(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, list[float]] = {}
    for call in ("0", "1", "again"):
        path = tmp_path / call
        path.mkdir()
        target = script.fuzz.Target(
            lambda: [],
            lambda content, folder: None,
            lambda draw, seeds: str(draw.random()).encode(),
        )
        monkeypatch.setitem(script.fuzz.TARGETS, "asynchronous", target)
        batch = script.Batch("asynchronous", 1 if call == "1" else 0, 1, path)
        script.try_all(batch, 5, [])
        drawn[call] = [float(batch.current.read_bytes())]
    assert drawn["0"] == drawn["again"] != drawn["1"]


def test_some_of_every_target_are_run_or_refused(script: ModuleType, tmp_path: Path) -> None:
    code, rows = _rows(script, tmp_path, "--inputs", "100")
    assert code == 0
    assert [row["inputs"] for row in rows.values()] == ["40", "40", "20"]
    assert [path.name for path in tmp_path.iterdir()] == ["mutations.csv"]
