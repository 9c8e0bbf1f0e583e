"""output[0] = sum of input[0 .. n), float32, in Triton.

Idea: v9_vectorized with programs that work on whole tiles. A fixed number of programs walk over the
tiles. Each adds up its tiles lane by lane, and then the lanes. A second launch of one program adds
up the partial sums in the order of their indices, so that the same input gives the same bits. The
compiler chooses how a tile is distributed across threads and how wide the loads are.

Contract: any 1 <= n <= 2^31 - blocks * tile; `tile` is a power of two; partials holds `blocks`.

From: the vector addition and the fused softmax in the Triton tutorials.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def block_sums(values, partials, n, TILE: tl.constexpr):
    block = tl.program_id(0)
    lanes = tl.arange(0, TILE)
    sums = tl.zeros((TILE,), tl.float32)
    for start in range(block * TILE, n, tl.num_programs(0) * TILE):
        at = start + lanes
        sums += tl.load(values + at, mask=at < n, other=0.0)
    tl.store(partials + block, tl.sum(sums, axis=0))


@triton.jit
def sum_partials(partials, output, count, WIDTH: tl.constexpr):
    lanes = tl.arange(0, WIDTH)
    values = tl.load(partials + lanes, mask=lanes < count, other=0.0)
    tl.store(output, tl.sum(values, axis=0))


def sum_in_two_passes(tensors, stream, n, blocks, tile):
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        block_sums[(blocks,)](tensors["input"], tensors["partials"], n, TILE=tile, num_warps=8)
        width = triton.next_power_of_2(blocks)
        sum_partials[(1,)](tensors["partials"], tensors["output"], blocks, WIDTH=width)
