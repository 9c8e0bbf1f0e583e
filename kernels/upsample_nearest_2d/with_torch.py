"""The same by torch's operator, into memory that is there already."""

import torch


def upsample(tensors, stream, planes, h, w):
    x, y = tensors["x"].view(1, planes, h, w), tensors["y"].view(1, planes, 2 * h, 2 * w)
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        torch.ops.aten.upsample_nearest2d.out(x, [2 * h, 2 * w], 2.0, 2.0, out=y)
