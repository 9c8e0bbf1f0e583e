"""The gradient with torch's operator, and written as sums for torch.compile."""

import torch


def upsample_backward(tensors, planes, h, w):
    dy = tensors["dy"].view(1, planes, 2 * h, 2 * w)
    return torch.ops.aten.upsample_nearest2d_backward(
        dy, [2 * h, 2 * w], [1, planes, h, w], 2.0, 2.0
    )


def sums_of_pixels(tensors, planes, h, w):
    return tensors["dy"].view(planes, h, 2, w, 2).sum((2, 4))
