"""output[r][c] = softmax of row r of input, float32, in Triton.

Idea: v4_row_in_shared with one program per row. The row is one block of values, loaded once; the
compiler decides where it is kept and how wide the loads are.

Contract: rows and cols of at least 1, whose product is at most 2^31; a row fits into the registers
of one program.

From: the fused softmax in the Triton tutorials.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_row(values, output, cols, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, WIDTH)
    x = tl.load(values + row * cols + lanes, mask=lanes < cols, other=float("-inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(output + row * cols + lanes, e / tl.sum(e, axis=0), mask=lanes < cols)


def softmax(tensors, stream, rows, cols):
    width = triton.next_power_of_2(cols)
    warps = min(max(width // 512, 1), 16)
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        softmax_row[(rows,)](
            tensors["input"], tensors["output"], cols, WIDTH=width, num_warps=warps
        )
