"""The rules for tensor maps accept and reject the same maps as an H100's driver."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from harness.silicon.tensor_maps import TensorLayout

REPORTS = Path(__file__).parents[2] / "reports" / "h100"
_TUPLES = ("shape", "box", "strides", "steps")


def layout_of(row: dict[str, str]) -> TensorLayout:
    numbers = {key: tuple(map(int, row[key].split())) for key in _TUPLES}
    words = {key: row[key] for key in ("element", "swizzle", "interleave", "fill", "l2")}
    return TensorLayout(**words, **numbers)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdicts", "accepted", "refused"),
    [("tensor_maps.csv.gz", 201, 442), ("tensor_maps_small_boxes.csv.gz", 619, 24)],
)
def test_a_map_is_accepted_exactly_where_a_driver_accepted_it(
    verdicts: str, accepted: int, refused: int
) -> None:
    with gzip.open(REPORTS / verdicts, "rt") as lines:
        rows = list(csv.DictReader(lines))
    unit = {"32B": 32}
    ours, drivers = [], []
    for row in rows:
        misplaced = int(row["address"]) % unit.get(row["interleave"], 16)
        ours.append(not (layout_of(row).refused() or misplaced))
        drivers.append(row["status"] == "0")
    differ = [row for row, a, b in zip(rows, ours, drivers, strict=True) if a != b]
    assert differ == []
    assert drivers.count(True) == accepted
    assert drivers.count(False) == refused
