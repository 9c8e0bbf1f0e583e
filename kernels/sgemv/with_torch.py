"""y = a x by cuBLAS through torch."""

import torch


def multiply(tensors, stream, m, k):
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        torch.mv(tensors["a"].view(m, k), tensors["x"], out=tensors["y"])
