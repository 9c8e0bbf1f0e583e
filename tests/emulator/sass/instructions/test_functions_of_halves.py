"""Functions of one half of a register, with a sign before it: the same from PTX."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import launch
from harness.emulator.sass import launch_machine_code

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
