"""Kernels like those in Triton's tutorials; the tests execute the PTX that `make_ptx.py` compiles
them to."""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + c, mask=c < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + c, powers / tl.sum(powers, axis=0), mask=c < columns)


@triton.jit
def layer_norm(x, weight, bias, out, columns, eps, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    there = c < columns
    values = tl.load(x + row * columns + c, mask=there, other=0.0).to(tl.float32)
    apart = tl.where(there, values - tl.sum(values, 0) / columns, 0.0)
    scale = tl.rsqrt(tl.sum(apart * apart, 0) / columns + eps)
    shifted = apart * scale * tl.load(weight + c, mask=there) + tl.load(bias + c, mask=there)
    tl.store(out + row * columns + c, shifted, mask=there)


@triton.jit
def dropout(x, out, n, share, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, i) > share
    values = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(kept, values / (1 - share), 0.0), mask=i < n)


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + i, mask=i < n, other=0), 64)
    tl.atomic_add(out + tl.arange(0, 64), counts)


@triton.jit
def _sum(a, b):
    return a + b


@triton.jit
def scan(x, out, columns, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + c, mask=c < columns, other=0.0)
    tl.store(out + row * columns + c, tl.associative_scan(values, 0, _sum), mask=c < columns)


@triton.jit
def sort(x, out, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(out + c, tl.sort(tl.load(x + c)))


@triton.jit
def matmul(
    a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, A_T: tl.constexpr,
    B_T: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    sums = tl.zeros((M, N), tl.float32)
    for first in range(0, k, K):
        d = depth + first
        from_a = a + (d[None, :] * m + rows[:, None] if A_T else rows[:, None] * k + d[None, :])
        across = columns[None, :]
        from_b = b + (across * k + d[:, None] if B_T else d[:, None] * n + across)
        sums = tl.dot(tl.load(from_a), tl.load(from_b), sums)
    tl.store(c + rows[:, None] * n + columns[None, :], sums)


@triton.jit
def attention(q, k, v, out, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    queries = tl.load(q + rows[:, None] * D + d[None, :])
    most = tl.full((M,), -float("inf"), tl.float32)
    total, sums = tl.zeros((M,), tl.float32), tl.zeros((M, D), tl.float32)
    for first in range(0, n, N):
        columns = first + tl.arange(0, N)
        scores = tl.dot(queries, tl.load(k + columns[None, :] * D + d[:, None])) * scale
        now = tl.maximum(most, tl.max(scores, 1))
        powers, shrinks = tl.exp(scores - now[:, None]), tl.exp(most - now)
        total = total * shrinks + tl.sum(powers, 1)
        values = tl.load(v + columns[:, None] * D + d[None, :])
        sums = sums * shrinks[:, None] + tl.dot(powers.to(tl.float16), values)
        most = now
    tl.store(out + rows[:, None] * D + d[None, :], sums / total[:, None])


@triton.jit
def specialized_matmul(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    sums = tl.zeros((M, N), tl.float32)
    for first in tl.range(0, k, K, warp_specialize=True):
        sums = tl.dot(a.load([row, first]), b.load([column, first]).T, sums)
    c.store([row, column], sums.to(tl.float16))


@triton.jit
def specialized_attention(
    q, k, v, out, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr
):
    row = tl.program_id(0) * M
    queries = q.load([row, 0])
    most = tl.full((M,), -float("inf"), tl.float32)
    total, sums = tl.zeros((M,), tl.float32), tl.zeros((M, D), tl.float32)
    for first in tl.range(0, n, N, warp_specialize=True):
        scores = tl.dot(queries, k.load([first, 0]).T) * scale
        now = tl.maximum(most, tl.max(scores, 1))
        powers, shrinks = tl.exp(scores - now[:, None]), tl.exp(most - now)
        total = total * shrinks + tl.sum(powers, 1)
        sums = tl.dot(powers.to(tl.float16), v.load([first, 0]), sums * shrinks[:, None])
        most = now
    out.store([row, 0], (sums / total[:, None]).to(tl.float16))


class Kernel(NamedTuple):
    """A kernel to compile: its function, its parameters' types, its constants and warps."""

    function: Any
    types: str
    constants: dict[str, int]
    warps: int = 4


def _matmul(type_: str, m: int = 64, n: int = 64, k: int = 32, at: int = 0, bt: int = 0) -> Kernel:
    types = f"*{type_} *{type_} *fp32 i32 i32 i32"
    return Kernel(matmul, types, {"M": m, "N": n, "K": k, "A_T": at, "B_T": bt}, 8 if m > 64 else 4)


_BOX, _TALL = "tensordesc<fp16[64,64]>", "tensordesc<fp16[128,64]>"
_WIDE = "tensordesc<fp16[64,128]>"
KERNELS = {
    "add": Kernel(add, "*fp32 *fp32 *fp32 i32", {"BLOCK": 1024}),
    "softmax": Kernel(softmax, "*fp32 *fp32 i32", {"BLOCK": 1024}),
    "layer_norm": Kernel(layer_norm, "*fp16 *fp32 *fp32 *fp16 i32 fp32", {"BLOCK": 1024}),
    "dropout": Kernel(dropout, "*fp32 *fp32 i32 fp32 i32", {"BLOCK": 512}),
    "histogram": Kernel(histogram, "*i32 *i32 i32", {"BLOCK": 512}),
    "scan": Kernel(scan, "*fp32 *fp32 i32", {"BLOCK": 512}),
    "sort": Kernel(sort, "*i32 *i32", {"BLOCK": 256}),
    "attention": Kernel(attention, "*fp16 *fp16 *fp16 *fp16 i32 fp32", {"M": 64, "N": 64, "D": 64}),
    "matmul_fp16": _matmul("fp16"),
    "matmul_fp16_at": _matmul("fp16", at=1),
    "matmul_fp16_bt": _matmul("fp16", bt=1),
    "matmul_fp16_at_bt": _matmul("fp16", at=1, bt=1),
    "matmul_fp16_wide": _matmul("fp16", m=128, n=256, k=64),
    "matmul_fp16_narrow": _matmul("fp16", n=16, k=16),
    "matmul_bf16": _matmul("bf16", k=64),
    "matmul_fp32": _matmul("fp32", bt=1),
    "matmul_fp8e4nv": _matmul("fp8e4nv"),
    "matmul_fp8e5": _matmul("fp8e5", bt=1),
    "specialized_matmul": Kernel(
        specialized_matmul, f"{_BOX} {_TALL} {_WIDE} i32", {"M": 64, "N": 128, "K": 64}
    ),
    "specialized_attention": Kernel(
        specialized_attention, f"{_BOX} {_BOX} {_BOX} {_BOX} i32 fp32", {"M": 64, "N": 64, "D": 64}
    ),
}
