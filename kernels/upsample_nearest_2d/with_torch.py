"""Upsampling with torch's operator."""

import torch


def upsample(tensors, planes, h, w):
    x = tensors["x"].view(1, planes, h, w)
    return torch.nn.functional.interpolate(x, scale_factor=2, mode="nearest")
