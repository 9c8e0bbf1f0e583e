"""Timed submissions wait for each other, and nothing else waits for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import affine
import pytest
import yaml

from harness.judge.folders import to_folder
from harness.judge.judge import Judge
from harness.judge.slots.process import Answer
from harness.machine import devices


class FreeSlots:
    """As many slots as are asked for."""

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
        threading.Event().wait(0.02)  # in which another would begin
        running.discard(id(submission))
        return Answer([])

    monkeypatch.setattr(Judge, "_answer", answer)
    with Judge(jobs=2, home=tmp_path) as judge:
        own = threading.Thread(target=judge.judge, args=(affine.submission("right", kind="time"),))
        own.start()  # as from Python, beside what is queued
        timed = [judge.submit(affine.submission("right", kind=k)) for k in ("time", "compare")]
        judge.submit(affine.submission("right")).result(30)
        for each in timed:
            each.result(30)
        own.join()
    assert most == [1, 1, 1]


def test_the_width_that_is_asked_for_is_the_matrixs_own(tmp_path: Path) -> None:
    to_folder(affine.submission("right", interval=0.02), tmp_path / "wide")
    to_folder(affine.submission("right"), tmp_path / "default")
    read = {name: yaml.safe_load((tmp_path / name / "bench.yaml").read_text())
            for name in ("wide", "default")}  # fmt: skip
    assert read["wide"]["timing"] == {"interval": 0.02, "placements": [4, 8, 16, 24]}
    assert "timing" not in read["default"]
