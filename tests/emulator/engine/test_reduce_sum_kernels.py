"""Every variant of kernels/reduce_sum, launched as in its matrix and compared with a float64
sum."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from emulator_tools import KERNELS, CompilePtx
from own_repository import BENCH

from harness.backends.emulated_device import emulated_device
from harness.cases import Case
from harness.emulator import LaunchReport, Module, launch
from harness.matrix import plan

BLOCK = 256
SIZES = (1, 31, 33, 1021, 4097, 100_003)
MATRIX = BENCH.problems["reduce_sum"]
VARIANTS = [name for name, variant in MATRIX.variants.items() if variant.kind == "kernel"]


@cache
def _cases(n: int, arch: str) -> dict[str, Case]:
    """Map each variant to its case at a size, in blocks of BLOCK threads."""
    cases = plan.cases_at(BENCH, emulated_device(arch), "reduce_sum", [{"n": n}])
    return {case.variant: case for case in cases if case.launch.get("block") == BLOCK}


def _sum(
    module: Module, case: Case, values: np.ndarray, chunk_threads: int = 65536
) -> tuple[float, list[LaunchReport]]:
    """Launch all steps of a variant; return the sum, and the report of each step."""
    n = len(values)
    buffers = {
        "input": values.copy(),
        "partials": np.full(n // 32 + 65_536, np.nan, np.float32),
        "output": np.full(1, np.nan, np.float32),
        "ticket": np.zeros(1, np.uint32),
    }
    reports = [
        launch(
            module, step.kernel, step.grid, step.block,
            [buffers.get(arg, arg) for arg in step.args],  # type: ignore[arg-type]
            step.shared_bytes, chunk_threads=chunk_threads,
        )
        for step in case.steps
    ]  # fmt: skip
    for report in reports:
        assert not report.faults, str(report.faults[0])
    assert buffers["ticket"][0] == 0
    return float(buffers["output"][0]), reports


def _module(compile_ptx: CompilePtx, case: Case, arch: str) -> Module:
    defines = [f"{name}={value}" for name, value in case.defines.items()]
    return compile_ptx(KERNELS / "reduce_sum" / case.source, arch, defines)


def test_every_source_of_the_folder_belongs_to_a_variant() -> None:
    used = {v.source for v in (*MATRIX.variants.values(), *MATRIX.libraries.values())}
    assert {path.name for path in (KERNELS / "reduce_sum").glob("*.cu")} == used - {""}
    assert len(VARIANTS) >= 18


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_sums_every_size(compile_ptx: CompilePtx, variant: str, arch: str) -> None:
    cases = {n: _cases(n, arch)[variant] for n in SIZES}
    modules: dict[str, Module] = {}  # one for all sizes that are compiled alike, as in a run
    for n, case in cases.items():
        key = str(case.defines)
        if key not in modules:
            modules[key] = _module(compile_ptx, case, arch)
        values = np.random.default_rng(n).random(n, dtype=np.float32) - np.float32(0.25)
        exact = float(values.sum(dtype=np.float64))
        bound = (np.log2(n) + 4) * np.finfo(np.float32).eps * float(np.abs(values).sum())
        found, _ = _sum(modules[key], case, values)
        assert abs(found - exact) <= bound, (n, found, exact)


@pytest.mark.parametrize("variant", VARIANTS)
def test_counters_and_sums_do_not_depend_on_the_size_of_a_chunk(
    compile_ptx: CompilePtx, variant: str
) -> None:
    case = _cases(40_003, "sm_90")[variant]
    module = _module(compile_ptx, case, "sm_90")
    values = np.random.default_rng(5).random(40_003, dtype=np.float32)
    results = [_sum(module, case, values, size) for size in (65536, 1 << 20, 4096, 1)]
    for found, reports in results[1:]:
        assert found == results[0][0]
        assert [r.counters for r in reports] == [r.counters for r in results[0][1]]
        assert [r.instructions for r in reports] == [r.instructions for r in results[0][1]]
