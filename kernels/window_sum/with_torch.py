"""Sums over windows, for torch.compile: of a pooling so wide it makes a call of torch's own."""

import torch


def window_sum(tensors, radius):
    padded = torch.nn.functional.pad(tensors["input"], (radius, radius))
    return padded.unfold(0, 2 * radius + 1, 1).sum(1)
