"""Which words of an access nothing has written, for memories that keep a mark per unit of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Unwritten:
    """A word of which some lanes find no part written.

    first: its first unit, of each lane. unknown: those lanes. begins: the lanes that find the
    first word of the access written.
    """

    word: int
    first: Array
    unknown: Array
    begins: Array


def unwritten_words(written: Array, index: Array, units: int, count: int) -> Iterator[Unwritten]:
    """Of `count` words of so many units, from `index` on.

    A word of which a part is written counts as written.
    """
    for word in range(count):
        first = index + word * units
        known = written[first] != 0
        for unit in range(1, units):
            if known.all():
                break
            known |= written[first + unit] != 0
        if word == 0:
            begins = known
        if not known.all():
            yield Unwritten(word, first, ~known, begins)
