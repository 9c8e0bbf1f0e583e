"""Record the driver's 128-byte tensor maps, with their inputs, as CSV.

    python scripts/tensor_maps/on_gpu.py > maps.csv

NVIDIA does not document these bytes. Each of the first maps differs from another in one number, by
a single bit if possible, so that the position of each number can be found. The last maps are
random, so that the findings can be tested. The driver's verdict is compared with the rules of
`harness/silicon/tensor_maps.py`: the exit code is 1 if the driver accepts a map that the rules
reject, or rejects one that they accept. Nothing is launched or timed.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import NamedTuple, TextIO

from harness.backends import open_backend
from harness.backends.cuda import tensor_maps
from harness.silicon.tensor_maps import (
    ELEMENTS,
    FILLS,
    FLOATS,
    L2_PROMOTIONS,
    MOST_BOX,
    MOST_RANK,
    MOST_STEP,
    SWIZZLES,
    TensorLayout,
)

ADDRESS = 1 << 40
_COLUMNS = tuple(f.name for f in fields(TensorLayout) if f.name not in ("lower", "upper"))
_DRAWN, _SEED = 100, 39


class Asked(NamedTuple):
    """A map to encode, and its tensor's address."""

    layout: TensorLayout
    address: int = ADDRESS

    @property
    def refused(self) -> str:
        """The reason why the harness's rules reject the map; empty if they accept it."""
        if why := self.layout.refused():
            return why
        unit = 32 if self.layout.interleave == "32B" else 16
        return f"the tensor begins at no multiple of {unit}" if self.address % unit else ""


def every() -> list[Asked]:
    """All distinct maps."""
    first = [_first(rank) for rank in range(1, MOST_RANK + 1)]
    found = [each for layout in first for each in _choices(layout)]
    return list(dict.fromkeys([*found, *_bits(first[-1]), *_refused(), *_drawn()]))


def _first(rank: int) -> TensorLayout:
    strides = tuple(256 << 8 * n for n in range(rank - 1))
    box = (16, *(4,) * (rank - 1))  # small, because drivers reject boxes larger than shared memory
    return TensorLayout("u8", (64,) * rank, box, strides, (1,) * rank)


def _choices(first: TensorLayout) -> Iterator[Asked]:
    """Yield the map, and the maps that differ from it in one setting."""
    yield Asked(first)
    choices = {"element": ELEMENTS, "swizzle": SWIZZLES, "l2": L2_PROMOTIONS}
    for key, known in choices.items():
        yield from (Asked(replace(first, **{key: each})) for each in known)  # type: ignore[arg-type]
    yield Asked(replace(first, element="f32", fill="nan"))
    if first.rank >= 3:
        yield Asked(replace(first, interleave="16B"))
        yield Asked(replace(first, interleave="32B", swizzle="32B"))


def _bits(first: TensorLayout) -> Iterator[Asked]:
    """Maps that differ from the given one in one number."""
    for bit in range(4, 47):
        yield Asked(first, 1 << bit)
    bits = {
        "shape": [1 << bit for bit in range(33)], "strides": [1 << bit for bit in range(4, 40)],
        "box": [1 << bit for bit in range(9)], "steps": range(1, MOST_STEP + 1),
    }  # fmt: skip
    for key, numbers in bits.items():
        for place, _ in enumerate(getattr(first, key)):
            for number in numbers:
                row: list[int] = list(getattr(first, key))
                row[place] = number
                yield Asked(replace(first, **{key: tuple(row)}))  # type: ignore[arg-type]


def _refused() -> Iterator[Asked]:
    """Maps that only just break one of the rules."""
    first = _first(2)
    for changes in (
        {"box": (16, 0)}, {"box": (16, 257)}, {"box": (24, 16)}, {"shape": (64, 0)},
        {"shape": (64, (1 << 32) + 1)}, {"strides": (264,)}, {"strides": (0,)},
        {"strides": (1 << 40,)}, {"steps": (1, 0)}, {"steps": (1, 9)}, {"fill": "nan"},
        {"interleave": "16B"}, {"swizzle": "32B", "box": (48, 16)},
        {"swizzle": "64B", "box": (80, 16)}, {"swizzle": "128B", "box": (144, 16)},
        {"strides": (48,)}, {"box": (256, 256)},
    ):  # fmt: skip
        yield Asked(replace(first, **changes))  # type: ignore[arg-type]
    yield Asked(first, ADDRESS + 8)
    yield Asked(replace(_first(3), interleave="32B"))
    yield Asked(replace(_first(3), interleave="32B", swizzle="32B"), ADDRESS + 16)


def _drawn() -> Iterator[Asked]:
    """Random maps that the harness's rules accept."""
    random_ = random.Random(_SEED)
    count = 0
    while count < _DRAWN:
        rank, element = random_.randint(1, MOST_RANK), random_.choice(list(ELEMENTS))
        layout = TensorLayout(
            element,
            tuple(random_.randint(1, 1 << random_.randint(1, 20)) for _ in range(rank)),
            tuple(1 << random_.randint(0, MOST_BOX.bit_length() - 1) for _ in range(rank)),
            tuple(16 * random_.randint(1, 1 << random_.randint(1, 30)) for _ in range(rank - 1)),
            tuple(random_.randint(1, MOST_STEP) for _ in range(rank)),
            random_.choice(list(SWIZZLES)),
            fill=random_.choice(FILLS) if element in FLOATS else "zero",
            l2=random_.choice(L2_PROMOTIONS),
        )
        if not layout.refused():
            count += 1
            yield Asked(layout, 16 * random_.randint(1, 1 << 42))


def write(maps: list[Asked], to: TextIO) -> list[Asked]:
    """Encode the maps; return those on which the driver and the harness's rules disagree."""
    out = csv.writer(to, lineterminator="\n")
    out.writerow([*_COLUMNS, "address", "refused", "status", "bytes"])
    differ = []
    for each in maps:
        status, found = tensor_maps.encode(each.layout, each.address)
        values = (getattr(each.layout, name) for name in _COLUMNS)
        said = [" ".join(map(str, v)) if isinstance(v, tuple) else v for v in values]
        out.writerow([*said, each.address, each.refused, status, "" if status else found.hex()])
        if bool(status) != bool(each.refused):
            differ.append(each)
    return differ


def main() -> int:
    """Encode the list in a context of the first GPU."""
    backend = open_backend("cuda", None)
    try:
        maps = every()
        differ = write(maps, sys.stdout)
    finally:
        backend.close()
    print(f"{len(maps)} maps; the driver and our rules differ on {len(differ)}", file=sys.stderr)
    for each in differ:
        print(f"  {each.refused or 'refused by the driver alone'}: {each}", file=sys.stderr)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
