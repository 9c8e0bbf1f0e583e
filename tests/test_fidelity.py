"""The emulator's counts equal Nsight Compute's readings on an H200 exactly, kernel by kernel.

PTX counts are compared where they are known to hold; machine-code counts are always
compared.

The readings are committed: counters.csv.gz in reports/h200/. Explained differences are listed only
in tests/fidelity/exceptions.yaml; an entry that is no longer needed makes the test fail, too.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from filelock import FileLock, Timeout

ROOT = Path(__file__).parents[1]
RUNS = ("reduce_sum", "fidelity")
"""The folders that reports/h200 must have."""
CLAIMS: dict[str, Any] = yaml.safe_load((ROOT / "tests" / "fidelity" / "claims.yaml").read_text())


@pytest.fixture(scope="module")
def script(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("fidelity_readings")


@pytest.fixture(scope="module")
def files(script: ModuleType) -> list[Path]:
    for run in RUNS:
        path = script.READINGS / run
        assert list(path.glob("counters.csv*")), (
            f"{path}/counters.csv is missing: on an H200, python -m harness profile "
            f"--backend cuda --config …, and commit what it counted"
        )
    found: list[Path] = script.reading_files()
    return found


@pytest.fixture(scope="module")
def read(script: ModuleType, files: list[Path]) -> Any:
    return script.readings(files)


@pytest.fixture(scope="module")
def matrices(script: ModuleType) -> list[Any]:
    """The repository's matrix, and that of tests/fidelity."""
    return [script.Matrix(path) for path in script.MATRICES]


@pytest.fixture(scope="module")
def launches(
    read: Any, matrices: list[Any], shared_by_all_workers: Path,
    made_once: Callable[[str, Callable[[], Any]], Any],
) -> list[Any]:  # fmt: skip
    """Every launch, compared once: a worker takes the problems that no other worker has begun."""
    made_once("fidelity", lambda: [each.compiled(each.chosen(read)) for each in matrices])
    parts = [(matrix, problem) for matrix in matrices for problem in matrix.problems]
    found: dict[int, list[Any]] = {}
    for patience in (0, -1):
        for number, (matrix, problem) in enumerate(parts):
            kept = shared_by_all_workers / f"fidelity-{number}.pickle"
            with suppress(Timeout), FileLock(kept.with_suffix(".lock"), timeout=patience):
                if not kept.exists():
                    compared = list(matrix.compare(read, problem=problem))
                    kept.write_bytes(pickle.dumps(compared))
                found[number] = pickle.loads(kept.read_bytes())
    return [launch for number in range(len(parts)) for launch in found[number]]


def differences(script: ModuleType, launches: list[Any], provenance: str) -> list[tuple[Any, Any]]:
    return [
        (launch, each) for launch in launches for each in launch.of(provenance) if not each.equal
    ]


def told(pairs: list[tuple[Any, Any]]) -> str:
    return "\n".join(
        f"{launch.case.id} step {launch.step} ({launch.kernel}): {each.metric} "
        f"{each.ours:,.10g}, ncu {each.theirs:,.10g}"
        for launch, each in pairs
    )


def test_every_kernel_with_readings_runs_on_the_emulator(launches: list[Any]) -> None:
    refused = [f"{launch.case.id}: {launch.refusal}" for launch in launches if launch.refusal]
    assert not refused, "\n".join(refused)


def test_every_case_of_the_fidelity_matrix_has_readings(
    matrices: list[Any], launches: list[Any]
) -> None:
    assert not set(matrices[1].cases) - {launch.case.id for launch in launches}


def test_every_variant_of_the_sum_has_readings(matrices: list[Any], launches: list[Any]) -> None:
    wanted = {
        f"reduce_sum/{case.variant}"
        for case in matrices[0].cases.values()
        if case.problem == "reduce_sum" and case.sizes["n"] == 2**20
    }
    assert len(wanted) > 15
    assert wanted <= {launch.name for launch in launches}


def test_every_kernel_that_is_emulated_at_sizes_of_its_own_was_read_at_one_of_them(
    matrices: list[Any], launches: list[Any]
) -> None:
    matrix = matrices[0]
    own = [c for c in matrix.by_default if matrix.bench.problems[c.problem].sizes.emulate]
    compared = {launch.case.id for launch in launches}
    at_one = {f"{c.problem}/{c.variant}" for c in own if c.id in compared}
    assert {f"{c.problem}/{c.variant}" for c in own} == at_one


