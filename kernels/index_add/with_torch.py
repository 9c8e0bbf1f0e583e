"""The rows added up by an index, by torch."""

import torch


def index_add(tensors, stream, rows, cols, targets):
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
        output = tensors["output"].view(targets, cols)
        output.zero_().index_add_(0, tensors["index"], tensors["source"].view(rows, cols))
