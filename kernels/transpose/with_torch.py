"""output = input transposed, by torch: a copy from a view whose strides are swapped."""

import torch


def transpose(tensors, stream, rows, cols):
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        tensors["output"].view(cols, rows).copy_(tensors["input"].view(rows, cols).t())
