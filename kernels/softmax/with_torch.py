"""The softmax of one long vector as reductions over all of it.

torch.softmax gives a row to a block, and here there is one row. Who has such a vector writes this,
as it stands or compiled.
"""

import torch


def softmax(tensors):
    values = tensors["input"]
    exponentials = torch.exp(values - values.amax())
    return exponentials / exponentials.sum()
