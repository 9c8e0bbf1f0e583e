"""Instruction forms that only Blackwell's code has: each gives the result that the PTX manual
specifies, computed by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator_tools import CompilePtx
from numpy.typing import NDArray
from sass.conftest import ReadSource

from harness.emulator import UnknownInstruction, launch, parse
from harness.emulator.sass import UnknownMachineInstruction, launch_machine_code, prepare

LANES = 32
SOURCE = r"""typedef unsigned long long u64;
extern "C" __global__ void pairs(const u64* in, u64* out, float s) {
    const int i = threadIdx.x;
    u64 a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2], x, swapped, scalars;
    asm("{.reg .b32 l, h; mov.b64 {l, h}, %1; mov.b64 %0, {h, l};}" : "=l"(swapped) : "l"(a));
    asm("mov.b64 %0, {%1, %1};" : "=l"(scalars) : "f"(s));
#define TO(n, text, ...) asm(text : "=l"(x) : __VA_ARGS__); out[32 * n + i] = x
    TO(0, "add.rn.f32x2 %0, %1, %2;", "l"(a), "l"(b));
    TO(1, "sub.rp.f32x2 %0, %1, %2;", "l"(a), "l"(b));
    TO(2, "mul.rz.f32x2 %0, %1, %2;", "l"(a), "l"(b));
    TO(3, "fma.rm.f32x2 %0, %1, %2, %3;", "l"(a), "l"(b), "l"(c));
    TO(4, "mul.ftz.f32x2 %0, %1, %2;", "l"(a), "l"(scalars));
    TO(5, "fma.rn.f32x2 %0, %1, %2, %3;", "l"(swapped), "l"(0x3f8ccccd3f8ccccdull), "l"(c));
}
extern "C" __global__ void __launch_bounds__(32) wide(unsigned* a) {
    unsigned v[8], w[8];
    unsigned *mine = a + 8 * threadIdx.x;
#define LOAD(v, at) asm volatile("ld.global.v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];" \
        : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), \
          "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7]) \
        : "l"(at) : "memory")
    LOAD(v, mine);
    asm volatile("st.global.v8.b32 [%8], {%0, %1, %2, %3, %4, %5, %6, %7};"
        :: "r"(v[7]), "r"(v[6]), "r"(v[5]), "r"(v[4]), "r"(v[3]), "r"(v[2]), "r"(v[1]), "r"(v[0]),
        "l"(mine + 256) : "memory");
    LOAD(w, mine);
    mine[512] = w[0] + 2 * w[2] + 3 * w[5] + 4 * w[6];
}
extern "C" __global__ void extremes(const float* in, float* out) {
    const int i = threadIdx.x;
    const float a = in[i], b = in[i + 32], c = in[i + 64];
    float x;
#define ONE(n, text, ...) asm(text : "=f"(x) : __VA_ARGS__); out[32 * n + i] = x
    ONE(0, "max.f32 %0, %1, %2, %3;", "f"(a), "f"(b), "f"(c));
    ONE(1, "min.NaN.f32 %0, %1, %2, %3;", "f"(a), "f"(b), "f"(c));
    ONE(2, "min.ftz.abs.f32 %0, %1, %2, %3;", "f"(a), "f"(b), "f"(c));
    ONE(3, "redux.sync.min.f32 %0, %1, 0xffffffff;", "f"(a));
    ONE(4, "redux.sync.max.abs.NaN.f32 %0, %1, 0xffffffff;", "f"(a));
    ONE(5, "redux.sync.max.f32 %0, %1, 0xffffffff;", "f"(c));
}
extern "C" __global__ void halves(const unsigned* in, const float* given, float* out) {
    const int i = threadIdx.x;
    const unsigned both = in[i];
    const float c = given[i];
    unsigned short low = both, high = both >> 16;
    float x;
    ONE(0, "add.rz.f32.f16 %0, %1, %2;", "h"(high), "f"(c));
    ONE(1, "sub.sat.f32.f16 %0, %1, %2;", "h"(low), "f"(c));
    ONE(2, "fma.rp.f32.f16 %0, %1, %2, %3;", "h"(low), "h"(high), "f"(c));
    ONE(3, "fma.rn.f32.bf16 %0, %1, %2, %3;", "h"(low), "h"(high), "f"(c));
}"""
"""Rounded sums of pairs, loads that leave out some words, minima and maxima of three values and of
a warp, and halves converted to floats."""

ODD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3e38], np.float32)


def _floats(count: int, odd: bool = True) -> NDArray[np.float32]:
    found = np.random.default_rng(5).normal(size=count).astype(np.float32)
    if odd:
        found[: 2 * len(ODD)] = np.concatenate([ODD, ODD[::-1]])
    return found


def _equal(found: NDArray[np.float32], wanted: NDArray[np.float32]) -> None:
    """Return whether the results are equal bit by bit, except that a GPU has only one NaN."""
    bits = np.where(np.isnan(wanted), np.uint32(0x7FFFFFFF), wanted.view(np.uint32))
    np.testing.assert_array_equal(found.view(np.uint32), bits)


def _rounded(exact: NDArray[np.float64], how: str) -> NDArray[np.float32]:
    """Round a float64, in which sums and products of these floats are exact, in one direction."""
    near = exact.astype(np.float32)
    with np.errstate(all="ignore"):
        below, above = (np.nextafter(near, np.float32(s)) for s in (-np.inf, np.inf))
        down = np.where(near > exact, below, near)
        up = np.where(near < exact, above, near)
    return {"rn": near, "rm": down, "rp": up, "rz": np.where(exact < 0, up, down)}[how]


def test_pairs_of_floats_are_rounded_one_by_one(read_source: ReadSource) -> None:
    code = read_source(SOURCE, "sm_100a")
    texts = " ".join(each.text for each in code.functions["pairs"].instructions)
    for form in ("FADD2 ", "FADD2.RP", "FMUL2.RZ", "FFMA2.RM", "FMUL2.FTZ", "LO_HI", ".F32 "):
        assert form in texts, form
    given = np.round(_floats(6 * LANES, odd=False), 3).astype(np.float16).astype(np.float32)
    out = np.zeros(12 * LANES, np.float32)
    report = launch_machine_code(
        code, "pairs", 1, LANES, [given.view(np.uint64), out.view(np.uint64), 0.75]
    )
    assert not report.faults
    a, b, c = (given.reshape(LANES, 3, 2)[:, n].astype(np.float64) for n in range(3))
    found = out.reshape(6, LANES, 2)
    _equal(found[0], _rounded(a + b, "rn"))
    _equal(found[1], _rounded(a - b, "rp"))
    _equal(found[2], _rounded(a * b, "rz"))
    _equal(found[3], _rounded(a * b + c, "rm"))
    _equal(found[4], _rounded(a * 0.75, "rn"))
    _equal(found[5], _rounded(a[:, ::-1] * np.float64(np.float32(1.1)) + c, "rn"))
    flops = 6 * LANES * 2 + 2 * LANES * 2
    assert report.counter("flops_fp32").value == flops


def test_256_bits_are_one_sector_and_what_is_left_out_moves_up(read_source: ReadSource) -> None:
    code = read_source(SOURCE, "sm_100a")
    a = np.arange(3 * 8 * LANES, dtype=np.uint32)
    before = a[: 8 * LANES].reshape(LANES, 8).copy()
    report = launch_machine_code(code, "wide", 1, LANES, [a])
    assert not report.faults
    np.testing.assert_array_equal(a[256:512].reshape(LANES, 8), before[:, ::-1])
    np.testing.assert_array_equal(a[512::8], before @ np.array([1, 0, 2, 0, 0, 3, 4, 0], np.uint32))
    [masked, _] = [i for i in report.instructions if i.opcode.startswith("LDG.E.ENL2.256")]
    assert masked.text.rstrip(" ;").endswith("0x65")
    assert (masked.global_requests, masked.global_sectors) == (1, LANES)
    short = np.zeros(8 * LANES - 1, np.uint32)
    [fault] = launch_machine_code(code, "wide", 1, LANES, [short]).faults
    assert fault.kind == "out of bounds"


def test_extremes_of_three_and_of_a_warp_order_zeros_and_pass_nan_on(
    read_source: ReadSource,
) -> None:
    code = read_source(SOURCE, "sm_100a")
    texts = " ".join(each.text for each in code.functions["extremes"].instructions)
    for form in ("FMNMX3 ", "FMNMX3.NAN", "FMNMX3.FTZ", "CREDUX.MIN.F32", "CREDUX.MAXABS.F32.NAN"):
        assert form in texts, form
    given, out = _floats(3 * LANES), np.zeros(6 * LANES, np.float32)
    assert not launch_machine_code(code, "extremes", 1, LANES, [given, out]).faults
    a, b, c = given.reshape(3, LANES)
    found = out.reshape(6, LANES)
    _equal(found[0], np.fmax(np.fmax(a, b), c) + np.float32(0))
    _equal(found[1], np.minimum(np.minimum(a, b), c))
    small = [np.where(np.abs(x) < np.finfo(np.float32).tiny, 0, np.abs(x)) for x in (a, b, c)]
    _equal(found[2], np.fmin(np.fmin(small[0], small[1]), small[2]).astype(np.float32))
    _equal(found[3], np.full(LANES, -np.inf, np.float32))
    _equal(found[4], np.full(LANES, np.nan, np.float32))
    _equal(found[5], np.full(LANES, c.max(), np.float32))


def test_halves_become_floats_before_they_are_added(read_source: ReadSource) -> None:
    code = read_source(SOURCE, "sm_100a")
    texts = " ".join(each.text for each in code.functions["halves"].instructions)
    for form in ("FHADD.RZ", "FHADD.SAT", "FHFMA.RP", "FHFMA.BF16", ".H1"):
        assert form in texts, form
    given = np.round(_floats(LANES, odd=False), 2)
    halves = _floats(2 * LANES, odd=False).astype(np.float16)
    out = np.zeros(4 * LANES, np.float32)
    args = [halves.view(np.uint32), given, out]
    assert not launch_machine_code(code, "halves", 1, LANES, args).faults
    low, high = halves.reshape(LANES, 2).T.astype(np.float64)
    found, c = out.reshape(4, LANES), given.astype(np.float64)
    _equal(found[0], _rounded(high + c, "rz"))
    _equal(found[1], np.clip(_rounded(low - c, "rn"), 0, 1))
    _equal(found[2], _rounded(low * high + c, "rp"))
    brains = (halves.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    _equal(found[3], _rounded(brains[::2] * brains[1::2] + c, "rn"))


def _given(kernel: str) -> list[Any]:
    if kernel == "wide":
        return [np.arange(3 * 8 * LANES, dtype=np.uint32)]
    if kernel == "halves":
        with np.errstate(over="ignore"):  # the largest floats become infinite
            halves = _floats(2 * LANES).astype(np.float16).view(np.uint32)
        return [halves, _floats(LANES), np.zeros(4 * LANES, np.float32)]
    out = np.zeros(12 * LANES, np.float32)
    return [_floats(6 * LANES), out, *((0.75,) if kernel == "pairs" else ())]


@pytest.mark.parametrize("kernel", ["pairs", "wide", "extremes", "halves"])
def test_ptx_of_these_forms_gives_what_their_machine_code_does(
    read_source: ReadSource, compile_ptx: CompilePtx, kernel: str
) -> None:
    ours, theirs = _given(kernel), _given(kernel)
    machine = launch_machine_code(read_source(SOURCE, "sm_100a"), kernel, 1, LANES, _wide(ours))
    ptx = launch(compile_ptx(SOURCE, "sm_100a"), kernel, 1, LANES, _wide(theirs))
    assert not machine.faults
    assert not ptx.faults
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one.view(np.uint32), other.view(np.uint32))
    counted = "flops_fp32", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    for name in counted[kernel == "wide" :]:
        assert ptx.counter(name).value == machine.counter(name).value, name


@pytest.mark.parametrize(
    "text",
    ["max.xorsign.abs.f32 %f0, %f1, %f1, %f1", "min.abs.abs.f32 %f0, %f1, %f1, %f1",
     "max.f64 %d0, %d0, %d0, %d0", "add.ftz.f32.f16 %f0, %h0, %f1",
     "fma.f32.f16 %f0, %h0, %h0, %f1", "mul.rn.f32.f16 %f0, %h0, %f1",
     "redux.sync.add.f32 %f0, %f1, -1",
     "redux.sync.min.NaN.NaN.f32 %f0, %f1, -1", "add.sat.f32x2 %l0, %l0, %l0",
     "fma.f32x2 %l0, %l0, %l0, %l0", "add.f32x2 %l0, %l0, %d0", "min.f32x2 %l0, %l0, %l0",
     "mov.f32x2 %l0, %l0"],
)  # fmt: skip
def test_ptx_that_ptxas_refuses_of_these_forms_is_refused(text: str) -> None:
    registers = ".reg .f32 %f<2>; .reg .f64 %d<1>; .reg .b16 %h<1>; .reg .b64 %l<1>;"
    module = parse(
        ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n"
        f"{registers}\n{text};\nret;\n}}\n"
    )
    with pytest.raises(UnknownInstruction):
        launch(module, "k", 1, LANES, [])


def _wide(arguments: list[Any]) -> list[Any]:
    """The same memory in 64-bit words, for kernels that use pairs of floats."""
    pairs = any(isinstance(each, float) for each in arguments)
    return [
        each.view(np.uint64) if pairs and isinstance(each, np.ndarray) else each
        for each in arguments
    ]


WHOLE = """extern "C" __global__
void k(const long long* a, const unsigned* b, long long* w, int* o) {
    const int i = threadIdx.x;
    const long long x = a[i], y = a[i + 32];
    w[i] = min(x, y);
    w[i + 32] = max((unsigned long long)x, (unsigned long long)y);
    o[i] = __vabsdiffu4(b[i], b[i + 32]);
    o[i + 32] = max((int)b[i], (int)b[i + 32]);
}"""
"""64-bit minima and maxima, four bytes at a time, and minima and maxima that could report which
operand was chosen."""


@pytest.mark.parametrize(
    ("arch", "forms"),
    [("sm_100", ("VIMNMX R",)),
     ("sm_120", ("IMNMX.S64", "IMNMX.U64", "VIMNMX.U8x4", "VIADD.U8x4"))],
)  # fmt: skip
def test_extremes_of_whole_numbers(
    read_source: ReadSource, arch: str, forms: tuple[str, ...]
) -> None:
    code = read_source(WHOLE, arch)
    texts = " ".join(each.text for each in code.functions["k"].instructions)
    assert all(form in texts for form in forms), texts
    random = np.random.default_rng(2)
    a = random.integers(-(1 << 62), 1 << 62, 2 * LANES)
    b = random.integers(0, 1 << 32, 2 * LANES).astype(np.uint32)
    wide, out = np.zeros(2 * LANES, np.int64), np.zeros(2 * LANES, np.int32)
    assert not launch_machine_code(code, "k", 1, LANES, [a, b, wide, out]).faults
    x, y = a[:LANES], a[LANES:]
    np.testing.assert_array_equal(wide[:LANES], np.minimum(x, y))
    np.testing.assert_array_equal(
        wide[LANES:].view(np.uint64), np.maximum(x.view(np.uint64), y.view(np.uint64))
    )
    bytes_ = b.view(np.uint8).astype(np.int32)
    apart = np.abs(bytes_[: 4 * LANES] - bytes_[4 * LANES :]).astype(np.uint8)
    np.testing.assert_array_equal(out[:LANES].view(np.uint8), apart)
    np.testing.assert_array_equal(
        out[LANES:], np.maximum(b[:LANES].view(np.int32), b[LANES:].view(np.int32))
    )


GRID = """#include <cooperative_groups.h>
extern "C" __global__ void k(int* a, int* sum) {
    a[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x + 1;
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0)
        for (int b = 0; b < gridDim.x; b++) sum[blockIdx.x] += a[b * blockDim.x];
}"""


def test_blocks_wait_for_each_other_at_the_barrier_of_the_grid(read_source: ReadSource) -> None:
    code = read_source(GRID, "sm_100")
    assert any("SR_CgaSize" in each.text for each in code.functions["k"].instructions)
    for blocks in (1, 4):
        a, total = np.zeros(blocks * LANES, np.int32), np.zeros(blocks, np.int32)
        assert not launch_machine_code(code, "k", blocks, LANES, [a, total]).faults
        assert set(total) == {blocks * (blocks + 1) // 2}


UNKNOWN = """extern "C" __global__ void k(unsigned* a) {
    asm volatile("mov.u32 %0, %%envreg3;" : "=r"(a[threadIdx.x]));
}
extern "C" __global__ void reserved(unsigned* a) {
    asm volatile("mov.u32 %0, %%reserved_smem_offset_end;" : "=r"(a[threadIdx.x]));
}"""


@pytest.mark.parametrize("kernel", ["k", "reserved"])
def test_what_the_driver_is_not_known_to_put_somewhere_is_refused(
    read_source: ReadSource, kernel: str
) -> None:
    with pytest.raises(UnknownMachineInstruction, match=r"SR_CgaSize|what the driver puts there"):
        prepare(read_source(UNKNOWN, "sm_120"), kernel)
