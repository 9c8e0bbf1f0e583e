"""The order of operations around timed launches on a GPU, with stand-ins for PyCUDA and NVTX."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from test_library_calls import cuda, log  # noqa: F401 - fixtures

from harness.backends.base import Right
from harness.cases import Case

CASE = Case("double", "v0", "float32", {"n": 4}, kind="python")
RIGHT = Right((1,), other=(2,))


@pytest.fixture
def workspace(cuda: Any, log: list[str]) -> Any:  # noqa: F811
    """A workspace whose function acts according to `hashes`. Its inputs alternate between their two
    states, starting with the other one."""

    @contextlib.contextmanager
    def held() -> Iterator[None]:
        yield
        if found.waits and CASE.id not in found._unheld:
            raise cuda.workspace.NotHeldError("it waits")

    draws = iter([True, False] * 50)
    found: Any = object.__new__(cuda.workspace.CudaWorkspace)
    found.waits, found._unheld, found.rows = False, set(), []
    found._stream = SimpleNamespace(synchronize=lambda: None)
    found._control = SimpleNamespace(
        held=held, flush_l2=lambda how: log.append("flush"), pass_turns=lambda number: None
    )
    found._states = SimpleNamespace(
        kernels=1, draw=lambda: next(draws), enter=lambda other: log.append(f"state {int(other)}")
    )
    found._samples = SimpleNamespace(
        begin=lambda launches: log.append(f"begin {launches}"),
        keep=lambda: log.append("keep"),
        compare=lambda number: log.append(f"compare {number}"),
        late=lambda launches: {1},
    )
    found._watch = SimpleNamespace(
        note=lambda outputs: found.rows.append((1,)), forget=found.rows.pop,
        noted=lambda: found.rows, fill=lambda regions, pattern: None,
    )  # fmt: skip
    found._idle = SimpleNamespace(wait_ns=lambda: log.append("idle") or 0.0)
    found._outputs = found._to_fill = None
    found._launches = 0
    found._restore = lambda case, module: None
    found._calls = lambda case, built, twins=False: [
        lambda: log.append("twin" if twins else "call")
    ]
    found._module = lambda built: None
    return found


def test_a_launch_finds_its_state_and_is_looked_at_before_the_host_and_when_all_is_idle(
    workspace: Any,
    log: list[str],  # noqa: F811
) -> None:
    found = workspace._launched(CASE, None, "cold", 1, right=RIGHT)
    one = ["flush", "state 1", "event", "call", "event", "keep", "idle", "compare 0"]
    again = ["flush", "state 0", "event", "call", "event", "keep", "idle", "compare 1"]
    assert log == ["begin 2", *one, *again, "state 0"]
    assert found.states == [True, False]
    batch = found.judged(RIGHT, "")
    assert (batch.wrong, batch.kept, batch.late) == (1, 1, 1)


def test_a_warm_up_has_a_state_of_its_own(workspace: Any, log: list[str]) -> None:  # noqa: F811
    workspace._launched(CASE, None, "warm", 1, right=RIGHT)
    first = ["state 0", "twin", "state 1", "event", "call", "event", "keep", "idle", "compare 0"]
    assert log[: 1 + len(first)] == ["begin 2", *first]


def test_where_no_other_state_was_verified_inputs_stay_in_their_own(
    workspace: Any,
    log: list[str],  # noqa: F811
) -> None:
    workspace._launched(CASE, None, "cold", 2, right=Right((1,)))
    assert "state 1" not in log


def test_a_call_that_was_not_held_counts_once(workspace: Any, log: list[str]) -> None:  # noqa: F811
    workspace.waits = True
    found = workspace._launched(CASE, None, "cold", 1, right=RIGHT)
    assert log.count("call") == 3
    assert len(found.hashes) == len(found.states) == 2
