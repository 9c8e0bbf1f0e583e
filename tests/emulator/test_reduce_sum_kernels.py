"""Every variant of kernels/reduce_sum against a float64 sum, at both architectures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator_tools import KERNELS, CompilePtx

from harness.emulator import LaunchReport, Module, launch

SIZES = (1, 31, 33, 1021, 4097, 100_003)
BLOCK = 256
SM_COUNT = 132
FOLDER = KERNELS / "reduce_sum"
VARIANTS = sorted(path.stem for path in FOLDER.glob("[vt]*.cu"))


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def _first_step(variant: str, n: int) -> tuple[int, int, int]:
    """Grid, block and dynamic shared memory of a variant's first step, from its head comment."""
    number = variant.split("_", maxsplit=1)[0]
    if number in ("v0",):
        return _ceil_div(n, BLOCK), BLOCK, 0
    if number in ("v1", "v2", "v3"):
        return _ceil_div(n, BLOCK), BLOCK, 4 * BLOCK
    if number in ("v4a", "v5", "v6"):
        return _ceil_div(n, 2 * BLOCK), BLOCK, 4 * BLOCK
    if number == "v4b":
        return _ceil_div(n, BLOCK), BLOCK // 2, 2 * BLOCK
    if number == "v7":
        return 6 * SM_COUNT, BLOCK, 4 * BLOCK
    if number in ("v8", "t2"):
        return 6 * SM_COUNT, BLOCK, 0
    if number == "t1":
        return 1024, BLOCK, 0
    return min(_ceil_div(n, 16 * BLOCK), SM_COUNT * (2048 // BLOCK)), BLOCK, 0


def _sum(
    module: Module, variant: str, values: np.ndarray, chunk_threads: int = 65536
) -> tuple[float, list[LaunchReport]]:
    """All steps of a variant: the sum, and the report of each step."""
    n = len(values)
    grid, block, shared = _first_step(variant, n)
    data = values.copy()
    partials = np.full(n // 32 + 65_536, np.nan, np.float32)
    output = np.full(1, np.nan, np.float32)
    ticket = np.zeros(1, np.uint32)
    if variant.startswith("v11"):
        steps = [
            ("zero_output", 1, 1, 0, [output]),
            ("sum", grid, block, shared, [data, output, n]),
        ]
    elif variant.startswith("v12"):
        steps = [("sum", grid, block, shared, [data, partials, output, ticket, n])]
    else:
        steps = [
            ("block_sums", grid, block, shared, [data, partials, n]),
            ("sum_partials", 1, 1024, 0, [partials, output, grid]),
        ]
    reports = [
        launch(module, kernel, blocks, threads, args, size, chunk_threads=chunk_threads)
        for kernel, blocks, threads, size, args in steps
    ]
    for report in reports:
        assert not report.faults, str(report.faults[0])
    assert ticket[0] == 0
    return float(output[0]), reports


def _module(compile_ptx: CompilePtx, variant: str, arch: str) -> Module:
    defines = [f"BLOCK={BLOCK}"] if variant.startswith(("v6", "v7")) else []
    return compile_ptx(Path(FOLDER / f"{variant}.cu"), arch, defines)


def test_there_are_variants_to_check() -> None:
    assert len(VARIANTS) >= 16


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_sums_every_size(compile_ptx: CompilePtx, variant: str, arch: str) -> None:
    module = _module(compile_ptx, variant, arch)
    for n in SIZES:
        values = np.random.default_rng(n).random(n, dtype=np.float32) - np.float32(0.25)
        exact = float(values.sum(dtype=np.float64))
        bound = (np.log2(n) + 4) * np.finfo(np.float32).eps * float(np.abs(values).sum())
        found, _ = _sum(module, variant, values)
        assert abs(found - exact) <= bound, (n, found, exact)


@pytest.mark.parametrize("variant", VARIANTS)
def test_counters_and_sums_do_not_depend_on_the_size_of_a_chunk(
    compile_ptx: CompilePtx, variant: str
) -> None:
    module = _module(compile_ptx, variant, "sm_90")
    values = np.random.default_rng(5).random(40_003, dtype=np.float32)
    results = [_sum(module, variant, values, size) for size in (65536, 1 << 20, 4096, 1)]
    for found, reports in results[1:]:
        assert found == results[0][0]
        assert [r.counters for r in reports] == [r.counters for r in results[0][1]]
        assert [r.instructions for r in reports] == [r.instructions for r in results[0][1]]
