"""A few hundred broken inputs for each reader; `make fuzz` generates a hundred thousand."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, TracebackType

import pytest

from harness.errors import ConfigError

FEW = 300
NAMES = ("yaml", "expressions", "ptx", "journal", "run-json", "ncu-rep")


@pytest.fixture(scope="module")
def fuzz(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("fuzz")


def test_every_target_is_fuzzed_here(fuzz: ModuleType) -> None:
    assert set(fuzz.TARGETS) == set(NAMES)


@pytest.mark.fault(
    "a matrix, expression, PTX, journal, run.json or .ncu-rep broken anyhow (100,000 ways each)",
    outcome="read, or refused with a sentence; no crash, no hang, no traceback",
)
@pytest.mark.parametrize("name", NAMES)
def test_broken_input_is_read_or_refused_with_a_sentence(fuzz: ModuleType, name: str) -> None:
    assert list(fuzz.run(name, FEW, seed=7)) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_good_inputs_are_good_and_most_changes_break_something(
    fuzz: ModuleType, script_of: Callable[[str], ModuleType], name: str, tmp_path: Path
) -> None:
    target = fuzz.TARGETS[name]
    seeds = target.seeds()
    assert len(seeds) > 0
    for seed in seeds:
        target.attempt(seed, tmp_path)
    draw = random.Random(1)
    changed = [(target.mutate or script_of("mutations").mutated)(draw, seeds) for _ in range(200)]
    assert len({*changed, *seeds}) > 150


@pytest.mark.parametrize(
    ("raised", "words", "deadline_s"),
    [(ValueError("a bug"), "ValueError at", 60), (None, "not done after", 0.05)],
)
def test_a_traceback_and_a_hang_are_failures_with_their_input(
    fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch, raised: Exception | None, words: str,
    deadline_s: float,
) -> None:  # fmt: skip
    def attempt(content: bytes, folder: Path) -> None:
        if raised:
            raise raised
        try:
            while True:
                time.sleep(0.01)
        except Exception:  # as a reader might
            return

    monkeypatch.setitem(fuzz.TARGETS, "broken", fuzz.Target(lambda: [b"good"], attempt))
    found = list(fuzz.run("broken", 2, deadline_s=deadline_s))
    assert len(found) == 2
    assert all(what.startswith(words) and content for what, content in found)


def test_a_deadline_is_the_readers_and_not_that_of_the_report_of_its_failure(
    fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(content: bytes, folder: Path) -> None:
        raise ValueError("a bug")

    def slow(trace: TracebackType | None) -> traceback.StackSummary:
        time.sleep(0.3)
        return extract(trace)

    extract = traceback.extract_tb
    monkeypatch.setattr(fuzz.traceback, "extract_tb", slow)
    monkeypatch.setitem(fuzz.TARGETS, "broken", fuzz.Target(lambda: [b"good"], attempt))
    ((what, _),) = fuzz.run("broken", 1, deadline_s=0.2)
    assert what.startswith("ValueError at test_fuzz.py:")


def test_a_refusal_that_the_harness_words_is_no_failure_unless_it_is_endless(
    fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(length: int) -> None:
        def load(path: Path, kernels: Path) -> None:
            raise ConfigError("x" * length)

        monkeypatch.setattr(fuzz.model, "load", load)

    refuse(100)
    fuzz._yaml(b"", tmp_path)
    refuse(10_000)
    with pytest.raises(AssertionError, match="10000 characters"):
        fuzz._yaml(b"", tmp_path)


@pytest.mark.parametrize("body", ["", "{", "3", "null", '"text"', "[1, 2]", "[]", "{}"])
def test_what_is_no_record_of_json_stays_as_it_is(
    script_of: Callable[[str], ModuleType], body: str
) -> None:
    assert script_of("mutations").in_json(random.Random(1), body.encode()) == body.encode()
