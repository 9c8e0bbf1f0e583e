"""NaNs have the same bits on every host, x86 or Arm, and the bits that a GPU gives them.

Sources: CUDA C++ Programming Guide, "Floating-Point Standard"; CUDART_NAN in math_constants.h;
readings of an H100 (test_rounded_instructions.py).
"""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import ptx_kernel, run

from harness.emulator import parse

ONE, INFINITE, NEGATIVE = 0x3F800000, 0x7F800000, 0xBF800000
OF_SINGLES = 0x7FFFFFFF
NANS = [0x7FC00000, 0xFFC00000, 0x7FC12345, 0xFFFFFFFF, 0x7F800001, 0xFF80ABCD]

MADE = [
    ("add.f32", [INFINITE, INFINITE | 1 << 31]), ("sub.f32", [INFINITE, INFINITE]),
    ("mul.f32", [0, INFINITE]), ("div.rn.f32", [0, 0]), ("fma.rn.f32", [0, INFINITE, ONE]),
    ("add.rz.f32", [INFINITE, INFINITE | 1 << 31]), ("fma.rp.f32", [0, INFINITE, ONE]),
    ("add.ftz.f32", [INFINITE, INFINITE | 1 << 31]), ("sqrt.rn.f32", [NEGATIVE]),
    ("sqrt.rm.f32", [NEGATIVE]), ("rsqrt.approx.f32", [NEGATIVE]), ("lg2.approx.f32", [NEGATIVE]),
    ("sin.approx.f32", [INFINITE]), ("cos.approx.f32", [INFINITE]),
]  # fmt: skip
"""Instructions that give NaN although their operands are numbers."""

GIVEN = [
    *(f"{name}.f32" for name in ("add", "sub", "mul", "div.rn", "min.NaN", "max.NaN")),
    "add.rm.f32", "mul.rz.ftz.f32",
]  # fmt: skip


def _one(instruction: str, operands: list[int], width: int) -> int:
    """The bits of an instruction's result for operands of this many bits, loaded from memory."""
    register = "%f" if width == 32 else "%d"
    sources = ", ".join(f"{register}{n + 1}" for n in range(len(operands)))
    loads = "\n".join(
        f"ld.global.f{width} {register}{n + 1}, [%a0+{n * width // 8}];"
        for n in range(len(operands))
    )
    body = f"""
    ld.param.u64 %a0, [p0];
    ld.param.u64 %a1, [p1];
    {loads}
    {instruction} {register}10, {sources};
    st.global.f{width} [%a1], {register}10;"""
    dtype = np.uint32 if width == 32 else np.uint64
    given, out = np.array(operands, dtype), np.zeros(1, dtype)
    run(parse(ptx_kernel(body, ["u64", "u64"])), "k", 1, 1, [given, out])
    return int(out[0])


@pytest.mark.parametrize(("instruction", "operands"), MADE, ids=[name for name, _ in MADE])
def test_in_single_precision_it_is_always_the_same(instruction: str, operands: list[int]) -> None:
    assert hex(_one(instruction, operands, 32)) == hex(OF_SINGLES)


@pytest.mark.parametrize("instruction", GIVEN)
def test_a_single_that_is_given_loses_its_payload(instruction: str) -> None:
    for nan in NANS:
        assert hex(_one(instruction, [nan, ONE], 32)) == hex(OF_SINGLES)
        assert hex(_one(instruction, [ONE, nan], 32)) == hex(OF_SINGLES)


@pytest.mark.parametrize("instruction", ["min.f32", "max.f32"])
def test_the_lesser_of_two_that_are_no_numbers_is_none(instruction: str) -> None:
    assert hex(_one(instruction, [NANS[1], NANS[2]], 32)) == hex(OF_SINGLES)
    assert _one(instruction, [NANS[1], ONE], 32) == ONE


@pytest.mark.parametrize("instruction", ["neg.f32", "abs.f32"])
def test_a_sign_is_changed_by_an_addition_and_so_no_nan_keeps_its_own(instruction: str) -> None:
    for nan in NANS:
        assert hex(_one(instruction, [nan], 32)) == hex(OF_SINGLES)


def test_in_double_precision_it_is_the_constant_of_the_headers() -> None:
    infinite, zero = 0x7FF << 52, 0
    assert hex(_one("sub.f64", [infinite, infinite], 64)) == "0xfff8000000000000"
    assert hex(_one("mul.f64", [infinite, zero], 64)) == "0xfff8000000000000"
    assert hex(_one("fma.rn.f64", [infinite, zero, zero], 64)) == "0xfff8000000000000"
    assert hex(_one("sqrt.rn.f64", [0xBFF << 52], 64)) == "0xfff8000000000000"
    assert hex(_one("add.rz.f64", [infinite, infinite | 1 << 63], 64)) == "0xfff8000000000000"


@pytest.mark.parametrize("instruction", ["add.f64", "mul.f64", "add.rp.f64"])
def test_a_double_that_is_given_goes_on_made_quiet_the_second_of_two(instruction: str) -> None:
    one, first, second = 0x3FF << 52, 0x7FF0000000000123, 0xFFF8000000000456
    quiet = first | 1 << 51
    assert hex(_one(instruction, [first, one], 64)) == hex(quiet)
    assert hex(_one(instruction, [one, second], 64)) == hex(second)
    assert hex(_one(instruction, [first, second], 64)) == hex(second)
    assert hex(_one(instruction, [second, first], 64)) == hex(quiet)


def test_of_three_doubles_it_is_the_second_the_third_or_the_first() -> None:
    one, *nans = 0x3FF << 52, 0x7FF8000000000111, 0x7FF8000000000222, 0x7FF8000000000333
    assert hex(_one("fma.rn.f64", nans, 64)) == hex(nans[1])
    assert hex(_one("fma.rz.f64", [nans[0], one, nans[2]], 64)) == hex(nans[2])
    assert hex(_one("fma.rp.f64", [nans[0], one, one], 64)) == hex(nans[0])
