"""Of every problem a small change of the inputs is seen in the results, so that launches differ."""

from __future__ import annotations

import pytest
from own_repository import BENCH, ROOT

from harness.cases import Case
from harness.problem import loading
from harness.worker.inputs import Inputs
from harness.worker.states import MORE, other_state


@pytest.mark.parametrize("name", BENCH.problems)
def test_a_small_change_of_the_timed_inputs_is_seen(name: str) -> None:
    problem, matrix = loading.load(ROOT / "kernels" / name), BENCH.problems[name]
    sizes = max(matrix.sizes.test, key=lambda s: problem.work(s, matrix.dtypes[0]).bytes)
    for dtype in matrix.dtypes:
        case = Case(name, "any", dtype, sizes)
        own = Inputs(problem, case, 1, problem.timed_draw)
        found = other_state(problem, case, own)
        if found is None:  # whatever a probe of the card reads is let pass
            outputs = {b.name for b in problem.buffers(sizes, dtype) if b.role == "output"}
            assert outputs == set(problem.readings), (dtype, sizes)
            continue
        changes, other = found
        for change in changes.values():
            assert len(change.where) <= MORE
        assert own.reference.keys() == other.reference.keys()
