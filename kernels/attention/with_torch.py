"""The same by torch, which chooses a fused kernel where it has one for the type."""

import torch


def attention(tensors, stream, heads, n, d):
    torch.backends.cuda.matmul.allow_tf32 = False
    q, k, v, o = (tensors[name].view(1, heads, n, d) for name in "qkvo")
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        # It has no `out`; the copy is 2 % of the bytes that the computation asks for.
        o.copy_(torch.nn.functional.scaled_dot_product_attention(q, k, v))
