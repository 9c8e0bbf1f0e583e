"""Directed rounding of floats and doubles, compared with rational arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import exact
import numpy as np
import pytest
from emulator_tools import CompilePtx, elementwise, run

MODES = ("rz", "rm", "rp")
OPERATIONS: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c, "div": lambda a, b: a / b, "rcp": lambda a: 1 / a,
}  # fmt: skip


def _operands(kind: str, number: int) -> list[np.ndarray]:
    random = np.random.default_rng(7)
    dtype = np.float32 if kind == "f32" else np.float64
    size = np.dtype(dtype).itemsize
    finfo = np.finfo(dtype)
    edges = [0.0, -0.0, 1.0, -1.0, finfo.max, -finfo.max, finfo.tiny, finfo.smallest_subnormal,
             1.5, 3.0, -0.1]  # fmt: skip
    grid = np.array(np.meshgrid(*[np.array(edges, dtype)] * number)).reshape(number, -1)
    raw = random.integers(0, 2 ** (8 * size) - 1, (number, 500), dtype=np.uint64)
    drawn = raw.astype(f"u{size}").view(dtype)
    near = (random.random((number, 500)) + 0.5).astype(dtype)
    return list(np.concatenate([grid[:, :1500], drawn, near], axis=1))


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_direction_is_kept(name: str, mode: str, kind: str) -> None:
    number = {"fma": 3, "rcp": 1}.get(name, 2)
    operands = _operands(kind, number)
    form, dtype = (exact.F32, np.float32) if kind == "f32" else (exact.F64, np.float64)
    places = ", ".join(f"${i + 1}" for i in range(number))
    found = elementwise(f"{name}.{mode}.{kind} $0, {places};", [(kind, o) for o in operands], kind,
                        dtype)  # fmt: skip
    raw = found.view(f"u{found.dtype.itemsize}")
    for *values, got in zip(*operands, raw, strict=True):
        if not np.isfinite(values).all() or (name in ("div", "rcp") and values[-1] == 0):
            continue
        value = OPERATIONS[name](*(Fraction(float(v)) for v in values))
        if value == 0 and name not in ("mul", "div"):
            # Terms that cancel, or zeros of opposite signs, give +0, or -0 when rounding down.
            first = values[0] * values[1] if name == "fma" else values[0]
            second = -values[1] if name == "sub" else values[-1]
            same = np.signbit(first) == np.signbit(second)
            sign = (-1 if np.signbit(second) else 1) if same else (-1 if mode == "rm" else 1)
        else:
            sign = -1 if np.logical_xor.reduce([np.signbit(v) for v in values]) else 1
        wanted = exact.encode(value, form, mode, sign)
        assert got == wanted, (name, mode, values, hex(got), hex(wanted))


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("mode", MODES)
def test_roots_keep_a_direction(mode: str, kind: str) -> None:
    (values,) = _operands(kind, 1)
    values = np.abs(values[np.isfinite(values)])
    dtype = values.dtype
    found = elementwise(f"sqrt.{mode}.{kind} $0, $1;", [(kind, values)], kind, dtype.type)
    for value, got in zip(values, found, strict=True):
        exact_value, root = Fraction(float(value)), Fraction(float(got))
        above = Fraction(float(np.nextafter(got, dtype.type(np.inf))))
        if mode == "rp":
            below = Fraction(float(np.nextafter(got, dtype.type(0))))
            assert root * root >= exact_value
            assert got == 0 or below * below < exact_value
        else:
            assert root * root <= exact_value < above * above


@pytest.mark.parametrize("mode", MODES)
def test_directed_arithmetic_on_what_is_not_finite(mode: str) -> None:
    a = np.float32([np.inf, np.inf, np.nan, 1.0, -1.0])
    b = np.float32([1.0, -np.inf, 1.0, 0.0, 0.0])
    total = elementwise(f"add.{mode}.f32 $0, $1, $2;", [("f32", a), ("f32", b)], "f32", np.float32)
    assert total[0] == np.inf
    assert np.isnan(total[1:3]).all()
    quotient = elementwise(f"div.{mode}.f32 $0, $1, $2;", [("f32", a), ("f32", b)], "f32",
                           np.float32)  # fmt: skip
    assert quotient[[0, 3, 4]].tolist() == [np.inf, np.inf, -np.inf]


def test_a_conversion_towards_zero_of_what_underflows_is_zero() -> None:
    values = np.float64([1e-60, -1e-60])
    for mode, wanted in (("rz", [0, 0x80000000]), ("rm", [0, 0x80000001]), ("rp", [1, 0x80000000])):
        found = elementwise(f"cvt.{mode}.f32.f64 $0, $1;", [("f64", values)], "f32", np.float32)
        assert found.view(np.uint32).tolist() == wanted


def test_exponentials_and_interval_arithmetic_as_nvcc_writes_them(compile_ptx: CompilePtx) -> None:
    source = r"""
    extern "C" __global__ void bounds(const float* x, float* low, float* high, float* e) {
        int i = threadIdx.x;
        low[i] = __fdiv_rd(__fadd_rd(x[i], 0.1f), 3.0f);
        high[i] = __fdiv_ru(__fadd_ru(x[i], 0.1f), 3.0f);
        e[i] = expf(x[i]);
    }"""
    x = np.linspace(-20, 20, 64).astype(np.float32)
    low, high, e = (np.zeros(64, np.float32) for _ in range(3))
    run(compile_ptx(source), "bounds", 1, 64, [x, low, high, e])
    for value, below, above in zip(x, low, high, strict=True):
        true = (Fraction(float(value)) + Fraction(float(np.float32(0.1)))) / 3
        assert Fraction(float(below)) <= true <= Fraction(float(above))
        assert above - below <= 4 * np.spacing(np.abs(below))
    np.testing.assert_allclose(e, [math.exp(v) for v in x.astype(float)], rtol=3e-7)
