"""Loads, stores and atomics of every state space and width."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import launch, parse

SOURCE = r"""
#include <cuda/atomic>
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
__device__ unsigned counter;
__device__ float table[4] = {1.5f, 2.5f, -3.0f, 4.0f};
__constant__ int primes[5] = {2, 3, 5, 7, 11};

extern "C" __global__ void module_variables(float* out) {
    unsigned ticket = atomicAdd(&counter, 1u);
    out[ID] = table[ID % 4] * primes[ID % 5] + (ticket >= 1000000);
}

extern "C" __global__ void copy_widths(const char* a, char* b, const short* c, short* d,
                                       const double2* e, double2* f, const int4* g, int4* h) {
    unsigned i = ID;
    b[i] = a[i] + 1; d[i] = c[i] - 1;
    double2 x = e[i]; f[i] = make_double2(x.y, x.x);
    int4 y = g[i]; h[i] = make_int4(y.w, y.z, y.y, y.x);
}

extern "C" __global__ void shared_vectors(const float4* in, float4* out, float2* pairs) {
    __shared__ float4 s[64];
    extern __shared__ float2 t[];
    s[63 - threadIdx.x] = in[ID];
    __syncthreads();
    float4 v = s[threadIdx.x];
    t[threadIdx.x] = make_float2(v.x + v.y, v.z + v.w);
    out[ID] = v;
    __syncthreads();
    pairs[ID] = t[threadIdx.x ^ 1];
}

// An index that only the run knows keeps the array in local memory.
extern "C" __global__ void local_arrays(const unsigned* in, unsigned* out) {
    unsigned a[16];
    for (int k = 0; k < 16; k++) a[k] = k * k + threadIdx.x;
    unsigned sum = 0;
    for (int k = 0; k < 4; k++) { a[in[(ID + k) % 64] & 15] += 100; }
    for (int k = 0; k < 16; k++) sum += a[in[k] & 15];
    out[ID] = sum;
}

__device__ __noinline__ void bump(int* p, int by) { *p += by; }
extern "C" __global__ void generic(int* out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    int* p = threadIdx.x % 2 ? &s[threadIdx.x] : &out[64 + threadIdx.x];
    bump(p, 1000);
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void integer_atomics(unsigned* g, unsigned* found, int* s,
                                           unsigned long long* w) {
    unsigned i = ID;
    found[i] = atomicAdd(&g[i % 3], i);
    atomicMax(&s[0], (int)i - 100); atomicMin(&s[1], -(int)i);
    atomicOr(&g[3], 1u << (i % 32)); atomicAnd(&g[4], ~(1u << (i % 32))); atomicXor(&g[5], i);
    atomicInc(&g[6], 9u); atomicDec(&g[7], 5u); atomicExch(&g[8], i);
    atomicAdd(&w[0], (unsigned long long)i << 32);
    atomicCAS(&g[9], 0u, i + 1);
}

extern "C" __global__ void shared_atomics(const unsigned* in, unsigned* out, float* sums) {
    __shared__ unsigned bins[16];
    __shared__ float total;
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    atomicAdd(&bins[in[ID] % 16], 1u);
    atomicAdd(&total, 0.1f * threadIdx.x);
    __syncthreads();
    if (threadIdx.x < 16) out[16 * blockIdx.x + threadIdx.x] = bins[threadIdx.x];
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

extern "C" __global__ void float_atomics(const float* in, float* total, double* wide) {
    atomicAdd(total, in[ID]);
    atomicAdd(wide, (double)in[ID]);
}

extern "C" __global__ void tickets(unsigned* ticket, unsigned* last, float* data, float* seen) {
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        data[blockIdx.x] = blockIdx.x + 1;
        __threadfence();
        cuda::atomic_ref<unsigned, cuda::thread_scope_device> t(*ticket);
        is_last = t.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last) {
        if (threadIdx.x == 0) atomicAdd(last, 1u);
        for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x)
            seen[i] = ((volatile float*)data)[i];
    }
}

