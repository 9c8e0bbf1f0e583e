"""Suppression by torchvision, which sorts by score and returns the indices of the boxes kept.

Two more kernels turn them into a mask; they take microseconds, and the rest takes milliseconds.
torchvision asks the GPU how many are kept and waits for the answer, as all its callers must.
"""

import torch
import torchvision


def nms(tensors, n, threshold):
    boxes = tensors["boxes"].view(n, 4)
    scores = torch.arange(n, 0, -1, dtype=torch.float32, device=boxes.device)
    kept = torchvision.ops.nms(boxes, scores, threshold)
    return torch.zeros(n, dtype=torch.int32, device=boxes.device).index_fill_(0, kept, 1)
