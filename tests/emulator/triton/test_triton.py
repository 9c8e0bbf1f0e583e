"""Kernels that Triton compiled for sm_80 and sm_90 give what NumPy gives."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from emulator_tools import run

from harness.emulator import LaunchReport, parse

HERE = Path(__file__).parent
LAUNCHES = json.loads((HERE / "launches.json").read_text())
RANDOM = np.random.default_rng(16)
FACTORS = {
    "fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32,
    "fp8e4nv": ml_dtypes.float8_e4m3fn, "fp8e5": ml_dtypes.float8_e5m2,
}  # fmt: skip
BOTH = pytest.mark.parametrize("arch", ["sm_80", "sm_90"])

pytestmark = pytest.mark.usefixtures("engine")


def launched(name: str, grid: int | tuple[int, int], args: list[Any]) -> LaunchReport:
    """Triton's parameters end with two pointers to scratch memory, which these do not use."""
    module = parse(gzip.decompress((HERE / f"{name}.ptx.gz").read_bytes()).decode())
    (kernel,) = module.kernels
    scratch = [np.zeros(1, np.uint8) for _ in range(2)]
    about = LAUNCHES[name]
    return run(module, kernel, grid, about["threads"], [*args, *scratch],
               shared_bytes=about["shared"])  # fmt: skip


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def test_every_compiled_kernel_is_executed_here() -> None:
    files = {path.name.removesuffix(".ptx.gz") for path in HERE.glob("*.ptx.gz")}
    assert files == set(LAUNCHES)
    tested = {*OF_ROWS, "add", "dropout", "histogram", "scan", "sort", "attention", *MATMULS}
    assert {name.partition(".")[0] for name in files} == tested


@BOTH
def test_add(arch: str) -> None:
    x, y, out = floats(5000), floats(5000), np.zeros(5000, np.float32)
    launched(f"add.{arch}", 5, [x, y, out, 5000])
    assert (out == x + y).all()


def _softmax(x: np.ndarray) -> tuple[list[Any], np.ndarray]:
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return [x, np.zeros_like(x), x.shape[1]], powers / powers.sum(1, keepdims=True)


def _layer_norm(x: np.ndarray) -> tuple[list[Any], np.ndarray]:
    half, weight, bias = x.astype(np.float16), floats(x.shape[1]), floats(x.shape[1])
    wide = half.astype(np.float64)
    scale = np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    wanted = (wide - wide.mean(1, keepdims=True)) / scale * weight + bias
    args = [half, weight, bias, np.zeros_like(half), x.shape[1], np.float32(1e-5)]
    return args, wanted


OF_ROWS: dict[str, Callable[[np.ndarray], tuple[list[Any], np.ndarray]]] = {
    "softmax": _softmax, "layer_norm": _layer_norm,
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("name", OF_ROWS)
def test_a_kernel_of_rows(name: str, arch: str) -> None:
    args, wanted = OF_ROWS[name](floats(7, 777))
    launched(f"{name}.{arch}", 7, args)
    found = args[1] if name == "softmax" else args[3]
    tolerance = 1e-5 if found.dtype == np.float32 else 2e-3
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@BOTH
def test_dropout_leaves_out_the_share_that_is_asked_for(arch: str) -> None:
    x, out = np.ones(5000, np.float32), np.zeros(5000, np.float32)
    launched(f"dropout.{arch}", 10, [x, out, 5000, np.float32(0.25), 123])
    assert abs((out == 0).mean() - 0.25) < 0.02
    np.testing.assert_allclose(out[out != 0], 1 / 0.75, rtol=1e-6)


@BOTH
def test_histogram(arch: str) -> None:
    x, out = RANDOM.integers(0, 64, 5120).astype(np.int32), np.zeros(64, np.int32)
    launched(f"histogram.{arch}", 10, [x, out, 5120])
    assert (out == np.bincount(x, minlength=64)).all()


@BOTH
def test_scan(arch: str) -> None:
    x = RANDOM.integers(-9, 9, (3, 500)).astype(np.float32)
    out = np.zeros_like(x)
    launched(f"scan.{arch}", 3, [x, out, 500])
    assert (out == np.cumsum(x, 1)).all()


@BOTH
def test_sort(arch: str) -> None:
    x, out = RANDOM.integers(-999, 999, 256).astype(np.int32), np.zeros(256, np.int32)
    launched(f"sort.{arch}", 1, [x, out])
    assert (out == np.sort(x)).all()


@BOTH
def test_attention(arch: str) -> None:
    n, width = 256, 64
    q, k, v = floats(3, n, width).astype(np.float16)
    out = np.zeros_like(q)
    launched(f"attention.{arch}", n // 64, [q, k, v, out, n, np.float32(0.125)])
    scores = q.astype(np.float64) @ k.astype(np.float64).T / 8
    powers = np.exp(scores - scores.max(1, keepdims=True))
    wanted = powers / powers.sum(1, keepdims=True) @ v.astype(np.float64)
    np.testing.assert_allclose(out, wanted, atol=2e-3)


TILES = {"wide": (128, 256), "narrow": (64, 16)}
MATMULS = sorted({name.partition(".")[0] for name in LAUNCHES if name.startswith("matmul")})


@pytest.mark.parametrize("name", [name for name in LAUNCHES if name.startswith("matmul")])
def test_a_product_of_matrices(name: str) -> None:
    """On sm_90 it is done by warpgroups, from swizzled shared memory."""
    _, type_, *how = name.partition(".")[0].split("_")
    rows, columns = next((TILES[each] for each in how if each in TILES), (64, 64))
    m, n, k = 2 * rows, 2 * columns, 128
    a, b = (RANDOM.integers(-8, 9, shape).astype(FACTORS[type_]) for shape in ((m, k), (k, n)))
    turned_a, turned_b = "at" in how, "bt" in how or type_ in ("fp32", "fp8e5")
    given = [np.ascontiguousarray(each.T if turned else each).view(f"u{each.itemsize}")
             for each, turned in ((a, turned_a), (b, turned_b))]  # fmt: skip
    out = np.zeros((m, n), np.float32)
    report = launched(name, (2, 2), [*given, out, m, n, k])
    assert (out == a.astype(np.float64) @ b.astype(np.float64)).all()
    by_warpgroups = any("wgmma.mma_async" in each.opcode for each in report.instructions)
    assert by_warpgroups == name.endswith("sm_90")
