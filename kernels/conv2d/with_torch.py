"""Convolution with torch, which calls cuDNN, in float32 without rounding the factors to TF32.

cuDNN's heuristics choose the algorithm. For a given card, size and release, every process gets the
same one. `benchmark` would try the algorithms in the first call, and chance would decide between
two of similar speed: one process timed a 171 µs algorithm, and the next profiled a 250 µs one.
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
    """Run on images in the channels-last layout: the channels of a pixel are contiguous, in y as
    well."""
    x = tensors["x_channels_last"].view(n, h, w, c).permute(0, 3, 1, 2)
    weights = tensors["weights_channels_last"].view(out, k, k, c).permute(0, 3, 1, 2)
    return convolution(x, weights, pad)
