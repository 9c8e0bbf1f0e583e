"""c = a b by cuBLAS through torch, which passes on each layout instead of copying the matrix."""

import torch


def matmul(tensors, m, n, k, a_by, b_by):
    a, b = tensors["a"], tensors["b"]
    a = a.view(k, m).t() if a_by == 2 else a.view(m, k)
    b = b.view(n, k).t() if b_by == 2 else b.view(k, n)
    return torch.matmul(a, b)
