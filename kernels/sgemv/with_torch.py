"""y = a x: by cuBLAS through torch, and as sums of products for torch.compile."""

import torch


def multiply(tensors, m, k):
    return torch.mv(tensors["a"].view(m, k), tensors["x"])


def sums_of_products(tensors, m, k):
    return (tensors["a"].view(m, k) * tensors["x"]).sum(1)
