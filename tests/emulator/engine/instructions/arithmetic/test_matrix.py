"""Tensor cores: WMMA and inline mma.sync, ldmatrix and stmatrix, compared with matmul in double
precision."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import UnknownInstruction, launch, parse

WMMA = r"""
#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;
// A and B in either layout, C added, each accumulator doubled element by element.
template <int M, int N, int K, typename T, typename S, typename LA, typename LB, bool ROW>
__device__ void product(const T* a, const T* b, const S* c, S* d) {
    wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, S> fc;
    constexpr bool ra = std::is_same<LA, wmma::row_major>::value;
    constexpr bool rb = std::is_same<LB, wmma::row_major>::value;
    auto layout = ROW ? wmma::mem_row_major : wmma::mem_col_major;
    wmma::load_matrix_sync(fa, a, ra ? K : M);
    wmma::load_matrix_sync(fb, b, rb ? N : K);
    wmma::load_matrix_sync(fc, c, ROW ? N : M, layout);
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] + fc.x[i];
    wmma::store_matrix_sync(d, fc, ROW ? N : M, layout);
}
typedef wmma::row_major R;
typedef wmma::col_major C;
#define KERNEL(name, M, N, K, T, S, LA, LB, ROW) \
    extern "C" __global__ void name(const T* a, const T* b, const S* c, S* d) { \
        product<M, N, K, T, S, LA, LB, ROW>(a, b, c, d); }
