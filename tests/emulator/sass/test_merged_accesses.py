"""Wavefronts are not called exact if ptxas may merge accesses to shared memory, or if no rule says
whether the hardware serves parts of a warp together."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, run
from sass.conftest import ReadSource

from harness.emulator.program.analysis.merged_accesses import merged_accesses
from harness.emulator.program.translate import translate
from harness.emulator.ptx.kernel_names import find_kernel
from harness.emulator.ptx.parser import parse
from harness.emulator.results.counters import WAVEFRONTS, WAVEFRONTS_IDEAL
from harness.emulator.sass import launch_machine_code

SOURCE = r"""
#define T threadIdx.x
#define KERNEL(name, first, second) \
extern "C" __global__ void name(const float* in, float* out, unsigned n) { \
    __shared__ float s[2048]; \
    for (unsigned i = T; i < 2048; i += 64) s[i] = in[i]; \
    __syncthreads(); \
    const unsigned a = first, b = second; \
    out[T] = s[a] * s[b]; \
}
KERNEL(pairs, 2 * T, 2 * T + 1)
KERNEL(rows, (T / 8) * 16 + 4, (T / 8) * 16 + 5)
KERNEL(across_the_boundary, 2 * T + 1, 2 * T + 2)
KERNEL(neighbours, T, T + 1)
KERNEL(of_any_row, n * T, n * T + 1)
KERNEL(apart, 2 * T, 2 * T + 3)
extern "C" __global__ void fixed(const float* in, float* out, unsigned n) {
    __shared__ float s[4];
    if (T < 4) s[T] = in[T];
    __syncthreads();
    out[T] = s[0] * s[1];
}
extern "C" __global__ void with_a_barrier_between(const float* in, float* out, unsigned n) {
    __shared__ float s[128];
    s[2 * T] = in[T];
    __syncthreads();
    s[2 * T + 1] = in[T + 64];
    __syncthreads();
    out[T] = s[127 - 2 * T];
}
extern "C" __global__ void stored(const float* in, float* out, unsigned n) {
    __shared__ float s[128];
    s[2 * T] = in[T];
    s[2 * T + 1] = in[T + 64];
    __syncthreads();
    out[T] = s[127 - 2 * T];
}
"""


@pytest.mark.parametrize(
    ("kernel", "merged"),
    [
        ("pairs", True), ("rows", True), ("fixed", True), ("stored", True),
        ("across_the_boundary", False), ("neighbours", False), ("of_any_row", False),
        ("apart", False), ("with_a_barrier_between", False),
    ],
)  # fmt: skip
def test_wavefronts_claim_to_be_exact_unless_accesses_may_be_merged(
    compile_ptx: CompilePtx,
    read_source: ReadSource,
    kernel: str,
    merged: bool,
) -> None:
    arrays = [np.arange(2048, dtype=np.float32), np.zeros(64, np.float32), 3]
    ptx = run(compile_ptx(SOURCE), kernel, 1, 64, [*arrays])
    machine = launch_machine_code(read_source(SOURCE), kernel, 1, 64, [*arrays])
    widest = max(each.opcode.endswith((".64", ".128")) for each in machine.instructions
                 if each.opcode.startswith(("LDS", "STS")))  # fmt: skip
    assert widest == merged
    for name in (WAVEFRONTS, WAVEFRONTS_IDEAL):
        ours, theirs = ptx.counter(name), machine.counter(name)
        assert ours.provenance == ("ptx-level" if merged else "emulator-exact")
        assert merged or ours.value == theirs.value


WIDE = r"""
#define KERNEL(name, condition, index) \
extern "C" __global__ void name(const float4* in, float4* out) { \
    __shared__ float4 s[64]; \
    const unsigned t = threadIdx.x; \
    for (unsigned i = t; i < 64; i += 32) s[i] = in[i]; \
    __syncthreads(); \
    if (condition) out[t] = s[index]; \
}
KERNEL(one_address, true, 5)
KERNEL(a_row_per_quarter, true, t / 8 * 8)
KERNEL(rest_of_a_loop, t % 4, t / 4 * 4)
"""


@pytest.mark.parametrize(
    ("kernel", "ideal", "provenance"),
    [
        ("one_address", 2, "machine-exact"),
        ("a_row_per_quarter", 4, "machine-exact"),
        ("rest_of_a_loop", 2, "emulator-model"),
    ],
)
def test_ideal_wavefronts_are_a_model_where_idle_lanes_decide_them(
    read_source: ReadSource, kernel: str, ideal: int, provenance: str
) -> None:
    arrays = [np.zeros(256, np.float32), np.zeros(128, np.float32)]
    found = launch_machine_code(read_source(WIDE), kernel, 1, 32, arrays)
    stores = 2 * 4  # of 32 lanes, 16 bytes each
    counter = found.counter(WAVEFRONTS_IDEAL)
    assert (counter.value - stores, counter.provenance) == (ideal, provenance)
    assert found.counter(WAVEFRONTS).provenance == "machine-exact"


ADD_EACH_OTHER = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k() {
    .reg .pred %p;
    .reg .b32 %r<4>;
    .shared .align 16 .b8 s[64];
    mov.u32 %r0, 0;
    mov.u32 %r1, 4;
again:
    add.u32 %r0, %r0, %r1;
    add.u32 %r1, %r1, %r0;
    setp.lt.u32 %p, %r1, 32;
    @%p bra again;
    ld.shared.u32 %r2, [%r0];
    ld.shared.u32 %r3, [%r0+4];
    ret;
}
"""


def test_registers_that_add_each_other_are_followed_in_no_time() -> None:
    """Each register has two definitions, and so do the registers that these use: without
    memoisation, the search would take 2^32 steps."""
    module = parse(ADD_EACH_OTHER)
    assert merged_accesses(translate(module, find_kernel(module, "k"))) == frozenset()
