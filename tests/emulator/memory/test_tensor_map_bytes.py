"""The bytes of tensor maps are those that a driver encodes."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from harness.emulator.memory.tensor_maps import encoded
from harness.silicon.tensor_maps import TensorLayout

REPORTS = Path(__file__).parents[3] / "reports" / "h100"


@pytest.mark.parametrize(
    ("name", "count"), [("tensor_maps.csv.gz", 201), ("tensor_maps_small_boxes.csv.gz", 619)]
)
def test_a_map_has_the_bytes_that_an_h100s_driver_encodes(name: str, count: int) -> None:
    with gzip.open(REPORTS / name, "rt") as lines:
        rows = [row for row in csv.DictReader(lines) if row["status"] == "0"]
    assert len(rows) == count
    for row in rows:
        lists = {
            key: tuple(map(int, row[key].split())) for key in ("shape", "box", "strides", "steps")
        }
        words = {key: row[key] for key in ("element", "swizzle", "interleave", "fill", "l2")}
        layout = TensorLayout(**words, **lists)  # type: ignore[arg-type]
        assert encoded(layout, int(row["address"])).hex() == row["bytes"], row
