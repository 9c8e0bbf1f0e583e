"""Every atomic operation and width, in global and shared memory, compared with a computation of one
lane at a time."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import exact
import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import parse

Step = Callable[[int, int], int]
BITS: dict[str, Step] = {
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "exch": lambda a, b: b,
}  # fmt: skip
ORDERED: dict[str, Step] = {"add": lambda a, b: a + b, "min": min, "max": max}
COUNTERS: dict[str, Step] = {
    "inc": lambda a, b: 0 if a >= b else a + 1,
    "dec": lambda a, b: b if a == 0 or a > b else a - 1,
}
CASES = (
    [(f"{n}.b{w}", f"u{w // 8}", f) for n, f in BITS.items() for w in (32, 64)]
    + [(f"{n}.{s}{w}", f"{'i' if s == 's' else 'u'}{w // 8}", f)
       for n, f in ORDERED.items() for s in "us" for w in (32, 64) if (n, s, w) != ("add", "s", 64)]
    + [(f"{n}.u32", "u4", f) for n, f in COUNTERS.items()]
)  # fmt: skip


def _run(opcode: str, space: str, target: np.ndarray, values: np.ndarray, *, fetch: bool):
    """Lane i applies values[i] to target[i % len(target)]; return the old value that each lane got,
    and the target."""
    size, count = target.itemsize, len(target)
    kind, register = {2: ("b16", "%h"), 4: ("b32", "%r"), 8: ("b64", "%l")}[size]
    address = "%a4" if space == "global" else "%a6"
    # In shared memory, lane 0 copies the data in before the atomics, and out after them.
    copy_in = "\n".join(
        f"@%p1 ld.global.{kind} {register}9, [%a0+{i * size}];\n"
        f"@%p1 st.shared.{kind} [buffer+{i * size}], {register}9;"
        for i in range(count)
    )
    copy_out = "\n".join(
        f"@%p1 ld.shared.{kind} {register}9, [buffer+{i * size}];\n"
        f"@%p1 st.global.{kind} [%a0+{i * size}], {register}9;"
        for i in range(count)
    )
    operation = (
        f"atom.{space}.{opcode} {register}3, [{address}], {register}2;\nst.global.{kind} [%a5], "
        f"{register}3;" if fetch else f"red.{space}.{opcode} [{address}], {register}2;"
    )  # fmt: skip
    shared = space == "shared"
    body = f"""
    ld.param.u64 %a0, [p0];
    ld.param.u64 %a1, [p1];
    ld.param.u64 %a2, [p2];
    rem.u32 %r10, %i, {count};
    mad.wide.u32 %a4, %r10, {size}, %a0;
    mad.wide.u32 %a3, %i, {size}, %a1;
    mad.wide.u32 %a5, %i, {size}, %a2;
    mov.u64 %a6, buffer;
    mad.wide.u32 %a6, %r10, {size}, %a6;
    setp.eq.u32 %p1, %i, 0;
    {copy_in if shared else ""}
    bar.sync 0;
    ld.global.{kind} {register}2, [%a3];
    {operation}
    bar.sync 0;
    {copy_out if shared else ""}"""
    declarations = f".shared .align 16 .b8 buffer[{max(16, size * count)}];"
    target, found = target.copy(), np.zeros_like(values)
    module = parse(ptx_kernel(body, ["u64"] * 3, declarations))
    run(module, "k", 1, len(values), [target, values, found])
    return found, target


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(("opcode", "dtype", "step"), CASES, ids=[c[0] for c in CASES])
def test_integers(opcode: str, dtype: str, step: Step, space: str) -> None:
    random = np.random.default_rng(9)
    kind = np.dtype(dtype)
    info = np.iinfo(kind)
    low, high = (0, 6) if opcode[:3] in ("inc", "dec") else (info.min, info.max)
    values = random.integers(low, high, 96, dtype=kind, endpoint=True)
    start = random.integers(low, high, 5, dtype=kind, endpoint=True)
    for fetch in (True, False) if "exch" not in opcode else (True,):
        found, left = _run(opcode, space, start, values, fetch=fetch)
        state = start.tolist()
        for i, value in enumerate(values.tolist()):
            if fetch:
                assert found[i] == state[i % 5]
            wrapped = step(state[i % 5], value) - info.min
            state[i % 5] = wrapped % (1 << info.bits) + info.min
        assert left.tolist() == state


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_floats_add_in_lane_order(kind: str, space: str) -> None:
    dtype = np.float32 if kind == "f32" else np.float64
    values = np.random.default_rng(2).standard_normal(96).astype(dtype)
    found, left = _run(f"add.{kind}", space, np.zeros(3, dtype), values, fetch=True)
    state = np.zeros(3, dtype)
    for i, value in enumerate(values):
        assert found[i] == state[i % 3]
        state[i % 3] += value
    assert (left == state).all()


@pytest.mark.parametrize("space", ["global", "shared"])
def test_floats_that_are_subnormal_are_added_in_shared_memory_and_lost_in_global(
    space: str,
) -> None:
    """The expected values are an H200's, from the committed run of `atomic_subnormals`."""
    smallest = np.finfo(np.float32).tiny
    start = np.array([0, smallest / 4, smallest, -smallest / 2], np.float32)
    values = np.array([smallest / 2, smallest, -smallest * 0.75, smallest * 2], np.float32)
    _, left = _run("add.f32", space, start, values, fetch=False)
    lost = np.array([0, smallest, smallest, smallest * 2], np.float32)
    assert left.tolist() == (lost if space == "global" else start + values).tolist()


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_halves_add_alone_and_in_pairs(kind: str, space: str) -> None:
    form = exact.F16 if kind == "f16" else exact.BF16
    random = np.random.default_rng(3)
    one = 0x3C00 if kind == "f16" else 0x3F80
    values = (random.integers(one - 900, one + 900, 64)).astype(np.uint16)

    def plus(a: int, b: int) -> int:
        return exact.encode(Fraction(exact.decode(a, form)) + Fraction(exact.decode(b, form)), form)

    for fetch in (True, False):
        found, left = _run(f"add.noftz.{kind}", space, np.zeros(3, np.uint16), values, fetch=fetch)
        state = [0, 0, 0]
        for i, value in enumerate(values.tolist()):
            assert not fetch or found[i] == state[i % 3]
            state[i % 3] = plus(state[i % 3], value)
        assert left.tolist() == state
    packed = values.astype(np.uint32) | np.roll(values, 5).astype(np.uint32) << 16
    _, both = _run(f"add.noftz.{kind}x2", space, np.zeros(3, np.uint32), packed, fetch=True)
    low, high = [0, 0, 0], [0, 0, 0]
    for i, value in enumerate(packed.tolist()):
        low[i % 3] = plus(low[i % 3], value & 0xFFFF)
        high[i % 3] = plus(high[i % 3], value >> 16)
    assert both.tolist() == [a | b << 16 for a, b in zip(low, high, strict=True)]


