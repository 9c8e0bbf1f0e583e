"""The histogram by torch.histc, which is given the range and need not search for it."""

import torch


def histc(tensors):
    return torch.histc(tensors["input"], bins=256, min=0, max=256)
