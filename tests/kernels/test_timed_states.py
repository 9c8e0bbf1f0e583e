"""For every problem, a small change of the inputs affects the results, so that launches can be told
apart."""

from __future__ import annotations

import pytest
from own_repository import BENCH, ROOT

from harness.backends.emulated import EmulatorBackend
from harness.backends.emulated_device import emulated_device
from harness.cases import Case
from harness.matrix import plan
from harness.problem import loading
from harness.run import compilation
from harness.worker.inputs import Inputs
from harness.worker.states import MORE, other_state

ARCH = "sm_90"


@pytest.mark.parametrize("name", BENCH.problems)
def test_a_small_change_of_the_timed_inputs_is_seen(name: str) -> None:
    problem, matrix = loading.load(ROOT / "kernels" / name), BENCH.problems[name]
    sizes = max(matrix.sizes.test, key=lambda s: problem.work(s, matrix.dtypes[0]).bytes)
    for dtype in matrix.dtypes:
        case = Case(name, "any", dtype, sizes)
        own = Inputs(problem, case, 1, problem.timed_draw)
        found = other_state(problem, case, own)
        if found is None:  # a probe of the card: any reading passes, or no input may change
            buffers = problem.buffers(sizes, dtype)
            outputs = {b.name for b in buffers if b.role == "output"}
            inputs = {b.name for b in buffers if b.role == "input"}
            fixed = {name for name, count in problem.changed_together.items() if count == 0}
            assert problem.readings, (dtype, sizes)
            assert outputs == set(problem.readings) or inputs <= fixed, (dtype, sizes)
            continue
        changes, other = found
        for change in changes.values():
            assert len(change.where) <= MORE
        assert own.reference.keys() == other.reference.keys()


@pytest.mark.parametrize(
    "name", [name for name in BENCH.problems if loading.load(ROOT / "kernels" / name).partly_read]
)
def test_a_kernel_that_has_an_input_elsewhere_is_right_for_the_other_state(name: str) -> None:
    problem, matrix = loading.load(ROOT / "kernels" / name), BENCH.problems[name]
    sizes = max(matrix.sizes.test, key=lambda s: problem.work(s, matrix.dtypes[0]).bytes)
    cases = plan.cases_at(BENCH, emulated_device(ARCH), name, [sizes])
    built = compilation.compile_all(cases, ROOT / "kernels", ARCH).built
    assert built
    for case in cases:
        found = other_state(problem, case, Inputs(problem, case, 1, problem.timed_draw))
        assert found, "no input may change"
        _, other = found
        buffers = problem.buffers(case.sizes, case.dtype)
        with EmulatorBackend(ARCH).workspace(problem, buffers, other.values) as workspace:
            verified, _ = other.verify(workspace, case, built[case.id], "test")
        assert verified.ok, f"{case.id}: {verified.reason}"
