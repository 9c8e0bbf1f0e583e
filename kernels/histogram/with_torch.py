"""The histogram by torch.histc, which is told the range and need not look for it."""

import torch


def histc(tensors, stream):
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        torch.histc(tensors["input"], bins=256, min=0, max=256, out=tensors["output"])
