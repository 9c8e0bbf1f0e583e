"""The same by torchvision, which sorts by score and returns the numbers of the boxes kept.

As a mask they take two kernels more, of microseconds beside milliseconds. How many are kept it asks
the GPU for, and waits, as whoever calls it has to.
"""

import torch
import torchvision


def nms(tensors, n, threshold):
    boxes = tensors["boxes"].view(n, 4)
    scores = torch.arange(n, 0, -1, dtype=torch.float32, device=boxes.device)
    kept = torchvision.ops.nms(boxes, scores, threshold)
    return torch.zeros(n, dtype=torch.int32, device=boxes.device).index_fill_(0, kept, 1)
