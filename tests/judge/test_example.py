"""The example that drives `serve`, and the script that sends it 1,000 submissions."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.judge.serve.protocol import read

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_few_variants_are_told_apart(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, str(EXAMPLES / "mutants.py"), "--count", "10", "--jobs", "1"],
        cwd=tmp_path, capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "10 of 10 answered" in ended.stdout
    for family, count in (("right", 3), ("wrong", 5), ("cheats", 1), ("endless", 1)):
        assert f"\n{family}: {count}\n" in ended.stdout


@pytest.mark.parametrize("family", ["right: 60", "wrong: 100", "cheats: 20", "endless: 20"])
def test_the_kept_output_has_200_variants_and_nothing_that_fooled_it(family: str) -> None:
    told = (EXAMPLES / "mutants.txt").read_text()
    assert f"\n{family}\n" in told
    assert "200 of 200 answered" in told
    assert "the judge was wrong about 0" in told
    assert "FOOLED" not in told


def test_its_memory_stayed_as_it_was() -> None:
    told = (EXAMPLES / "mutants.txt").read_text()
    [figures] = re.findall(r"memory of the judge, MiB, over time: (.*)", told)
    first, *_, last = map(int, figures.split(", "))
    assert last < first + 32


@pytest.fixture(scope="module")
def script(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("thousand_submissions")


def test_half_are_right_and_every_way_to_be_broken_is_sent(script: ModuleType) -> None:
    names = script.ways(1000, random.Random(1))
    sent = Counter(names)
    assert sent.pop("right") == 500
    assert len(sent) == 11
    assert set(sent.values()) == {45, 46}


def test_every_submission_is_a_valid_request(script: ModuleType) -> None:
    for way in script.WAYS.values():
        read(json.dumps(script.request(7, way, 2)).encode())


@pytest.mark.parametrize(
    ("change", "is_well"),
    [
        ({}, True),
        ({"found": {1: "cannot-tell: hang"}}, True),
        ({"found": {0: "wrong"}}, False),
        ({"found": {1: "right"}}, False),
        ({"missing": 1}, False),
        ({"left": 1}, False),
        ({"last": (50, 331, 14)}, False),
        ({"last": (50, 300, 15)}, False),
        ({"last": (50, 310, 14)}, True),
    ],
)
def test_what_must_not_be_is_no_success(
    script: ModuleType, change: dict[str, Any], is_well: bool
) -> None:
    found = {0: "right", 1: "cannot-tell: deadline", **change.get("found", {})}
    found.pop(change.get("missing", 99), None)
    counts = [script.Count(0, 40, 250, 14), script.Count(100, 50, 300, 14),
              script.Count(1000, *change.get("last", (50, 300, 14)))]  # fmt: skip
    _, told = script.told(
        ["right", "its reference hangs"], found, counts, change.get("left", 0), 1.0
    )
    assert told == is_well


def test_the_output_names_its_commit_and_its_machine(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = script.environment
    monkeypatch.setattr(environment, "commit", lambda: {"id": "0123456789abcdef", "dirty": True})
    monkeypatch.setattr(environment, "describe", lambda: {"cpu": "2 × a processor"})
    assert script.made_on() == "0123456789+, 2 × a processor"
    monkeypatch.setattr(environment, "commit", lambda: {"id": "0123456789abcdef", "dirty": None})
    assert script.made_on() == "0123456789, 2 × a processor"


def test_the_kept_output_of_1000_submissions_has_no_other_verdict_and_nothing_left(
    script: ModuleType,
) -> None:
    kept = EXAMPLES.parent / "reports/benchmarks/thousand_submissions.txt"
    told = kept.read_text()
    assert re.match(
        r"[0-9a-f]{10}, \d+ × .*, 2 jobs, sandbox: True\n1000 of 1000 submissions", told
    )
    assert "after its end: 0 processes left\n0 verdicts were not those expected\n" in told
    whole = [int(n) for n in re.findall(r"processes together (\d+) MiB", told)]
    assert max(whole) <= script.GROWTH * whole[1]