struct Pair { int a; float b; long long c; };
extern "C" __global__ void by_value(Pair p, double* out) { out[0] = p.a + p.b + p.c; }
"""


@pytest.fixture(scope="module")
def module(compile_ptx: CompilePtx):
    return lambda: compile_ptx(SOURCE)


def test_module_variables_keep_their_values_from_launch_to_launch(module) -> None:
    kernels = module()
    for start in (0, 128):
        out = np.zeros(128, np.float32)
        run(kernels, "module_variables", 2, 64, [out])
        table, primes = [1.5, 2.5, -3.0, 4.0], [2, 3, 5, 7, 11]
        assert out.tolist() == [table[i % 4] * primes[i % 5] for i in range(128)]
        assert kernels.device.variables["counter"].view(np.uint32)[0] == start + 128


def test_every_width_is_copied(module) -> None:
    n, random = 128, np.random.default_rng(1)
    a = random.integers(-128, 127, n, dtype=np.int8)
    c = random.integers(-1000, 1000, n, dtype=np.int16)
    e, g = random.random((n, 2)), random.integers(0, 99, (n, 4), dtype=np.int32)
    b, d, f, h = np.zeros_like(a), np.zeros_like(c), np.zeros_like(e), np.zeros_like(g)
    run(module(), "copy_widths", 2, 64, [a, b, c, d, e, f, g, h])
    assert (b == a + 1).all()
    assert (d == c - 1).all()
    assert (f == e[:, ::-1]).all()
    assert (h == g[:, ::-1]).all()


def test_vectors_in_static_and_dynamic_shared_memory(module) -> None:
    given = np.random.default_rng(2).random((128, 4), dtype=np.float32)
    out, pairs = np.zeros_like(given), np.zeros((128, 2), np.float32)
    run(module(), "shared_vectors", 2, 64, [given, out, pairs], 64 * 8)
    reversed_ = given.reshape(2, 64, 4)[:, ::-1].reshape(128, 4)
    assert (out == reversed_).all()
    sums = np.stack([reversed_[:, 0] + reversed_[:, 1], reversed_[:, 2] + reversed_[:, 3]], axis=1)
    assert (pairs == sums[np.arange(128) ^ 1]).all()


def test_each_thread_has_its_own_local_array(module) -> None:
    given = np.random.default_rng(3).integers(0, 99, 64, dtype=np.uint32)
    out = np.zeros(128, np.uint32)
    run(module(), "local_arrays", 2, 64, [given, out])
    for i in range(128):
        a = [k * k + i % 64 for k in range(16)]
        for k in range(4):
            a[given[(i + k) % 64] & 15] += 100
        assert out[i] == sum(a[given[k] & 15] for k in range(16))


def test_generic_addresses_reach_shared_and_global_memory_in_one_instruction(module) -> None:
    out = np.zeros(128, np.int32)
    run(module(), "generic", 1, 64, [out])
    t = np.arange(64)
    assert out[:64].tolist() == np.where(t % 2, t + 1000, t).tolist()
    assert out[64:].tolist() == np.where(t % 2, 0, 1000).tolist()


def test_integer_atomics_take_turns_in_lane_order(module) -> None:
    g, found = np.zeros(16, np.uint32), np.zeros(256, np.uint32)
    g[4], g[7] = 0xFFFFFFFF, 3
    s, w = np.zeros(2, np.int32), np.zeros(1, np.uint64)
    run(module(), "integer_atomics", 4, 64, [g, found, s, w])
    total = [0, 0, 0]
    for i in range(256):
        assert found[i] == total[i % 3]
        total[i % 3] += i
    assert g[:3].tolist() == total
    assert s.tolist() == [155, -255]
    assert g[3:6].tolist() == [0xFFFFFFFF, 0, int(np.bitwise_xor.reduce(np.arange(256)))]
    down, up = 3, 0
    for _ in range(256):
        up = 0 if up >= 9 else up + 1
        down = 5 if down == 0 or down > 5 else down - 1
    assert g[6:10].tolist() == [up, down, 255, 1]
    assert w[0] == sum(range(256)) << 32


def test_a_histogram_in_shared_memory(module) -> None:
    given = np.random.default_rng(4).integers(0, 1000, 512, dtype=np.uint32)
    out, sums = np.zeros(32, np.uint32), np.zeros(2, np.float32)
    run(module(), "shared_atomics", 2, 256, [given, out, sums])
    for b in range(2):
        part = given[256 * b : 256 * b + 256] % 16
        assert out[16 * b : 16 * b + 16].tolist() == np.bincount(part, minlength=16).tolist()
    in_order = np.float32(0)
    for t in range(256):
        in_order += np.float32(0.1) * np.float32(t)
    assert sums.tolist() == [in_order, in_order]


def test_float_atomics_add_in_lane_order_to_the_bit(module) -> None:
    given = np.random.default_rng(5).random(512, dtype=np.float32)
    total, wide = np.zeros(1, np.float32), np.zeros(1)
    run(module(), "float_atomics", 4, 128, [given, total, wide])
    in_order = np.float32(0)
    for x in given:
        in_order += x
    assert total[0] == in_order
    assert wide[0] == np.cumsum(given.astype(float))[-1]


@pytest.mark.parametrize("chunk_threads", [65536, 256, 1])
def test_exactly_one_block_draws_the_last_ticket(module, chunk_threads: int) -> None:
    ticket, last = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    data, seen = np.zeros(37, np.float32), np.zeros(37, np.float32)
    run(module(), "tickets", 37, 64, [ticket, last, data, seen], chunk_threads=chunk_threads)
    assert last[0] == 1
    assert seen.tolist() == list(range(1, 38))


def test_a_struct_is_passed_as_bytes(module) -> None:
    pair = np.zeros((), np.dtype([("a", "i4"), ("b", "f4"), ("c", "i8")], align=True))
    pair["a"], pair["b"], pair["c"] = 3, 0.5, -10
    out = np.zeros(1)
    run(module(), "by_value", 1, 1, [pair.tobytes(), out])
    assert out[0] == -6.5


def test_narrow_registers_are_extended_and_truncated() -> None:
    body = """
    ld.param.u64 %a0, [p0];
    ld.param.u64 %a1, [p1];
    cvt.u64.u32 %a2, %i;
    add.u64 %a0, %a0, %a2;
    ld.global.s8 %r1, [%a0];
    ld.global.u8 %r2, [%a0];
    mad.wide.u32 %a1, %i, 12, %a1;
    st.global.u32 [%a1], %r1;
    st.global.u32 [%a1+4], %r2;
    add.u32 %r3, %r1, 256;
    st.global.u8 [%a1+8], %r3;
    """
    given = np.arange(-100, 28, dtype=np.int8)
    out = np.zeros((128, 3), np.int32)
    run(parse(ptx_kernel(body, ["u64", "u64"])), "k", 1, 128, [given, out])
    assert out[:, 0].tolist() == given.tolist()
    assert out[:, 1].tolist() == given.view(np.uint8).tolist()
    assert out[:, 2].tolist() == given.view(np.uint8).tolist()


def test_of_lanes_that_store_to_one_address_the_last_stays() -> None:
    body = """
    ld.param.u64 %a0, [p0];
    st.global.u32 [%a0], %i;
    """
    out = np.zeros(1, np.uint32)
    report = launch(parse(ptx_kernel(body, ["u64"])), "k", 1, 77, [out], checks=False)
    assert not report.faults
    assert out[0] == 76


@pytest.mark.parametrize("words", ["%i, 3", "0, 3", "%r2, 7"])
def test_the_last_lane_stays_in_shared_memory_too(words: str) -> None:
    value, mask = words.split(", ")
    body = f"""
    .shared .align 4 .b8 s[64];
    ld.param.u64 %a0, [p0];
    mov.u32 %r3, %ctaid.x;
    add.u32 %r2, %i, %r3;
    mov.u32 %r1, {value};
    and.b32 %r1, %r1, {mask};
    shl.b32 %r1, %r1, 2;
    mov.u32 %r5, s;
    add.u32 %r5, %r5, %r1;
    mad.lo.u32 %r4, %r3, 1000, %i;
    st.shared.u32 [%r5], %r4;
    bar.sync 0;
    ld.shared.u32 %r4, [%r5];
    mad.lo.u32 %r6, %r3, 48, %i;
    mad.wide.u32 %a0, %r6, 4, %a0;
    st.global.u32 [%a0], %r4;
    """
    out = np.zeros((3, 48), np.uint32)
    run(parse(ptx_kernel(body, ["u64"])), "k", 3, 48, [out], checks=False)  # it is a race
    for b in range(3):
        place = [{"%i": t, "0": 0, "%r2": t + b}[value] & int(mask) for t in range(48)]
        last = {p: t for t, p in enumerate(place)}
        assert out[b].tolist() == [1000 * b + last[p] for p in place]


def test_views_of_one_array_alias() -> None:
    body = """
    ld.param.u64 %a0, [p0];
    ld.param.u64 %a1, [p1];
    mad.wide.u32 %a0, %i, 4, %a0;
    mad.wide.u32 %a1, %i, 4, %a1;
    st.global.u32 [%a0], %i;
    ld.global.u32 %r1, [%a1];
    add.u32 %r1, %r1, 100;
    st.global.u32 [%a1], %r1;
    """
    out = np.zeros(64, np.uint32)
    run(parse(ptx_kernel(body, ["u64", "u64"])), "k", 1, 32, [out[:32], out[:32]])
    assert out[:32].tolist() == [100 + i for i in range(32)]
    assert not out[32:].any()


def test_a_parameter_may_be_read_at_an_address_in_a_register() -> None:
    body = """
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, 4, %a0;
    mov.b64 %a1, p1;
    ld.param.u32 %r1, [%a1];
    ld.param.u32 %r2, [%a1+4];
    add.u32 %r1, %r1, %r2;
    st.global.u32 [%a0], %r1;
    """
    out = np.zeros(32, np.uint32)
    run(parse(ptx_kernel(body, ["u64", "u32", "u32"])), "k", 1, 32, [out, 40, 2])
    assert (out == 42).all()
