"""A function that replaces timing or checking code is reported by name, and the original is
restored."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from harness.backends import launch_outcomes
from harness.measure import rounds
from harness.worker import inputs, timing
from harness.worker.own_code import OwnCode


def other(*asked: Any, **named: Any) -> Any:
    return None


def replace_module() -> None:
    sys.modules["harness.measure.rounds"] = ModuleType("harness.measure.rounds")


def replace_bytecode() -> None:
    rounds._rounded.__code__ = other.__code__


CHEATS: dict[str, tuple[Callable[[], None], str]] = {
    "a function of a module": (
        lambda: setattr(timing, "measure", other), "harness.worker.timing.measure"
    ),
    "a method": (
        lambda: setattr(launch_outcomes.Launched, "judged", other),
        "harness.backends.launch_outcomes.Launched.judged",
    ),
    "a property": (
        lambda: setattr(inputs.Scratch, "has_changes", property(other)),
        "harness.worker.inputs.Scratch.has_changes",
    ),
    "a clock": (lambda: setattr(time, "perf_counter_ns", lambda: 0), "time.perf_counter_ns"),
    "a module": (replace_module, "harness.measure.rounds"),
    "what a function does": (replace_bytecode, "harness.measure.rounds._rounded"),
}  # fmt: skip


@pytest.mark.fault(
    "a Python function that replaces what times or judges it: a function, a method, a clock, a "
    "module, the code of a function",
    outcome="It fails as `it replaced …, which times or judges it`; what it replaced is put back.",
)
@pytest.mark.parametrize("what", CHEATS)
def test_whoever_replaces_what_times_or_judges_is_named_and_it_is_put_back(what: str) -> None:
    cheat, name = CHEATS[what]
    own, module = OwnCode(), rounds
    before = (
        timing.measure,
        launch_outcomes.Launched.judged,
        time.perf_counter_ns,
        rounds._rounded([2.04]),
    )
    cheat()
    assert own.tampered() == f"it replaced {name}, which times or judges it"
    after = (
        timing.measure,
        launch_outcomes.Launched.judged,
        time.perf_counter_ns,
        rounds._rounded([2.04]),
    )
    assert after == before
    assert sys.modules["harness.measure.rounds"] is module
    assert own.tampered() == "", "it is said once, of the case that did it"


def test_an_honest_function_may_import_define_and_add(monkeypatch: pytest.MonkeyPatch) -> None:
    own = OwnCode()
    monkeypatch.setitem(sys.modules, "harness_like", ModuleType("harness_like"))
    monkeypatch.setattr(rounds, "something_new", other, raising=False)
    monkeypatch.setattr(sys, "argv", ["other"])
    assert own.tampered() == ""


def test_several_are_counted() -> None:
    own = OwnCode()
    timing.measure = timing.profile = other  # type: ignore[assignment]
    assert " and 1 more, which" in own.tampered()
