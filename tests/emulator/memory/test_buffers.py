"""Buffers that only pointers in memory refer to, and the addresses of buffers and variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator_tools import CompilePtx

from harness import emulator
from harness.emulator import LaunchError, Module, launch

SOURCE = """
__constant__ float scale = 2;
__device__ int launches;
extern "C" __global__ void follow(float* const* table, int n) {
    if (threadIdx.x < n) table[1][threadIdx.x] = scale * table[0][threadIdx.x];
    if (threadIdx.x == 0) ++launches;
}
extern "C" __global__ void addresses(void** out) {
    out[0] = &launches;
}"""


@pytest.fixture(scope="module")
def module(compile_ptx: CompilePtx) -> Module:
    return compile_ptx(SOURCE)


def _buffers(module: Module) -> list[Any]:
    table = np.array([emulator.buffer_address(module, n) for n in (1, 2)], np.uint64)
    return [table, np.arange(8, dtype=np.float32), np.zeros(8, np.float32)]


def test_pointers_in_memory_reach_the_buffers_of_a_launch(module: Module) -> None:
    for _ in range(2):  # the addresses are the same in every launch
        buffers = _buffers(module)
        first = emulator.buffer_address(module, 0)
        assert not launch(module, "follow", 1, 8, [first, 8], buffers=buffers).faults
        assert buffers[2].tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def test_an_array_among_arguments_and_buffers_is_one_buffer(module: Module) -> None:
    table, read, written = _buffers(module)
    report = launch(module, "follow", 1, 8, [table, 8], buffers=[table, read, written])
    assert not report.faults
    assert written.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def test_an_access_beyond_a_buffer_names_it(module: Module) -> None:
    table, read, written = _buffers(module)
    faults = launch(module, "follow", 1, 16, [table, 16], buffers=[table, read, written]).faults
    assert [fault.kind for fault in faults] == ["out of bounds"]
    assert "past the end of buffer 1 (32 bytes)" in faults[0].message


def test_an_access_to_a_freed_buffer_is_out_of_bounds(module: Module) -> None:
    table, read, _ = _buffers(module)
    freed = [table, read, np.empty(0, np.float32)]
    faults = launch(module, "follow", 1, 8, [table, 8], buffers=freed).faults
    assert "past the end of buffer 2 (0 bytes)" in faults[0].message


def test_a_variable_is_where_its_address_says(module: Module) -> None:
    out = np.zeros(1, np.uint64)
    launch(module, "addresses", 1, 1, [out])
    addresses = emulator.variable_addresses(module)
    assert addresses["launches"] == out[0]
    assert emulator.buffer_address(module, 0) not in addresses.values()


@pytest.mark.parametrize(
    ("buffers", "match"),
    [(3, "give a list of arrays"), ([3], "give a list of arrays"),
     ("twice", "buffer 1 is given twice: it has one address")],
)  # fmt: skip
def test_what_is_no_list_of_buffers_is_refused(module: Module, buffers: Any, match: str) -> None:
    table = np.zeros(2, np.uint64)
    given = [table, table] if buffers == "twice" else buffers
    with pytest.raises(LaunchError, match=match):
        launch(module, "follow", 1, 8, [table, 8], buffers=given)
