"""Warp-level MMAs of bytes and doubles in machine code give the matrix product."""

from __future__ import annotations

import numpy as np
import pytest
from sass.conftest import ReadSource

from harness.emulator.sass import MachineCode, launch_machine_code

RANDOM = np.random.default_rng(7)
KINDS = ("s8", "u8")
KERNEL = """extern "C" __global__ void {name}(const int* a, const int* b, int* c) {{
    const int *x = a + {words} * threadIdx.x, *y = b + {half} * threadIdx.x;
    int* z = c + 4 * threadIdx.x;
    asm("mma.sync.aligned.m16n8k{depth}.row.col{clamps}.s32.{a}.{b}.s32 "
        "{{%0, %1, %2, %3}}, {{{first}}}, {{{second}}}, {{%0, %1, %2, %3}};"
        : "+r"(z[0]), "+r"(z[1]), "+r"(z[2]), "+r"(z[3]) : {given});
}}"""
OF_DOUBLES = """extern "C" __global__ void doubles(const double* a, const double* b, double* c) {
    double* z = c + 2 * threadIdx.x;
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(z[0]), "+d"(z[1]) : "d"(a[threadIdx.x]), "d"(b[threadIdx.x]));
}"""


def kernel(a: str, b: str, depth: int, clamps: bool) -> str:
    words = depth // 8
    places = [f"%{4 + i}" for i in range(words + words // 2)]
    given = [f'"r"(x[{i}])' for i in range(words)] + [f'"r"(y[{i}])' for i in range(words // 2)]
    return KERNEL.format(
        name=f"{a}_{b}_{depth}_{int(clamps)}", words=words, half=words // 2, depth=depth,
        clamps=".satfinite" if clamps else "", a=a, b=b, first=", ".join(places[:words]),
        second=", ".join(places[words:]), given=", ".join(given),
    )  # fmt: skip


CASES = [(a, b, depth, clamps) for a in KINDS for b in KINDS for depth in (16, 32)
         for clamps in (False, True)]  # fmt: skip


@pytest.fixture(scope="module", params=["sm_80", "sm_90"])
def code(request: pytest.FixtureRequest, read_source: ReadSource) -> MachineCode:
    source = "\n".join([*(kernel(*case) for case in CASES), OF_DOUBLES])
    return read_source(source, request.param)


def opcode_of(code: MachineCode, name: str) -> str:
    (found,) = (i.name for i in code.functions[name].instructions if "MMA" in i.name)
    return found


def held(matrix: np.ndarray) -> np.ndarray:
    """The words held by lane 4g + t: from rows g and g + 8, four bytes of each 16, starting at
    4t."""
    rows, depth = matrix.shape
    words = np.ascontiguousarray(matrix).view(np.int32).reshape(rows // 8, 8, depth // 16, 4)
    return np.ascontiguousarray(words.transpose(1, 3, 2, 0)).reshape(32, -1)


@pytest.mark.parametrize(("a_type", "b_type", "depth", "clamps"), CASES)
def test_bytes(code: MachineCode, a_type: str, b_type: str, depth: int, clamps: bool) -> None:
    """Sums wrap around, or are clamped to the range of 32 bits."""
    types = {"s8": np.int8, "u8": np.uint8}
    a, b = (
        RANDOM.integers(np.iinfo(t).min, np.iinfo(t).max + 1, shape).astype(t)
        for t, shape in ((types[a_type], (16, depth)), (types[b_type], (depth, 8)))
    )
    a[0], b[:, 0] = 1, 1
    c = RANDOM.integers(-1000, 1000, (16, 8)).astype(np.int32)
    c[0, :], c[1, :] = 2**31 - 1, -(2**31)
    wanted = a.astype(np.int64) @ b.astype(np.int64) + c
    assert wanted[0, 0] == 2**31 - 1 + depth
    lanes = np.ascontiguousarray(c.reshape(2, 8, 4, 2).transpose(1, 2, 0, 3)).reshape(32, 4)
    name = f"{a_type}_{b_type}_{depth}_{int(clamps)}"
    given = [held(a), held(np.ascontiguousarray(b.T)), lanes]
    assert not launch_machine_code(code, name, 1, 32, given).faults
    found = lanes.reshape(8, 4, 2, 2).transpose(2, 0, 1, 3).reshape(16, 8)
    ends = wanted.clip(-(2**31), 2**31 - 1) if clamps else wanted.astype(np.int32)
    np.testing.assert_array_equal(found, ends)
    sat = ".SAT" * clamps
    assert opcode_of(code, name) == f"IMMA.168{depth}.{a_type.upper()}.{b_type.upper()}{sat}"


def test_doubles(code: MachineCode) -> None:
    a, b, c = (RANDOM.standard_normal(shape) for shape in ((8, 4), (4, 8), (8, 8)))
    lanes = c.reshape(32, 2).copy()
    given = [a, np.ascontiguousarray(b.T), lanes]
    assert not launch_machine_code(code, "doubles", 1, 32, given).faults
    np.testing.assert_allclose(lanes.reshape(8, 8), a @ b + c, rtol=1e-13, atol=1e-15)
    assert opcode_of(code, "doubles").startswith("DMMA.8")
