"""The distinct sectors that a launch reads and writes, compared with sets of addresses that were
worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import LaunchReport, parse

SOURCE = r"""
extern "C" __global__ void copy(const float* in, float* out, unsigned n, int stride, int shift) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i * stride + shift];
}
extern "C" __global__ void copy_four(const float4* in, float4* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}
extern "C" __global__ void twice(const float* in, float* out, unsigned n) {
    float sum = 0;
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) sum -= in[n - 1 - i];
    out[threadIdx.x] = sum;
}
extern "C" __global__ void rows(const int* at, const float* in, float* out) {
    out[blockIdx.x * 64 + threadIdx.x] = in[at[blockIdx.x] + threadIdx.x];
}
extern "C" __global__ void gather(const int* at, const float* in, float* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[at[i]] = in[at[i]];
}
extern "C" __global__ void atomics(unsigned* counts, unsigned* found, int stride) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&counts[i * stride], 3u);
    found[i] = atomicMax(&counts[4096 + i], i);
}
extern "C" __global__ void either(const float* a, const float* b, float* out, float* other) {
    const unsigned t = threadIdx.x;
    const float* p = t & 1 ? a : b;
    float* q = t & 2 ? out : other;
    q[8 * t] = p[8 * t];
}
__constant__ float table[64];
__device__ float state[64];
extern "C" __global__ void spaces(const float* in) {
    __shared__ float s[64];
    const unsigned t = threadIdx.x;
    s[t] = table[t];
    __syncthreads();
    state[t] = s[63 - t];
}
extern "C" __global__ void copy_async(const float* in, float* out) {
    __shared__ float s[256];
    const unsigned t = threadIdx.x, i = blockIdx.x * 256 + 2 * t;
    const unsigned to = (unsigned)__cvta_generic_to_shared(&s[t]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + i));
    asm volatile("cp.async.wait_all;");
    if (s[t] == 7) out[t] = 1;
}
"""


def sectors(report: LaunchReport) -> tuple[float, float]:
    """The numbers of distinct sectors read and written."""
    read, written = (report.counter(f"distinct_sectors_{x}") for x in ("read", "written"))
    assert (read.unit, read.provenance) == ("sector", "emulator-model")
    return read.value, written.value


def of(words: Iterable[int], size: int = 4) -> int:
    """The number of sectors that words of this size touch, at these offsets in one buffer."""
    return len({place * size // 32 for place in words})


@pytest.mark.parametrize("n", [1, 8, 9, 1000, 4096])
@pytest.mark.parametrize(("stride", "shift"), [(1, 0), (1, 3), (2, 0), (3, 1), (8, 0), (33, 5)])
def test_a_strided_copy_touches_the_sectors_of_its_words(
    compile_ptx: CompilePtx, n: int, stride: int, shift: int
) -> None:
    values, out = np.zeros(n * stride + shift + 1, np.float32), np.zeros(n, np.float32)
    report = run(
        compile_ptx(SOURCE), "copy", -(-n // 96), 96, [values, out, n, stride, shift], checks=False
    )
    assert sectors(report) == (of(i * stride + shift for i in range(n)), of(range(n)))


def test_what_is_read_again_counts_once(compile_ptx: CompilePtx) -> None:
    n = 5000
    values, out = np.zeros(n, np.float32), np.zeros(64, np.float32)
    report = run(compile_ptx(SOURCE), "twice", 3, 64, [values, out, n], checks=False)
    assert sectors(report) == (of(range(n)), of(range(64)))
    touched = report.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum").value
    assert touched >= 2 * 3 * of(range(n))


def test_a_vector_touches_the_sectors_of_all_its_words(compile_ptx: CompilePtx) -> None:
    values, out = (np.zeros(4 * 384, np.float32) for _ in range(2))
    report = run(compile_ptx(SOURCE), "copy_four", 3, 128, [values, out])
    assert sectors(report) == (192, 192)


@pytest.mark.parametrize(
    "at", [[0, 64, 128, 192], [0, 200, 400, 600], [0, 64, 300, 310], [500, 20, 20, 900], [900, 0]]
)
def test_rows_that_start_anywhere_touch_their_own_sectors(
    compile_ptx: CompilePtx, at: list[int]
) -> None:
    values = np.random.default_rng(5).random(1000, dtype=np.float32)
    out = np.zeros(64 * len(at), np.float32)
    report = run(compile_ptx(SOURCE), "rows", len(at), 64, [np.array(at, np.int32), values, out])
    assert out.tolist() == [values[start + t] for start in at for t in range(64)]
    read = of(start + t for start in at for t in range(64))
    assert sectors(report) == (read + of(range(len(at))), of(range(len(out))))


@pytest.mark.parametrize("chunk_threads", [32, 100, 65536])
def test_scattered_words_touch_each_its_own_sector_whatever_the_chunk(
    compile_ptx: CompilePtx, chunk_threads: int
) -> None:
    at = np.random.default_rng(3).permutation(20_000)[:640].astype(np.int32)
    values, out = (np.zeros(20_000, np.float32) for _ in range(2))
    report = run(
        compile_ptx(SOURCE), "gather", 10, 64, [at, values, out], chunk_threads=chunk_threads
    )
    assert sectors(report) == (of(at.tolist()) + of(range(640)), of(at.tolist()))


@pytest.mark.parametrize("stride", [0, 1, 4, 8, 20])
def test_an_atomic_reads_and_writes_also_where_nobody_wants_its_result(
    compile_ptx: CompilePtx, stride: int
) -> None:
    """On an H200, reductions of a cold buffer read as many bytes from memory as loads of the
    buffer."""
    counts, found = np.zeros(5000, np.uint32), np.zeros(128, np.uint32)
    report = run(compile_ptx(SOURCE), "atomics", 2, 64, [counts, found, stride])
    own = of({i * stride for i in range(128)} | set(range(4096, 4096 + 128)))
    assert sectors(report) == (own, own + of(range(128)))
    assert report.counter("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum").value == 4


def test_lanes_in_several_buffers_touch_each_its_own(compile_ptx: CompilePtx) -> None:
    arrays = [np.zeros(8 * 64, np.float32) for _ in range(4)]
    report = run(compile_ptx(SOURCE), "either", 1, 64, arrays)
    assert sectors(report) == (64, 64)


def test_shared_and_constant_memory_and_parameters_are_not_global(
    compile_ptx: CompilePtx,
) -> None:
    """In the kernel `spaces`, only the store to the variable in global memory is counted."""
    report = run(compile_ptx(SOURCE), "spaces", 1, 64, [np.zeros(4, np.float32)])
    assert sectors(report) == (0, 8)


def test_an_asynchronous_copy_reads_its_source(compile_ptx: CompilePtx) -> None:
    values, out = np.zeros(256 * 3, np.float32), np.zeros(128, np.float32)
    report = run(compile_ptx(SOURCE), "copy_async", 3, 128, [values, out])
    assert sectors(report) == (of(i for b in range(3) for i in range(b * 256, b * 256 + 256, 2)), 0)


def test_a_launch_that_touches_nothing_has_no_sectors() -> None:
    report = run(parse(ptx_kernel("add.u32 %r1, %r1, 1;", ["u64"])), "k", 1, 32, [np.zeros(9)])
    assert sectors(report) == (0, 0)


def test_a_buffer_that_two_arguments_name_counts_once(compile_ptx: CompilePtx) -> None:
    both = np.zeros(256, np.float32)
    report = run(compile_ptx(SOURCE), "copy", 1, 256, [both, both, 256, 1, 0])
    assert sectors(report) == (32, 32)