KERNEL(half_float, 16, 16, 16, half, float, R, C, true)
KERNEL(half_columns, 16, 16, 16, half, float, C, R, false)
KERNEL(half_half, 16, 16, 16, half, half, R, R, true)
KERNEL(half_tall, 32, 8, 16, half, float, R, C, true)
KERNEL(half_wide, 8, 32, 16, half, float, C, C, false)
KERNEL(bf16_float, 16, 16, 16, __nv_bfloat16, float, R, R, true)
KERNEL(bf16_tall, 32, 8, 16, __nv_bfloat16, float, C, R, true)
KERNEL(bytes, 16, 16, 16, signed char, int, R, C, true)
KERNEL(bytes_unsigned, 8, 32, 16, unsigned char, int, R, C, true)
KERNEL(doubles, 8, 8, 4, double, double, R, C, true)
extern "C" __global__ void tf32(const float* a, const float* b, float* d) {
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, R> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, R> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
    wmma::fill_fragment(fc, 1.0f);
    wmma::load_matrix_sync(fa, a, 8);
    wmma::load_matrix_sync(fb, b, 16);
    for (auto& x : fa.x) x = wmma::__float_to_tf32(x);
    for (auto& x : fb.x) x = wmma::__float_to_tf32(x);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(d, fc, 16, wmma::mem_row_major);
}
// A tiled product through shared memory: 4 warps, each a 16 × 16 tile of a 32 × 32 block.
extern "C" __global__ void gemm(const half* a, const half* b, float* c, int n) {
    __shared__ half sa[32][16], sb[16][32];
    int warp = threadIdx.x / 32, row = warp / 2 * 16, column = warp % 2 * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 16) {
        for (int i = threadIdx.x; i < 512; i += blockDim.x) {
            sa[i / 16][i % 16] = a[(blockIdx.y * 32 + i / 16) * n + k + i % 16];
            sb[i / 32][i % 32] = b[(k + i / 32) * n + blockIdx.x * 32 + i % 32];
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, R> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, R> fb;
        wmma::load_matrix_sync(fa, &sa[row][0], 16);
        wmma::load_matrix_sync(fb, &sb[0][column], 32);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncthreads();
    }
    float* tile = &c[(blockIdx.y * 32 + row) * n + blockIdx.x * 32 + column];
    wmma::store_matrix_sync(tile, sum, n, wmma::mem_row_major);
}
"""
RANDOM = np.random.default_rng(12)


def _bf16(values: np.ndarray) -> np.ndarray:
    return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def _stored(values: np.ndarray, dtype: str) -> np.ndarray:
    return _bf16(values) if dtype == "bf16" else values.astype(dtype)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize(
    ("kernel", "m", "n", "k", "dtype", "sums", "layouts"),
    [("half_float", 16, 16, 16, "f2", "f4", "RCR"), ("half_columns", 16, 16, 16, "f2", "f4", "CRC"),
     ("half_half", 16, 16, 16, "f2", "f2", "RRR"), ("half_tall", 32, 8, 16, "f2", "f4", "RCR"),
     ("half_wide", 8, 32, 16, "f2", "f4", "CCC"), ("bf16_float", 16, 16, 16, "bf16", "f4", "RRR"),
     ("bf16_tall", 32, 8, 16, "bf16", "f4", "CRR"), ("bytes", 16, 16, 16, "i1", "i4", "RCR"),
     ("bytes_unsigned", 8, 32, 16, "u1", "i4", "RCR"), ("doubles", 8, 8, 4, "f8", "f8", "RCR")],
)  # fmt: skip
def test_wmma_of_every_type_and_layout(
    compile_ptx: CompilePtx, kernel, m, n, k, dtype, sums, layouts, arch
) -> None:
    low = 0 if dtype == "u1" else -8
    a, b = RANDOM.integers(low, 9, (m, k)), RANDOM.integers(low, 9, (k, n))
    c = RANDOM.integers(-20, 20, (m, n))
    given = [
        np.ascontiguousarray(x if layout == "R" else x.T)
        for x, layout in zip((a, b, c), layouts, strict=True)
    ]
    d = np.zeros(given[2].shape, sums)
    run(compile_ptx(WMMA, arch), kernel, 1, 32,
        [_stored(given[0], dtype), _stored(given[1], dtype), given[2].astype(sums), d])  # fmt: skip
    wanted = 2 * (a @ b + c)
    assert (d.astype(int) == (wanted if layouts[2] == "R" else wanted.T)).all()


def test_tf32_rounds_its_factors_and_not_its_sums(compile_ptx: CompilePtx) -> None:
    a, b = (RANDOM.standard_normal(s).astype(np.float32) for s in ((16, 8), (8, 16)))
    d = np.zeros((16, 16), np.float32)
    run(compile_ptx(WMMA), "tf32", 1, 32, [a, b, d])
    rounded = [
        ((x.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
        for x in (a, b)
    ]
    wanted = rounded[0].astype(float) @ rounded[1].astype(float) + 1
    np.testing.assert_allclose(d, wanted, rtol=1e-6, atol=1e-6)
    assert not np.allclose(d, a.astype(float) @ b.astype(float) + 1, rtol=1e-6, atol=1e-7)


def test_a_tiled_product_through_shared_memory(compile_ptx: CompilePtx) -> None:
    n = 64
    a, b = (RANDOM.standard_normal((n, n)).astype(np.float16) for _ in range(2))
    c = np.zeros((n, n), np.float32)
    run(compile_ptx(WMMA), "gemm", (2, 2), 128, [a, b, c, n])
    np.testing.assert_allclose(c, a.astype(float) @ b.astype(float), rtol=1e-5, atol=1e-4)


# --- mma.sync by hand ---------------------------------------------------------------------------

GROUP, THREAD = np.arange(32) // 4, np.arange(32) % 4
SHAPES = [
    ("m16n8k8.row.col.f32.f16.f16.f32", 16, 8, "f2", "f4"),
    ("m16n8k16.row.col.f32.f16.f16.f32", 16, 16, "f2", "f4"),
    ("m16n8k16.row.col.f16.f16.f16.f16", 16, 16, "f2", "f2"),
    ("m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, "bf16", "f4"),
    ("m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, "bf16", "f4"),
    ("m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, "f4", "f4"),
    ("m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, "f4", "f4"),
    ("m16n8k16.row.col.s32.s8.s8.s32", 16, 16, "i1", "i4"),
    ("m16n8k32.row.col.s32.s8.s8.s32", 16, 32, "i1", "i4"),
    ("m16n8k32.row.col.satfinite.s32.u8.s8.s32", 16, 32, "u1", "i4"),
    ("m8n8k16.row.col.s32.s8.s8.s32", 8, 16, "i1", "i4"),
]


def _a_element(m: int, k: int, size: int, lane: int, i: int) -> tuple[int, int]:
    """The row and column of a_i, by the manual's formulas, case by case."""
    group, thread = lane >> 2, lane % 4
    if size == 2 and k == 8:
        return (group if i < 2 else group + 8), thread * 2 + (i & 1)
    if size == 2:
        row = group if i < 2 or 4 <= i < 6 else group + 8
        return row, thread * 2 + (i & 1) + (8 if i >= 4 else 0)
    if size == 4 and k == 4:
        return group + 8 * i, thread
    if size == 4:
        return group + 8 * (i in (1, 3)), thread + 4 * (i >= 2)
    if m == 8:
        return group, thread * 4 + i
    if k == 16:
        return (group if i < 4 else group + 8), thread * 4 + (i & 3)
    row = group if i < 4 or 8 <= i < 12 else group + 8
    return row, thread * 4 + (i & 3) + (16 if i >= 8 else 0)


