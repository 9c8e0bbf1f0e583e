"""The same by torch's operator, into memory that is there already."""

import torch


def upsample_backward(tensors, stream, planes, h, w):
    dx, dy = tensors["dx"].view(1, planes, h, w), tensors["dy"].view(1, planes, 2 * h, 2 * w)
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        torch.ops.aten.upsample_nearest2d_backward.grad_input(
            dy, [2 * h, 2 * w], [1, planes, h, w], 2.0, 2.0, grad_input=dx
        )
