"""The submissions of `scripts/judge/timed_candidates.py` are timed as documented, the incumbent
first."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import fake_device
import pytest
from station import FAKE

from harness.journal.records import Ceiling, Round
from harness.judge.folders import names, to_folder
from harness.judge.judging import verdicts
from harness.judge.serve.protocol import ANSWER, Answer, read
from harness.judge.slots import folder_runs
from harness.machine import devices

COSTS = {"incumbent": 50e3, "extra4": 50e3, "extra16": 70e3}


@pytest.fixture(scope="module")
def script(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("timed_candidates")


@pytest.mark.usefixtures("station")
def test_candidates_are_timed_beside_the_incumbent_and_no_ceiling_is(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_COSTS", json.dumps(COSTS))
    device = fake_device.device()
    monkeypatch.setattr(devices, "choose", lambda *asked: (FAKE, device, ""))
    said = script.request((4, 16), 1024, 0.02, 60)
    submission = read(json.dumps(said).encode())
    folder = to_folder(submission, tmp_path / "matrix")
    run = folder_runs.run(folder, "cuda", None, 1, tmp_path / "run", with_ceilings=False)
    assert not list(run.of(Ceiling))
    placements = {r.placement for r in run.of(Round)}
    assert len(placements) == 4, "as many as where no interval is named"
    judged = verdicts(run, names(submission), str)
    answer = json.loads(ANSWER.dump_json(Answer(said["id"], judged)))
    found = script.judged(answer, "together", 0)
    assert [each.verdict for each in found] == ["same", "slower"]
    assert [each.speedup for each in found] == pytest.approx([1, 1 / 1.4], rel=0.01)
    assert all(each.half_width < 0.02 for each in found)
    assert not any(each.contradicts for each in found)


def verdict(kernel: str, kind: str, speedup: float, width: float = 0.01) -> dict[str, Any]:
    ratio = {"value": speedup, "low": speedup * (1 - width), "high": speedup * (1 + width)}
    time = {"value": 5e4, "low": 5e4, "high": 5e4}
    return {"kernel": kernel, "verdict": kind, "speedup": ratio, "time_ns": time, "text": ""}


class FakeServe:
    """A stand-in that replies to every request as a judge with a GPU would."""

    def __init__(self, told: Callable[[str, float], dict[str, Any]]) -> None:
        self._told = told
        self.asked: list[dict[str, Any]] = []

    def ask(self, requests: list[dict[str, Any]]) -> Any:
        for each in requests:
            self.asked.append(each)
            first, *rest = (kernel["name"] for kernel in each["kernels"])
            assert first == "incumbent"
            found = [verdict(first, "right", 1)] + [self._told(name, 36 / (
                32 + int(name.removeprefix("extra")))) for name in rest]  # fmt: skip
            yield {"id": each["id"], "error": None, "verdicts": found}


def right(name: str, speedup: float) -> dict[str, Any]:
    return verdict(name, "same" if speedup == 1 else "faster" if speedup > 1 else "slower", speedup)


def wide(speedup: float) -> dict[str, Any]:
    """An interval of ±3 %."""
    return {"speedup": {"value": speedup, "low": speedup * 0.97, "high": speedup * 1.03}}


@pytest.mark.parametrize(
    ("told", "code", "is_opposite"),
    [
        (right, 0, False),
        (lambda name, speedup: right(name, 2 - speedup), 1, True),
        (lambda name, speedup: {**right(name, speedup), **wide(speedup)}, 1, False),
        (lambda name, speedup: verdict(name, "wrong", speedup), 1, True),
    ],
    ids=["as the bytes say", "the other way round", "too wide", "failed"],
)
def test_its_exit_code_says_whether_every_verdict_is_as_the_bytes_say(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], told: Any, code: int, is_opposite: bool,
) -> None:  # fmt: skip
    fake = FakeServe(told)

    @contextmanager
    def serve(*options: str, folder: Path) -> Any:
        yield fake

    monkeypatch.setattr(script, "serve", serve)
    assert script.main(["--times", "2", "--alone", "3", "--out", str(tmp_path)]) == code
    contradicts = "0 verdicts contradict" not in capsys.readouterr().out
    assert [len(each["kernels"]) for each in fake.asked] == [13, 13, 2, 2, 2]
    assert (tmp_path / "candidates.csv").read_text().count("\n") == 1 + 2 * 12 + 3
    assert (tmp_path / "rates.csv").read_text().count("\n") == 1 + 2 + 1
    assert contradicts == is_opposite


def test_too_few_candidates_a_minute_are_no_success(script: ModuleType) -> None:
    found = script.judged(
        {"error": None, "verdicts": [verdict("incumbent", "right", 1), right("extra0", 1.125)]},
        "together", 0,
    )  # fmt: skip
    assert script.tell(found, [script.rate(found, 5.9)], 0.02) == 0
    assert script.tell(found, [script.rate(found, 6.1)], 0.02) == 1