def test_only_longer_launches_of_kernels_that_are_run_here_are_left_to_the_page(
    script: ModuleType, read: Any, matrices: list[Any]
) -> None:
    here = {script.variant_of(case) for case in matrices[0].chosen(read)}
    elsewhere = matrices[0].chosen(read, in_tests=False)
    assert len(elsewhere) > 100
    for case in elsewhere:
        is_here = script.variant_of(case) in here
        assert is_here or script.threads(case, read) > script.IN_TESTS, case.id


def test_every_counter_of_memory_was_read_and_all_but_colliding_atomics_claim_to_be_exact(
    script: ModuleType, launches: list[Any]
) -> None:
    unread = [f"{x.case.id} step {x.step}: {', '.join(x.missing)}" for x in launches if x.missing]
    assert not unread, "\n".join(unread)
    # The sectors of an atomic whose lanes collide are a model: see docs/counters.md.
    colliding = ("sectors_pipe_lsu_mem_global_op_red", "sectors_pipe_lsu_mem_global_op_atom")
    claimed = {
        metric
        for metric in script.OF_MEMORY
        if metric.startswith("l1tex__t_") and not any(name in metric for name in colliding)
    }
    modelled = {
        name: {metric for metric in claimed for op in ops if metric.endswith(f"_op_{op}.sum")}
        for reason in CLAIMS["accesses of PTX are a model"]
        for name, ops in reason["kernels"].items()
    }
    lacking: dict[str, set[str]] = {}
    for launch in launches:
        if missing := claimed - {each.metric for each in launch.of(script.EXACT)}:
            lacking.setdefault(launch.name, set()).update(missing)
    assert lacking == modelled


@pytest.mark.parametrize(("word", "readings"), [("EXACT", 4000), ("MACHINE", 12_000)])
def test_exact_counters_are_equal_to_the_digit_but_for_the_known_exceptions(
    script: ModuleType, launches: list[Any], word: str, readings: int
) -> None:
    exceptions, provenance = script.known(), getattr(script, word)
    assert sum(len(launch.of(provenance)) for launch in launches) > readings
    unexplained = [
        (launch, each)
        for launch, each in differences(script, launches, provenance)
        if not any(e.explains(launch, each) for e in exceptions)
    ]
    assert not unexplained, told(unexplained)


def test_both_front_ends_agree_where_both_claim_to_be_exact(
    script: ModuleType, launches: list[Any]
) -> None:
    """Wavefronts are always compared: if ptxas may merge accesses, wavefronts counted in PTX are
    not called exact."""
    exceptions, claims, apart = script.known(), 0, []
    for launch in launches:
        machine = {each.metric: each.ours for each in launch.of(script.MACHINE)}
        for each in launch.of(script.EXACT):
            if each.metric not in machine:
                continue
            claims += 1
            explained = any(e.explains(launch, each) for e in exceptions)
            same = script.Compared(each.metric, script.EXACT, each.ours, machine[each.metric]).equal
            if not same and ("wavefronts" in each.metric or not explained):
                apart.append(
                    f"{launch.case.id}: {each.metric}: {each.ours}, {machine[each.metric]}"
                )
    assert claims > 4000
    assert not apart, "\n".join(apart)


def test_only_sectors_of_stores_may_differ_by_noise_and_by_half_a_percent(
    script: ModuleType,
) -> None:
    assert {script.STORE_SECTORS: 0.005} == script.WITHIN
    noisy = script.Compared(script.STORE_SECTORS, script.EXACT, 1000, 1005)
    over = script.Compared(script.STORE_SECTORS, script.EXACT, 1000, 1006)
    loads = script.Compared(script.GLOBAL.format("sectors", "ld"), script.EXACT, 1000, 1001)
    assert (noisy.equal, over.equal, loads.equal) == (True, False, False)


def test_every_known_exception_is_still_needed_by_each_of_its_kernels(
    script: ModuleType, launches: list[Any]
) -> None:
    apart = {
        (launch.name, each.metric, provenance)
        for provenance in (script.EXACT, script.MACHINE)
        for launch, each in differences(script, launches, provenance)
    }
    idle = [
        f"{kernel}: {counter}"
        for exception in script.known()
        for kernel in exception.kernels
        for counter in exception.counters
        if (kernel, counter, exception.provenance) not in apart
    ]
    assert not idle, "equal by now; take them out of exceptions.yaml:\n" + "\n".join(idle)


