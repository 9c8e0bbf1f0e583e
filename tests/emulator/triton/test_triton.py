"""Kernels that Triton compiled for sm_80 and sm_90 give NumPy's results, in PTX and in machine
code."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from emulator_tools import assemble, counts_what_an_h200_does, run

from harness.emulator import TensorMap, parse
from harness.emulator.sass import launch_machine_code, read

HERE = Path(__file__).parent
LAUNCHES = json.loads((HERE / "launches.json").read_text())
RANDOM = np.random.default_rng(16)
FACTORS = {
    "fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32,
    "fp8e4nv": ml_dtypes.float8_e4m3fn, "fp8e5": ml_dtypes.float8_e5m2,
}  # fmt: skip
TILES = {"wide": (128, 256), "narrow": (64, 16)}
ASSEMBLED = (
    "attention.sm_80", "layer_norm.sm_80", "matmul_fp32.sm_80", "attention.sm_90", "sort.sm_90",
    "matmul_fp16_at_bt.sm_90", "matmul_bf16.sm_90", "matmul_fp32.sm_90", "matmul_fp8e4nv.sm_90",
)  # fmt: skip
"""Assembling and disassembling a kernel takes longer than executing it: these represent all."""


PRODUCTS = ("matmul", "attention", "specialized")
SPECIALIZED = ("specialized_matmul.sm_90", "specialized_attention.sm_90")


class Case(NamedTuple):
    """A launch; `check` compares its results."""

    grid: int | tuple[int, int]
    args: list[Any]
    check: Callable[[], Any]


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def near(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> Callable[[], None]:
    return lambda: np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def equal(found: np.ndarray, wanted: np.ndarray) -> Callable[[], None]:
    return lambda: np.testing.assert_array_equal(found, wanted)


def add() -> Case:
    x, y, out = floats(5000), floats(5000), np.zeros(5000, np.float32)
    return Case(5, [x, y, out, 5000], equal(out, x + y))


def softmax() -> Case:
    x, out = floats(7, 777), np.zeros((7, 777), np.float32)
    powers = np.exp(x.astype(np.float64))
    return Case(7, [x, out, 777], near(out, powers / powers.sum(1, keepdims=True), 1e-5))


def layer_norm() -> Case:
    x, weight, bias = floats(7, 777).astype(np.float16), floats(777), floats(777)
    wide, out = x.astype(np.float64), np.zeros_like(x)
    scale = np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    wanted = (wide - wide.mean(1, keepdims=True)) / scale * weight + bias
    return Case(7, [x, weight, bias, out, 777, np.float32(1e-5)], near(out, wanted, 2e-3))


def dropout() -> Case:
    x, out = np.ones(5000, np.float32), np.zeros(5000, np.float32)

    def check() -> None:
        assert abs((out == 0).mean() - 0.25) < 0.02
        np.testing.assert_allclose(out[out != 0], 1 / 0.75, rtol=1e-6)

    return Case(10, [x, out, 5000, np.float32(0.25), 123], check)


def histogram() -> Case:
    x, out = RANDOM.integers(0, 64, 5120).astype(np.int32), np.zeros(64, np.int32)
    return Case(10, [x, out, 5120], equal(out, np.bincount(x, minlength=64)))


def scan() -> Case:
    x = RANDOM.integers(-9, 9, (3, 500)).astype(np.float32)
    out = np.zeros_like(x)
    return Case(3, [x, out, 500], equal(out, np.cumsum(x, 1)))


def sort() -> Case:
    x, out = RANDOM.integers(-999, 999, 256).astype(np.int32), np.zeros(256, np.int32)
    return Case(1, [x, out], equal(out, np.sort(x)))


def attention() -> Case:
    q, k, v = floats(3, 256, 64).astype(np.float16)
    out = np.zeros_like(q)
    scores = q.astype(np.float64) @ k.astype(np.float64).T / 8
    powers = np.exp(scores - scores.max(1, keepdims=True))
    wanted = powers / powers.sum(1, keepdims=True) @ v.astype(np.float64)
    return Case(4, [q, k, v, out, 256, np.float32(0.125)], near(out, wanted, 2e-3))


def matmul(type_: str, *how: str) -> Case:
    rows, columns = next((TILES[each] for each in how if each in TILES), (64, 64))
    m, n, k = 2 * rows, 2 * columns, 128
    a, b = (RANDOM.integers(-8, 9, shape).astype(FACTORS[type_]) for shape in ((m, k), (k, n)))
    turned = ("at" in how, "bt" in how or type_ in ("fp32", "fp8e5"))
    given = [np.ascontiguousarray(each.T if turned_ else each).view(f"u{each.itemsize}")
             for each, turned_ in zip((a, b), turned, strict=True)]  # fmt: skip
    out = np.zeros((m, n), np.float32)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    return Case((2, 2), [*given, out, m, n, k], equal(out, wanted))


def described(array: np.ndarray, rows: int) -> list[Any]:
    """The parameters of a tensor descriptor, with boxes of this many rows of 64 elements: the map,
    the dimensions and the strides."""
    return [TensorMap(array, [64, rows], swizzle="128B"), *array.shape, array.shape[1], 1]


def specialized(what: str) -> Case:
    """Kernels whose warps are specialised: one group copies tensors, two compute."""
    if what == "attention":
        case = attention()
        q, k, v, out, *others = case.args
        tensors = [each for x in (q, k, v, out) for each in described(x, 64)]
        return case._replace(args=[*tensors, *others])
    m, n, k = 128, 256, 256
    a, b = (RANDOM.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (n, k)))
    out = np.zeros((m, n), np.float16)
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    given = [*described(a, 64), *described(b, 128), *described(out, 64), k]
    return Case((2, 2), given, equal(out, wanted))


def case_of(name: str) -> Case:
    """The case of a name such as `matmul_fp16_at.sm_90`. The last two parameters, for scratch, are
    not used."""
    family, *how = name.partition(".")[0].replace("layer_norm", "layernorm").split("_")
    makers: dict[str, Callable[..., Case]] = {
        "add": add, "softmax": softmax, "layernorm": layer_norm, "dropout": dropout,
        "histogram": histogram, "scan": scan, "sort": sort, "attention": attention,
        "matmul": matmul, "specialized": specialized,
    }  # fmt: skip
    case = makers[family](*how)
    return case._replace(args=[*case.args, *(np.zeros(1, np.uint8) for _ in range(2))])


def ptx_of(name: str) -> str:
    return gzip.decompress((HERE / f"{name}.ptx.gz").read_bytes()).decode()


def test_every_compiled_kernel_has_a_launch() -> None:
    assert {path.name.removesuffix(".ptx.gz") for path in HERE.glob("*.gz")} == set(LAUNCHES)


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_kernel_from_ptx(name: str) -> None:
    """On sm_90, matrices are multiplied by warpgroups, from swizzled shared memory."""
    module, case, about = parse(ptx_of(name)), case_of(name), LAUNCHES[name]
    (kernel,) = module.kernels
    report = run(module, kernel, case.grid, about["threads"], case.args,
                 shared_bytes=about["shared"])  # fmt: skip
    case.check()
    by_warpgroups = any("wgmma.mma_async" in each.opcode for each in report.instructions)
    assert by_warpgroups == (name.endswith("sm_90") and name.startswith(PRODUCTS))


@pytest.mark.parametrize("name", ASSEMBLED)
def test_a_kernel_from_machine_code(name: str, tmp_path: Path) -> None:
    """On sm_90, the counts equal Nsight Compute's exactly."""
    module, case, about = parse(ptx_of(name)), case_of(name), LAUNCHES[name]
    (kernel,) = module.kernels
    source, cubin = tmp_path / "k.ptx", tmp_path / "k.cubin"
    source.write_text(ptx_of(name))
    arch = name.rpartition(".")[2].replace("90", "90a")
    report = launch_machine_code(
        read(assemble(source, cubin, arch)), kernel, case.grid, about["threads"], case.args,
        shared_bytes=about["shared"], signature=module.kernels[kernel],
    )  # fmt: skip
    assert not report.faults, report.faults[0]
    case.check()
    if name.endswith("sm_90"):
        counts_what_an_h200_does(report, name.removesuffix(".sm_90"))


@pytest.mark.parametrize("name", SPECIALIZED)
def test_specialised_warps_from_machine_code(name: str, tmp_path: Path) -> None:
    """The groups of warps synchronise at barriers at different places in the code, and exchange
    registers."""
    module, case, about = parse(ptx_of(name)), case_of(name), LAUNCHES[name]
    (kernel,) = module.kernels
    source, cubin = tmp_path / "k.ptx", tmp_path / "k.cubin"
    source.write_text(ptx_of(name))
    report = launch_machine_code(
        read(assemble(source, cubin, "sm_90a")), kernel, case.grid, about["threads"], case.args,
        shared_bytes=about["shared"], signature=module.kernels[kernel], ptx=module,
    )  # fmt: skip
    assert not report.faults, report.faults[0]
    case.check()
    used = {each.opcode.partition(".")[0] for each in report.instructions if each.warps}
    assert {"UTMALDG", "UTMASTG", "USETMAXREG", "HGMMA"} <= used
