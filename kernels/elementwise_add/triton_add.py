"""output[i] = a[i] + b[i], float32, float16 or bfloat16, in Triton.

Idea: v3_packs_in_flight with one program per tile. The compiler chooses how a tile is distributed
across threads, how wide the accesses are, and how many are in flight.

Contract: any n of at least 1; `tile` is a power of two.

From: the vector addition in the Triton tutorials.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_tile(a, b, output, n, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < n
    total = tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside)
    tl.store(output + at, total, mask=inside)


def add(tensors, stream, n, tile):
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        grid = (triton.cdiv(n, tile),)
        add_tile[grid](tensors["a"], tensors["b"], tensors["output"], n, TILE=tile, num_warps=8)
