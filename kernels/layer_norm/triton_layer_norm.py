"""output[r][c] = (input[r][c] − mean) / √(variance + ε) · gamma[c] + beta[c], in Triton.

Idea: v3_in_registers with one program per row. The row is one block of values, loaded once; the
compiler decides how it is distributed across threads and how wide the loads are.

Contract: rows and cols of at least 1, whose product is at most 2^31; a row fits into the registers
of one program; any of the problem's types.

From: the layer normalization of the Triton tutorials.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_row(values, gamma, beta, output, epsilon, cols, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, WIDTH)
    here = lanes < cols
    x = tl.load(values + row * cols + lanes, mask=here, other=0.0).to(tl.float32)
    d = tl.where(here, x - tl.sum(x, axis=0) / cols, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(d * d, axis=0) / cols + epsilon)
    g = tl.load(gamma + lanes, mask=here, other=0.0).to(tl.float32)
    b = tl.load(beta + lanes, mask=here, other=0.0).to(tl.float32)
    tl.store(output + row * cols + lanes, d * scale * g + b, mask=here)


def layer_norm(tensors, stream, rows, cols, epsilon):
    width = triton.next_power_of_2(cols)
    warps = min(max(width // 512, 1), 16)
    buffers = (tensors[name] for name in ("input", "gamma", "beta", "output"))
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        layer_norm_row[(rows,)](*buffers, epsilon, cols, WIDTH=width, num_warps=warps)
