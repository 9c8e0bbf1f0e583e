"""c = a bᵀ by cuBLAS through torch, as a linear layer without a bias calls it."""

import torch


def linear(tensors, m, n, k):
    return torch.nn.functional.linear(tensors["a"].view(m, k), tensors["b"].view(n, k))
