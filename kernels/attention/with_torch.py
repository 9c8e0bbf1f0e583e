"""Attention with torch: with the back end that torch chooses, and with each back end by name.

In float32, torch chooses the memory-efficient back end, which multiplies on tensor cores. It
computes each product as three TF32 products, which keep all but the last bits of a factor. On an
H200 at 64 heads of 4096, ncu counts 403.7 million tensor instructions, 3.008 times as many as one
TF32 product per pair would take. This back end's roof is therefore a third of the TF32 roof, not
the float32 roof.
"""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from harness.errors import NotInstalled

NONE = "No available kernel", "No viable backend"


def attention(tensors, heads, n, d, mask):
    torch.backends.cuda.matmul.allow_tf32 = False
    q, k, v = (tensors[name].view(1, heads, n, d) for name in "qkv")
    return scaled_dot_product_attention(q, k, v, is_causal=mask == 2)


def by(backend, tensors, heads, n, d, mask):
    try:
        with sdpa_kernel(backend):
            return attention(tensors, heads, n, d, mask)
    except RuntimeError as error:
        if not any(words in str(error) for words in NONE):
            raise
        raise NotInstalled(f"torch has no {backend.name} for this card and these sizes") from None


def cudnn(tensors, heads, n, d, mask):
    return by(SDPBackend.CUDNN_ATTENTION, tensors, heads, n, d, mask)


def flash(tensors, heads, n, d, mask):
    return by(SDPBackend.FLASH_ATTENTION, tensors, heads, n, d, mask)


def efficient(tensors, heads, n, d, mask):
    return by(SDPBackend.EFFICIENT_ATTENTION, tensors, heads, n, d, mask)


def math(tensors, heads, n, d, mask):
    return by(SDPBackend.MATH, tensors, heads, n, d, mask)
