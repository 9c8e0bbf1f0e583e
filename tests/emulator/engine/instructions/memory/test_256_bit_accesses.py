"""Loads and stores of 256 bits, which nvcc generates for 32-byte types for sm_100 and later."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel

from harness.emulator import LaunchReport, UnknownInstruction, launch, parse

SOURCE = r"""
struct __align__(32) Eight { float x[8]; };
extern "C" __global__ void twice(const Eight* from, Eight* to, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Eight y = from[i];
    for (float& x : y.x) x *= 2;
    to[i] = y;
}
extern "C" __global__ void reversed(double4_32a* x) {
    double4_32a y = x[threadIdx.x];
    x[threadIdx.x] = make_double4_32a(y.w, y.z, y.y, y.x);
}
extern "C" __global__ void beside_its_neighbour(double4_32a* x) {
    x[threadIdx.x / 2] = make_double4_32a(threadIdx.x, 0, 0, 0);
}
"""
FORMS = [("v8", "f32", "f"), ("v8", "b32", "r"), ("v8", "s32", "r"), ("v4", "b64", "l"),
         ("v4", "f64", "d"), ("v4", "u64", "l")]  # fmt: skip


def run(module: object, kernel: str, block: int, args: list[object]) -> LaunchReport:
    return launch(module, kernel, 1, block, args, arch="sm_100")  # type: ignore[arg-type]


def moved(vector: str, kind: str, letter: str, space: str = ".global") -> str:
    """p0[i + 40] ← p0[i], in units of 32 bytes."""
    registers = ", ".join(f"%{letter}{4 + k}" for k in range(int(vector[1:])))
    body = f"""
        ld.param.u64 %l1, [p0];
        mad.wide.u32 %l2, %i, 32, %l1;
        ld{space}.{vector}.{kind} {{{registers}}}, [%l2];
        st{space}.{vector}.{kind} [%l2+1280], {{{registers}}};
    """
    return ptx_kernel(body, ["u64"]).replace("sm_90", "sm_100").replace(" 8.0", " 8.8")


def counted(report: LaunchReport) -> list[tuple[int, int]]:
    return [(i.global_requests, i.global_sectors) for i in report.instructions if i.global_requests]


@pytest.mark.parametrize("space", [".global", ""])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: ".".join(form[:2]))
def test_a_lane_moves_a_sector(form: tuple[str, str, str], space: str) -> None:
    x = np.random.default_rng(1).integers(0, 2**32, (80, 8), dtype=np.uint32)
    before = x.copy()
    report = run(parse(moved(*form, space)), "k", 40, [x])
    assert not report.faults
    np.testing.assert_array_equal(x, [*before[:40], *before[:40]])
    assert counted(report) == [(2, 40), (2, 40)]
    sectors = report.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")
    assert sectors.provenance == "emulator-model"  # there are no readings of these accesses


def test_what_nvcc_makes_of_types_of_32_bytes_is_executed(compile_ptx: CompilePtx) -> None:
    module = compile_ptx(SOURCE, "sm_100")
    x = np.random.default_rng(2).random((37, 8), dtype=np.float32)
    y = np.full_like(x, np.nan)
    report = run(module, "twice", 64, [x, y, 37])
    assert not report.faults
    np.testing.assert_array_equal(y, 2 * x)
    assert "ld.global.v8.f32" in {each.opcode for each in report.instructions}
    z = np.random.default_rng(3).random((32, 4))
    expected = z[:, ::-1].copy()
    assert not run(module, "reversed", 32, [z]).faults
    np.testing.assert_array_equal(z, expected)


def test_half_a_vector_off_is_misaligned_and_one_past_the_end_is_outside() -> None:
    ptx = moved("v8", "f32", "f")
    [fault] = run(parse(ptx.replace("%l2+1280", "%l2+1296")), "k", 1, [np.zeros(1024)]).faults
    assert fault.kind == "misaligned"
    [fault] = run(parse(ptx), "k", 41, [np.zeros((80, 4))]).faults
    assert fault.kind == "out of bounds"


def test_two_threads_that_write_one_vector_race(compile_ptx: CompilePtx) -> None:
    x = np.zeros((48, 4))
    [fault] = run(compile_ptx(SOURCE, "sm_100"), "beside_its_neighbour", 96, [x]).faults
    assert fault.kind == "race"


@pytest.mark.parametrize(("vector", "kind", "letter", "space"), [
    ("v8", "b32", "r", ".shared"), ("v8", "b32", "r", ".local"), ("v8", "b64", "l", ".global"),
])  # fmt: skip
def test_what_ptxas_does_not_take_is_refused(
    vector: str, kind: str, letter: str, space: str
) -> None:
    with pytest.raises(UnknownInstruction, match=rf"ld{space}\.{vector}\.{kind}"):
        run(parse(moved(vector, kind, letter, space)), "k", 32, [np.zeros(1024)])
