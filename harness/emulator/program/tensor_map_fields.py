"""The positions of a tensor map's fields in its 128 bytes.

NVIDIA does not document them. They are taken from the code that ptxas generates for
`tensormap.replace`, which agrees with the maps that a driver encodes (`memory/tensor_maps.py`).
"""

from __future__ import annotations

from typing import NamedTuple

BYTES, ADDRESS_AT = 128, 0
MODES_AT, STRIDES_AT, HIGH_STRIDES_AT, SIZES_AT, STEPS_AT, BOX_AT = 8, 12, 28, 32, 52, 56
_WORD = 32


class Part(NamedTuple):
    """A bit field in a word: the word's position, the field's lowest bit and its number of bits.
    The field holds the bits of a value from bit `of` upwards.
    """

    at: int
    low: int = 0
    bits: int = _WORD
    of: int = 0


class Replaced(NamedTuple):
    """A field that `tensormap.replace` sets: the size of its value in bytes, its number of
    elements, and the offset added to the PTX value.
    """

    size: int = 4
    most: int = 1
    plus: int = 0


REPLACED = {
    "global_address": Replaced(8), "rank": Replaced(), "global_stride": Replaced(8, 4),
    "global_dim": Replaced(4, 5, -1), "box_dim": Replaced(4, 5, -1),
    "element_stride": Replaced(4, 5, -1), "elemtype": Replaced(), "interleave_layout": Replaced(),
    "swizzle_mode": Replaced(), "fill_mode": Replaced(),
}  # fmt: skip
TF32 = Part(MODES_AT, 16, 1)
"""The bit that is set if floats are rounded to TF32."""
_OTHER_SWIZZLES = Part(MODES_AT, 22, 1)
"""A bit of later architectures, which ptxas clears together with the swizzle."""
_ONE = {
    "global_address": (Part(ADDRESS_AT), Part(ADDRESS_AT + 4, of=_WORD)),
    "rank": (Part(MODES_AT, 4, 3),), "elemtype": (Part(MODES_AT, 7, 4),),
    "interleave_layout": (Part(MODES_AT, 11, 2),), "fill_mode": (Part(MODES_AT, 15, 1),),
    "swizzle_mode": (Part(MODES_AT, 13, 2), _OTHER_SWIZZLES._replace(of=2)),
}  # fmt: skip


def parts(field: str, number: int) -> tuple[Part, ...]:
    """The position of a field, or of one of its elements."""
    if field == "global_dim":
        return (Part(SIZES_AT + 4 * number),)
    if field == "global_stride":  # in units of 16 bytes
        low = Part(STRIDES_AT + 4 * number, of=4)
        return low, Part(HIGH_STRIDES_AT, 4 * number, 4, 4 + _WORD)
    if field == "box_dim":
        return (Part(BOX_AT, 8 * (number - 1), 8) if number else Part(STEPS_AT, 24, 8),)
    if field == "element_stride":
        return (Part(STEPS_AT, 3 * number, 3),)
    return _ONE[field]
