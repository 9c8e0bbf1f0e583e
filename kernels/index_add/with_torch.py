"""Rows added by index, with torch: with atomic additions, and in segments."""

import torch


def index_add(tensors, rows, cols, targets):
    source = tensors["source"].view(rows, cols)
    return source.new_zeros(targets, cols).index_add_(0, tensors["index"], source)


def segments(tensors, rows, cols, targets):
    """Sum without atomics: sort the rows by target, then sum each segment."""
    index, order = torch.sort(tensors["index"])
    ends = torch.searchsorted(index, torch.arange(targets + 1, device=index.device))
    rows_in_order = tensors["source"].view(rows, cols)[order]
    return torch.segment_reduce(rows_in_order, "sum", offsets=ends, axis=0, unsafe=True, initial=0)
