"""Functions of one half of a register, possibly negated, and of floats as halves give the same
results as PTX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator_tools import CompilePtx
from one_by_one import LANES, State, executed, launched
from sass.conftest import ReadSource

from harness.emulator import launch
from harness.emulator.sass import UnknownMachineInstruction, launch_machine_code

SOURCE = """#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void k(const TYPE2* in, TYPE2* out, int* whole) {
    const int i = threadIdx.x;
    const TYPE2 x = in[i], y = in[i ^ 1];
    out[i] = h2floor(x);
    out[i + 32] = h2rint(x);
    out[i + 64] = h2tanh_approx(x);
    out[i + 96] = __hcmadd(x, y, in[i ^ 3]);
    out[i + 128].x = hfloor(__hneg(x.x));
    out[i + 128].y = hceil(__habs(x.y));
    out[i + 160].x = htanh_approx(__hneg(x.y));
    out[i + 160].y = htrunc(__hneg(x.y));
    whole[i] = WHOLE(__hneg(x.y)) + 1000 * WHOLE(__hneg(x.x));
}"""
FORMS = ("FRND.{}.FLOOR", "MUFU.TANH.{}", ".H1", ".H0_NH1", "FRND.{}.CEIL R", ",|R")


@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
@pytest.mark.parametrize("kind", ["F16", "BF16"])
def test_a_half_is_taken_out_of_its_register_with_its_sign(
    read_source: ReadSource, compile_ptx: CompilePtx, kind: str, arch: str
) -> None:
    type_, whole = ("__half2", "__half2int_rz") if kind == "F16" else (
        "__nv_bfloat162", "__bfloat162int_rz")  # fmt: skip
    source = SOURCE.replace("TYPE2", type_).replace("WHOLE", whole)
    code = read_source(source, arch)
    texts = " ".join(each.text for each in code.functions["k"].instructions)
    for form in FORMS:
        assert form.format(kind) in texts, form
    given = np.random.default_rng(6).normal(size=64) * 3
    halves = given.astype(np.float16).view(np.uint16)
    if kind == "BF16":
        halves = (given.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    ours, theirs = (
        [halves.view(np.uint32), np.zeros(192, np.uint32), np.zeros(32, np.int32)] for _ in "mp"
    )
    assert not launch_machine_code(code, "k", 1, 32, ours).faults
    assert not launch(compile_ptx(source, arch), "k", 1, 32, theirs).faults
    np.testing.assert_array_equal(ours[1], theirs[1])
    np.testing.assert_array_equal(ours[2], theirs[2])
    values = given.astype(np.float16) if kind == "F16" else (
        (halves.astype(np.uint32) << 16).view(np.float32))  # fmt: skip
    low, high = values.astype(np.float64).reshape(32, 2).T
    np.testing.assert_array_equal(ours[2], np.trunc(-high) + 1000 * np.trunc(-low))


TURING = np.array(
    [0, -0.0, 1, 1.0009, 1.00098, 2049, 2050.9, 65504, 65519, 65520, 1e6, np.inf, np.nan, 5.9e-8,
     6.1e-8, 5e-8, 6.1e-5, 6.0999e-5, -1.0009, -65520, -5e-8, 0.1], np.float32)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "signed"),
    [
        ("HADD2 R0,R2.F32,-RZ.H0_H0", lambda x: x),
        ("HADD2 R0,-RZ.H0_H0,|R2|.F32", np.abs),
        ("HADD2 R0,-R2.F32,-RZ.H0_H0", np.negative),
    ],
)
def test_turing_rounds_a_float_towards_zero_to_both_halves(text: str, signed: Any) -> None:
    values = np.resize(TURING, LANES)
    state = State({0: np.zeros(LANES, np.uint32), 2: values.view(np.uint32)})
    [left] = executed([(text, state)])
    given = signed(values).astype(np.float64)
    with np.errstate(over="ignore"):
        near = given.astype(np.float16)
    beyond = np.abs(near.astype(np.float64)) > np.abs(given)
    wanted = np.where(beyond, np.nextafter(near, np.float16(0)), near).view(np.uint16)
    wanted = np.where(np.isnan(given), np.uint16(0x7FFF), wanted).astype(np.uint32)
    np.testing.assert_array_equal(left.registers[0], wanted << 16 | wanted)


@pytest.mark.parametrize(
    "text",
    ["HADD2.SAT R0,R2.F32,-RZ.H0_H0", "HADD2 R0,R2.F32,R3", "HADD2 R0,R2.F32,RZ.H0_H0",
     "HADD2 R0,R2.F32,R3.F32", "HADD2.F32 R0,R2.F32,-RZ.H0_H0", "HMUL2 R0,R2.F32,-RZ.H0_H0"],
)  # fmt: skip
def test_other_sums_of_a_float_and_a_half_are_refused(text: str) -> None:
    with pytest.raises(UnknownMachineInstruction, match=r"R2\.F32"):
        launched([text, "EXIT"], [bytes(8)])