def test_what_is_a_model_of_machine_code_is_little_and_named(
    script: ModuleType, launches: list[Any]
) -> None:
    names = {launch.name for launch in launches if launch.of(script.OF_MACHINE)}
    assert names == set(CLAIMS["counters of machine code are a model"])


def test_ptx_and_machine_code_leave_the_same_bits_but_where_sums_have_another_order(
    launches: list[Any],
) -> None:
    apart = {(launch.name, launch.case.dtype) for launch in launches if not launch.same}
    assert apart == {
        ("dot/v0_block_reduce_atomic", "float16"),  # an atomic adds the blocks' half-precision sums
        ("sgemm_tf32/v0_wmma", "float32"),  # ptxas chooses the order of k in a fragment
        ("scan/v4_look_back", "float32"),  # a tile adds what is ready when it looks back
        ("scan/v5_sixty_four_per_thread", "float32"),
        ("latency/v0_chain", "uint32"),  # cycles, which it counts itself
        ("latency/v1_chain_in_shared_memory", "uint32"),
    }


def test_memory_delivered_the_distinct_sectors_the_code_and_a_few_kibibytes(
    script: ModuleType, launches: list[Any]
) -> None:
    """Memory delivers at most twice the required bytes to kernels that request single sectors,
    suppress boxes (nms), spill registers, or write so much that the L2 cache cannot keep data that
    is read again. Data that the launch itself has written comes from the L2
    cache."""
    assert all(launch.read is not None for launch in launches)
    beyond = {
        "conv2d/v7_winograd", "latency/v0_chain",
        "nms/v1_device_scan", "nms/v2_scan_by_words", "nms/v3_scan_on_all_multiprocessors",
        "nms/v4_decisions_as_they_come", "occupancy_probe/v2a_64_registers",
        "occupancy_probe/v2b_48_registers", "occupancy_probe/v2c_32_registers",
    }  # fmt: skip
    written = {
        "atomic_subnormals/v0_plain_addition", "atomic_subnormals/v1_atomic_in_global_memory",
    }  # fmt: skip
    for launch in launches:
        touched, code, delivered = launch.read
        most = script.PARAMETER_BYTES + (touched if launch.name in beyond else 0)
        if launch.kernel == "add" and launch.name in written:
            touched /= 2  # only the bits come from memory, not the sums
        assert 0 <= delivered - touched <= code + most, launch.case.id
    assert sum(launch.read[0] > 1e5 for launch in launches) > 50


def test_uniform_branches_are_compared_only_where_both_kinds_of_code_have_a_branch(
    script: ModuleType, launches: list[Any]
) -> None:
    read = [
        (launch, c) for launch in launches for c in launch.of(script.PTX)
        if c.metric == script.UNIFORM
    ]  # fmt: skip
    assert len(read) > 50
    wrong = [(launch, c) for launch, c in read if not (0 < c.theirs <= 1 and 0 < c.ours <= 1)]
    assert not wrong, told(wrong)


def test_single_and_double_precision_operations_are_the_hardwares_where_ptx_says_them_all(
    script: ModuleType, launches: list[Any]
) -> None:
    others = {name for reason in CLAIMS["operations differ from PTX"] for name in reason["kernels"]}
    kinds = [f"_op_{letter}{kind}_pred_on" for letter in "fd" for kind in ("add", "mul", "fma")]
    apart = {
        launch.name
        for launch in launches
        for each in launch.of(script.PTX)
        if any(kind in each.metric for kind in kinds) and not each.equal
    }
    assert apart == others


def test_registers_occupancy_and_waves_are_what_ncu_says(
    script: ModuleType, launches: list[Any]
) -> None:
    apart = differences(script, launches, script.COMPILED)
    assert not apart, told(apart)
    assert all(len(launch.of(script.COMPILED)) == 5 for launch in launches)


def test_the_table_in_the_documentation_is_that_of_the_readings(
    script: ModuleType, script_of: Callable[[str], ModuleType], launches: list[Any]
) -> None:
    page = (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8")
    wanted = script_of("fidelity_table").Section(launches, script.known()).text()
    assert wanted in page, (
        "docs/fidelity.md is out of date: python scripts/readings/fidelity_table.py"
    )
