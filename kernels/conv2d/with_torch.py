"""The same by torch, which calls cuDNN; in float32, without rounding the factors to TF32.

cuDNN's heuristics choose the algorithm: the same for the same card, sizes and release, in every
process. With `benchmark`, which tries them in the first call, chance chooses where two are alike:
one process timed an algorithm of 171 µs, and the next one profiled one of 250.
"""

import torch


def convolution(x, weights, pad):
    return torch.ops.aten.cudnn_convolution(
        x, weights, [pad, pad], [1, 1], [1, 1], 1,
        benchmark=False, deterministic=False, allow_tf32=False,
    )  # fmt: skip


def conv2d(tensors, n, c, h, w, out, k, pad):
    x, weights = tensors["x"].view(n, c, h, w), tensors["weights"].view(out, c, k, k)
    return convolution(x, weights, pad)


def channels_last(tensors, n, c, h, w, out, k, pad):
    """Images as those have them who use it: the channels of a pixel side by side, y's too."""
    x = tensors["x_channels_last"].view(n, h, w, c).permute(0, 3, 1, 2)
    weights = tensors["weights_channels_last"].view(out, k, k, c).permute(0, 3, 1, 2)
    return convolution(x, weights, pad)
