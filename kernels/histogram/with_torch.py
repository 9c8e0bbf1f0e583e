"""The histogram by torch.histc, which is told the range and need not look for it."""

import torch


def histc(tensors):
    return torch.histc(tensors["input"], bins=256, min=0, max=256)
