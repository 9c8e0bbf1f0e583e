"""Attention of a single token with torch: the back end it chooses, and each back end by name.

Models call torch's attention with its flag for groups of heads. The `packed` functions pass a
group's queries as the rows of one head instead. Without a mask the result is the same, and back
ends that lack the flag also read a cache only once.

`flex` is FlexAttention, which torch.compile turns into its kernel for few queries, with the cache
split into parts.
"""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import flex_attention
from torch.nn.functional import scaled_dot_product_attention

from harness.errors import NotInstalled

NONE = "No available kernel", "No viable backend"


def shaped(tensors, batch, heads, kv_heads, n, d):
    k, v = (tensors[name].view(batch, kv_heads, n, d) for name in "kv")
    return tensors["q"].view(batch, heads, 1, d), k, v


def attention(tensors, batch, heads, kv_heads, n, d):
    torch.backends.cuda.matmul.allow_tf32 = False
    q, k, v = shaped(tensors, batch, heads, kv_heads, n, d)
    return scaled_dot_product_attention(q, k, v, enable_gqa=heads != kv_heads)


def packed(tensors, batch, heads, kv_heads, n, d):
    torch.backends.cuda.matmul.allow_tf32 = False
    q, k, v = shaped(tensors, batch, heads, kv_heads, n, d)
    return scaled_dot_product_attention(q.view(batch, kv_heads, heads // kv_heads, d), k, v)


def flex(tensors, batch, heads, kv_heads, n, d):
    q, k, v = shaped(tensors, batch, heads, kv_heads, n, d)
    return flex_attention(q, k, v, enable_gqa=heads != kv_heads)


def by(backend, call, *arguments):
    try:
        with sdpa_kernel(backend):
            return call(*arguments)
    except RuntimeError as error:
        if not any(words in str(error) for words in NONE):
            raise
        raise NotInstalled(f"torch has no {backend.name} for this card and these sizes") from None


def cudnn(tensors, batch, heads, kv_heads, n, d):
    return by(SDPBackend.CUDNN_ATTENTION, attention, tensors, batch, heads, kv_heads, n, d)


def flash(tensors, batch, heads, kv_heads, n, d):
    return by(SDPBackend.FLASH_ATTENTION, attention, tensors, batch, heads, kv_heads, n, d)


def packed_cudnn(tensors, batch, heads, kv_heads, n, d):
    return by(SDPBackend.CUDNN_ATTENTION, packed, tensors, batch, heads, kv_heads, n, d)


def packed_flash(tensors, batch, heads, kv_heads, n, d):
    return by(SDPBackend.FLASH_ATTENTION, packed, tensors, batch, heads, kv_heads, n, d)


def packed_efficient(tensors, batch, heads, kv_heads, n, d):
    return by(SDPBackend.EFFICIENT_ATTENTION, packed, tensors, batch, heads, kv_heads, n, d)