SOURCE = r"""
#include <cuda_fp16.h>
extern "C" __global__ void locks(unsigned short* s, unsigned* w, unsigned long long* l) {
    unsigned t = threadIdx.x;
    unsigned short mine = t % 32, next = mine + 1;
    unsigned short seen = atomicCAS(&s[t / 32], mine, next);
    atomicCAS(&w[t / 32], seen == t % 32 ? t % 32 : 99u, t % 32 + 1);
    atomicCAS(&l[t / 32], (unsigned long long)(t % 32), 1ull << 40 | (t % 32 + 1));
}
extern "C" __global__ void vectors(float4* a, float2* b, __half2* h) {
    __shared__ __half2 s;
    if (threadIdx.x == 0) s = __float2half2_rn(0.f);
    __syncthreads();
    float t = threadIdx.x;
    atomicAdd(a, make_float4(1, 2, t, 4));
    float2 before = atomicAdd(b, make_float2(1, t));
    atomicAdd(&s, __floats2half2_rn(1.f, before.x * 0 + 2.f));
    __syncthreads();
    if (threadIdx.x == 0) h[0] = s;
}
"""


def test_compare_and_swap_of_every_width(compile_ptx: CompilePtx) -> None:
    short, word, wide = np.zeros(2, np.uint16), np.zeros(2, np.uint32), np.zeros(2, np.uint64)
    run(compile_ptx(SOURCE), "locks", 1, 64, [short, word, wide])
    assert short.tolist() == [32, 32]
    assert word.tolist() == [32, 32]
    assert wide.tolist() == [1 << 40 | 1] * 2


def test_vectors_add_element_by_element(compile_ptx: CompilePtx) -> None:
    a, b, h = np.zeros(4, np.float32), np.zeros(2, np.float32), np.zeros(2, np.float16)
    run(compile_ptx(SOURCE), "vectors", 1, 64, [a, b, h])
    total = 63 * 32
    assert a.tolist() == [64, 128, total, 256]
    assert b.tolist() == [64, total]
    assert h.tolist() == [64, 128]
