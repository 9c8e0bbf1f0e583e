"""Counters from machine code are what Nsight Compute read on an H200, to the digit.

The readings are those that the PTX side is held to (tests/test_fidelity.py): of every profiled
problem at its small size, and every kernel of tests/fidelity. Results are right, and the same bits
as from PTX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from harness import emulator
from harness.backends.base import Execution, scalar_or_buffer
from harness.backends.emulated import contents, normalised, poisoned
from harness.build import compile as compiler
from harness.build.compile import kernel_name
from harness.cases import Case
from harness.emulator.sass import MachineCode, MachineReport, launch_machine_code, read
from harness.run.inputs import Inputs
from harness.run.runner import problems
from harness.run.verify import check

ROOT = Path(__file__).parents[3]
EXACT = "machine-exact"
OTHERS = {
    (kernel, metric.format(suffix))
    for kernel in ("reduce_sum/t2_adjacent_elements_per_thread", "window_sum/v4_four_per_thread")
    for metric in (
        "smsp__thread_inst_executed{}.sum", "smsp__thread_inst_executed{}_per_inst_executed.ratio"
    )
    for suffix in ("", "_pred_on")
}  # fmt: skip
"""Readings that differ. For a reason that is not known: 11 threads more in a launch of 18,791,862
thread instructions, where a warp leaves a loop in three parts, and 8 in two of some 27 million."""


@dataclass(frozen=True)
class Held:
    """One launch: what the machine code counted, and what was read."""

    case: Case
    compared: tuple[Any, ...]
    report: MachineReport

    @property
    def name(self) -> str:
        return f"{self.case.problem}/{self.case.variant}"


@pytest.fixture(scope="module")
def script(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("fidelity_table")


@pytest.fixture(scope="module")
def held(script: ModuleType) -> list[Held]:
    found = script.readings(sorted(script.READINGS.glob(script.COUNTERS)))
    return [launch for path in script.MATRICES for launch in _of(script, path, found)]


def _of(script: ModuleType, path: Path, readings: Any) -> Iterator[Held]:
    matrix = script.Matrix(path)
    chosen = [case for case in matrix.cases.values() if (case.id, 0) in readings]
    units = {c.id: compiler.unit(c, matrix.bench.kernels, script.ARCH) for c in chosen}
    built = compiler.build_all(list(units.values()))
    codes: dict[Path, MachineCode] = {}
    for case in chosen:
        own = built[units[case.id]]
        assert isinstance(own, compiler.Built)
        code = codes.setdefault(own.cubin, codes.get(own.cubin) or read(own.cubin))
        problem = problems.load(matrix.bench.kernels / case.problem)
        inputs = Inputs(problem, case, matrix.bench.timing.seed, 0)
        buffers = problem.buffers(case.sizes, case.dtype)
        given = contents(buffers, inputs.values)
        arrays = {
            b.name: given[b.name].copy() if b.role == "input" else poisoned(b) for b in buffers
        }
        for step, report in enumerate(_reports(case, own, code, arrays)):
            assert not report.faults, f"{case.id}: {report.faults[0]}"
            theirs = readings.get((case.id, step), {})
            values = [(c, normalised(c)[0]) for c in report.counters if c.name in theirs]
            compared = tuple(
                script.Compared(c.name, c.provenance, value, theirs[c.name])
                for c, value in values
                # Nsight Compute reads 0 where there is no branch.
                if theirs[c.name] or c.name != script.UNIFORM
            )
            yield Held(case, compared, report)
        outputs = {b.name: arrays[b.name] for b in buffers if b.role == "output"}
        right = check(Execution(outputs), inputs.reference, inputs.tolerance)
        assert right.ok, f"{case.id}: {right.reason}"


def _reports(
    case: Case, built: compiler.Built, code: MachineCode, arrays: dict[str, Any]
) -> Iterator[MachineReport]:
    module = emulator.parse(built.ptx.read_text())
    for step in case.steps:
        symbol = kernel_name(step.kernel, built, case.source)
        kernel = module.kernels[symbol]
        bound = scalar_or_buffer(kernel.params, step, case.source)
        args = [arrays[a] if isinstance(a, str) else a for a in bound]
        yield launch_machine_code(
            code, symbol, step.grid, step.block, args, step.shared_bytes, signature=kernel
        )


def test_exact_counters_are_equal_to_the_digit(held: list[Held]) -> None:
    apart = [
        f"{launch.case.id} ({launch.report.kernel}): {each.metric} {each.ours:,.10g}, "
        f"ncu {each.theirs:,.10g}"
        for launch in held
        for each in launch.compared
        if each.provenance == EXACT and not each.equal
        if (launch.name, each.metric) not in OTHERS
    ]
    assert not apart, "\n".join(apart)
    assert len(held) > 300
    assert sum(each.provenance == EXACT for launch in held for each in launch.compared) > 7000


def test_every_known_difference_is_still_there(held: list[Held]) -> None:
    apart = {
        (launch.name, each.metric)
        for launch in held
        for each in launch.compared
        if each.provenance == EXACT and not each.equal
    }
    assert apart == OTHERS


def test_what_is_a_model_is_little_and_named(held: list[Held]) -> None:
    """Colliding atomics, asynchronous copies, and loops that wait for other threads."""
    names = {launch.name for launch in held for e in launch.compared if e.provenance != EXACT}
    assert names == {
        "histogram/global_atomics", "histogram/shared_float_atomics", "distinct/global_cas",
        "distinct/global_cas_checked", "distinct/global_exchange", "group_max/global_max",
        "index_add/v0_atomic_per_element", "index_add/v1_vector_atomics",
        "index_add/v2_sorted_segments", "sgemm_tf32/v1_mma_async_copy", "softmax/v3_grid_barrier",
    }  # fmt: skip


@pytest.mark.parametrize("variant", ["reduce_sum/v0", "reduce_sum/v12", "reduce_sum/v9b"])
def test_the_counts_of_instructions_add_up(held: list[Held], variant: str) -> None:
    launches = [launch for launch in held if launch.name.startswith(variant)]
    assert launches
    for launch in launches:
        total = sum(each.warps for each in launch.report.instructions)
        assert total == launch.report.counter("smsp__inst_executed.sum").value
        assert total == sum(launch.report.instruction_mix.values())
        assert np.all([each.threads_on <= each.threads for each in launch.report.instructions])
