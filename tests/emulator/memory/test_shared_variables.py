"""A position in memory is described by the variable, array element or member at that position."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.emulator.memory.address_space import AddressSpace
from harness.emulator.memory.shared_variables import SharedVariables, source_name


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("tile", "tile"), ("_ZZ1kE4tile", "tile"), ("_ZZ1kE4tile_0", "tile"),
        ("_ZZN2ns3sumIfEEvPT_E4part", "part"), ("_ZZ1kE8fooE3buf", "fooE3buf"),
        ("_ZN2ns5tableE", "table"), ("_ZL5table", "table"), ("helper:_ZZ6helperE3buf", "buf"),
        ("_ZZstrange", "_ZZstrange"),
    ],
)  # fmt: skip
def test_a_variable_has_the_name_of_the_source(symbol: str, name: str) -> None:
    assert source_name(symbol) == name


def test_arrays_that_begin_at_the_same_place_are_not_told_apart() -> None:
    both = SharedVariables({"a": 0, "b": 0})
    assert both.at(4) == "offset 4 of shared memory"
    assert replace(both, of_lines={7: "b"}).at(4, 7) == "offset 4 of shared memory (in `b`)"


def test_a_member_is_named_from_the_outermost_one_in() -> None:
    inner = np.dtype([("x", "f4"), ("y", "f4")], align=True)
    outer = np.dtype([("tag", "i1"), ("at", inner, (2, 3))], align=True)
    memory = AddressSpace()
    buffer = memory.add("`p`", np.zeros(2 * outer.itemsize, np.uint8), element=outer)
    at = outer.itemsize + outer.fields["at"][1] + 4 * inner.itemsize + 4
    assert buffer.position(at) == f"offset {at} of `p` ([1].at[1][1].y)"
    assert buffer.position(1) == "offset 1 of `p` ([0])"
    assert memory.copied().allocations[0].position(1) == buffer.position(1)
