"""The softmax of each row, by torch."""

import torch


def softmax(tensors, stream, rows, cols):
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        output = tensors["output"].view(rows, cols)
        torch.softmax(tensors["input"].view(rows, cols), dim=1, out=output)
