"""The places of a tensor map's fields in the 128 bytes of `machine/memory/tensors/tensor_map.h`."""

from __future__ import annotations

from typing import NamedTuple

BYTES, ADDRESS_AT = 128, 8


class Replaced(NamedTuple):
    """A field that `tensormap.replace` sets: its place, its size, the number of elements, and the
    offset added to the PTX value."""

    at: int
    size: int
    most: int = 1
    plus: int = 0


REPLACED = {
    "global_address": Replaced(ADDRESS_AT, 8), "rank": Replaced(4, 4, plus=1),
    "global_stride": Replaced(16, 8, 4), "global_dim": Replaced(48, 4, 5, plus=-1),
    "box_dim": Replaced(68, 4, 5), "element_stride": Replaced(88, 4, 5),
    "elemtype": Replaced(120, 4), "interleave_layout": Replaced(124, 4),
    "swizzle_mode": Replaced(124, 4), "fill_mode": Replaced(124, 4),
}  # fmt: skip