def _b_element(k: int, size: int, lane: int, i: int) -> tuple[int, int]:
    group, thread = lane >> 2, lane % 4
    if size == 2:
        return thread * 2 + (i & 1) + (8 if i >= 2 else 0), group
    if size == 4:
        return thread + 4 * i, group
    return thread * 4 + (i & 3) + (16 if i >= 4 else 0), group


def _mma(shape: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Execute one warp's mma.sync with fragments that this function lays out lane by lane; return
    the result as a matrix."""
    m, k = a.shape
    size = a.itemsize
    a_parts, b_parts = m * k // 32, 8 * k // 32
    fragments = np.zeros((32, (a_parts + b_parts) * size), np.uint8)
    for lane in range(32):
        parts = [a[_a_element(m, k, size, lane, i)] for i in range(a_parts)]
        parts += [b[_b_element(k, size, lane, i)] for i in range(b_parts)]
        fragments[lane] = np.frombuffer(b"".join(x.tobytes() for x in parts), np.uint8)
    words = fragments.view(np.uint32)
    held = m // 4
    places = [
        [((lane >> 2) + 8 * (i // 2), (lane % 4) * 2 + (i & 1)) for i in range(held)]
        for lane in range(32)
    ]
    sums = np.array([[c[place] for place in lane] for lane in places])
    sum_words = np.ascontiguousarray(sums).view(np.uint32)
    a_regs, b_regs, c_regs = a_parts * size // 4, b_parts * size // 4, sum_words.shape[1]
    letter = "f" if c.dtype == np.float32 else "r"
    kind = "f32" if letter == "f" else "b32"
    loads = [f"ld.global.b32 %r{i}, [%a1+{4 * i}];" for i in range(a_regs + b_regs)]
    loads += [f"ld.global.{kind} %{letter}{10 + i}, [%a3+{4 * i}];" for i in range(c_regs)]
    group = [", ".join(f"%r{i}" for i in range(a_regs)),
             ", ".join(f"%r{a_regs + i}" for i in range(b_regs)),
             ", ".join(f"%{letter}{10 + i}" for i in range(c_regs)),
             ", ".join(f"%{letter}{15 + i}" for i in range(c_regs))]  # fmt: skip
    stores = [f"st.global.{kind} [%a5+{4 * i}], %{letter}{15 + i};" for i in range(c_regs)]
    newline = "\n"
    body = f"""
    ld.param.u64 %a0, [p0]; mad.wide.u32 %a1, %i, {4 * (a_regs + b_regs)}, %a0;
    ld.param.u64 %a2, [p1]; mad.wide.u32 %a3, %i, {4 * c_regs}, %a2;
    ld.param.u64 %a4, [p2]; mad.wide.u32 %a5, %i, {4 * c_regs}, %a4;
    {newline.join(loads)}
    mma.sync.aligned.{shape} {{{group[3]}}}, {{{group[0]}}}, {{{group[1]}}}, {{{group[2]}}};
    {newline.join(stores)}"""
    out = np.zeros_like(sum_words)
    run(parse(ptx_kernel(body, ["u64"] * 3)), "k", 1, 32, [words, sum_words, out])
    result = np.zeros((m, 8), c.dtype)
    for lane in range(32):
        for place, value in zip(places[lane], out[lane : lane + 1].view(c.dtype)[0], strict=True):
            result[place] = value
    return result


@pytest.mark.parametrize(("shape", "m", "k", "dtype", "sums"), SHAPES, ids=[s[0] for s in SHAPES])
def test_fragments_are_laid_out_as_the_manual_says(shape, m, k, dtype, sums) -> None:
    low = 0 if dtype == "u1" else -9
    a, b = RANDOM.integers(low, 10, (m, k)), RANDOM.integers(-9, 10, (k, 8))
    c = RANDOM.integers(-50, 50, (m, 8))
    b_type = "i1" if dtype == "u1" else dtype
    found = _mma(shape, _stored(a, dtype), _stored(b, b_type), c.astype(sums))
    assert (found.astype(int) == a @ b + c).all()


def test_sums_of_random_halves_are_within_a_rounding() -> None:
    a, b = (RANDOM.standard_normal(s).astype(np.float16) for s in ((16, 16), (16, 8)))
    c = RANDOM.standard_normal((16, 8)).astype(np.float32)
    found = _mma("m16n8k16.row.col.f32.f16.f16.f32", a, b, c)
    np.testing.assert_allclose(found, a.astype(float) @ b.astype(float) + c, rtol=1e-6, atol=1e-7)


def test_integer_sums_wrap_or_saturate() -> None:
    a, b = np.full((16, 32), 127, np.int8), np.full((32, 8), 127, np.int8)
    c = np.full((16, 8), 2**31 - 5, np.int32)
    total = 2**31 - 5 + 32 * 127 * 127
    wrapped = _mma("m16n8k32.row.col.s32.s8.s8.s32", a, b, c)
    assert (wrapped == total - 2**32).all()
    assert (_mma("m16n8k32.row.col.satfinite.s32.s8.s8.s32", a, b, c) == 2**31 - 1).all()


def test_shapes_that_do_not_exist_are_refused() -> None:
    operands = "{%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4}"
    for shape in (
        "m16n8k16.row.row.f32.f16.f16.f32",
        "m16n8k64.row.col.f32.f16.f16.f32",
        "m16n8k16.row.col.f32.f16.bf16.f32",
        "m8n8k4.row.col.f32.f16.f16.f32",
    ):
        body = f"mma.sync.aligned.{shape} {operands};"
        with pytest.raises(UnknownInstruction, match=r"mma\.sync"):
            launch(parse(ptx_kernel(body)), "k", 1, 32, [])


LDMATRIX = r"""
extern "C" __global__ void load(const unsigned short* in, unsigned* out) {
    __shared__ __align__(16) unsigned short s[32][24];  // rows 48 bytes apart
    for (int i = threadIdx.x; i < 32 * 8; i += 32) s[i / 8][i % 8] = in[i];
    __syncwarp();
    unsigned where = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x][0]), r[8];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(where));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]) : "r"(where));
    for (int i = 0; i < 8; i++) out[i * 32 + threadIdx.x] = r[i];
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(where));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[1]), "=r"(r[2]) : "r"(where));
    for (int i = 0; i < 3; i++) out[(8 + i) * 32 + threadIdx.x] = r[i];
}
extern "C" __global__ void store(const unsigned* in, unsigned short* out) {
    __shared__ __align__(16) unsigned short s[32][8];
    unsigned where = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x][0]);
    unsigned a = in[threadIdx.x], b = in[32 + threadIdx.x];
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};"
                 :: "r"(where), "r"(a), "r"(b));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};"
                 :: "r"(where + 256), "r"(a), "r"(b));
    __syncwarp();
    for (int i = threadIdx.x; i < 32 * 8; i += 32) out[i] = s[i / 8][i % 8];
}
"""


def _fragment(matrix: np.ndarray) -> np.ndarray:
    """An 8 × 8 matrix of halves distributed over a warp: lane 4r + t holds columns 2t and 2t + 1 of
    row r."""
    pairs = matrix.reshape(32, 2).astype(np.uint32)
    return pairs[:, 0] | pairs[:, 1] << 16


def test_ldmatrix_spreads_rows_over_the_warp(compile_ptx: CompilePtx) -> None:
    given = RANDOM.integers(0, 65536, (4, 8, 8)).astype(np.uint16)
    out = np.zeros((11, 32), np.uint32)
    report = run(compile_ptx(LDMATRIX), "load", 1, 32, [given, out])
    for i in range(4):
        assert (out[i] == _fragment(given[i])).all()
        assert (out[4 + i] == _fragment(given[i].T)).all()
    assert (out[8] == _fragment(given[0])).all()
    assert (out[9] == _fragment(given[0].T)).all()
    assert (out[10] == _fragment(given[1].T)).all()
    # Rows 48 bytes apart fall in distinct banks, so each matrix takes one wavefront.
    loads = [i for i in report.instructions if i.opcode.startswith("ldmatrix")]
    assert [i.shared_wavefronts for i in loads] == [4, 4, 1, 2]


def test_stmatrix_is_the_inverse(compile_ptx: CompilePtx) -> None:
    given = RANDOM.integers(0, 65536, (2, 8, 8)).astype(np.uint16)
    out = np.zeros((4, 8, 8), np.uint16)
    run(compile_ptx(LDMATRIX), "store", 1, 32,
        [np.stack([_fragment(g) for g in given]), out])  # fmt: skip
    # The second store is 256 bytes further on; its rows come from lanes 0 to 15, too.
    assert (out[0] == given[0]).all()
    assert (out[1] == given[1]).all()
    assert (out[2] == given[0].T).all()
    assert (out[3] == given[1].T).all()


def test_a_tensor_core_instruction_needs_the_whole_warp() -> None:
    body = """
    mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
    mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0;
    setp.lt.u32 %p1, %i, 20;
    @%p1 mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3},
        {%f1,%f2,%f3,%f4};
    ld.param.u64 %a0, [p0];
    st.global.f32 [%a0], %f1;"""
    report = launch(parse(ptx_kernel(body, ["u64"])), "k", 1, 32, [np.zeros(1, np.float32)])
    assert report.faults[0].kind == "divergence"


@pytest.mark.parametrize("k", [4, 8, 16])
def test_doubles_multiply_in_mma_sync_too(k: int) -> None:
    """m16n8k4, k8 and k16: element i of a lane has row g + 8·(i & 1) and column t + 4·(i >> 1)."""
    a, b = RANDOM.standard_normal((16, k)), RANDOM.standard_normal((k, 8))
    given = np.zeros((32, k // 2 + k // 4))
    for lane in range(32):
        group, thread = lane >> 2, lane % 4
        for i in range(k // 2):
            given[lane, i] = a[group + 8 * (i & 1), thread + 4 * (i >> 1)]
        for i in range(k // 4):
            given[lane, k // 2 + i] = b[thread + 4 * i, group]
    loads = "".join(f"ld.global.f64 %d{i}, [%a1+{8 * i}];\n" for i in range(given.shape[1]))
    first, second = (
        ", ".join(f"%d{i}" for i in part) for part in (range(k // 2), range(k // 2, k // 4 * 3))
    )
    body = f"""
    ld.param.u64 %a0, [p0]; mad.wide.u32 %a1, %i, {8 * given.shape[1]}, %a0;
    ld.param.u64 %a2, [p1]; mad.wide.u32 %a3, %i, 32, %a2;
    {loads}
    mov.f64 %d19, 0d3FF0000000000000;
    mma.sync.aligned.m16n8k{k}.row.col.f64.f64.f64.f64 {{%d14, %d15, %d16, %d17}}, {{{first}}},
        {{{second}}}, {{%d19, %d19, %d19, %d19}};
    st.global.v2.f64 [%a3], {{%d14, %d15}};
    st.global.v2.f64 [%a3+16], {{%d16, %d17}};"""
    out = np.zeros((32, 4))
    run(parse(ptx_kernel(body, ["u64"] * 2)), "k", 1, 32, [given, out])
    wanted = a @ b + 1
    for lane in range(32):
        for i in range(4):
            place = (lane >> 2) + 8 * (i >> 1), lane % 4 * 2 + (i & 1)
            np.testing.assert_allclose(out[lane, i], wanted[place], rtol=1e-13)


def test_movmatrix_transposes_the_matrix_that_a_warp_holds() -> None:
    body = """ld.param.u64 %a0, [p0]; mad.wide.u32 %a0, %i, 4, %a0;
    ld.global.u32 %r1, [%a0]; movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;
    st.global.u32 [%a0], %r2;"""
    words = np.random.default_rng(3).integers(0, 2**32, 64, dtype=np.uint64).astype(np.uint32)
    wanted = words.view(np.uint16).reshape(2, 8, 8).transpose(0, 2, 1).copy()
    run(parse(ptx_kernel(body, ["u64"])), "k", 1, 64, [words])
    assert (words.view(np.uint16).reshape(2, 8, 8) == wanted).all()
