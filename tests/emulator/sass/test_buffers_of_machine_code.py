"""Machine code whose pointers in memory refer to buffers of the launch."""

from __future__ import annotations

from typing import Any

import numpy as np
from sass.conftest import ReadSource

from harness.emulator.sass import buffer_address, launch_machine_code, variable_addresses

FOLLOWED = """
__constant__ float scale = 2;
__device__ int launches;
extern "C" __global__ void follow(float* const* table, int n, void** at) {
    if (threadIdx.x < n) table[1][threadIdx.x] = scale * table[0][threadIdx.x];
    if (threadIdx.x == 0) *at = &launches;
}"""


def test_pointers_in_memory_reach_the_buffers_of_a_launch(read_source: ReadSource) -> None:
    code = read_source(FOLLOWED)
    for _ in range(2):  # the addresses are the same in every launch
        first, second, third = (buffer_address(code, n) for n in range(3))
        buffers: list[Any] = [np.array([second, third], np.uint64), np.arange(8, dtype=np.float32),
                   np.zeros(8, np.float32)]  # fmt: skip
        at = np.zeros(1, np.uint64)
        assert not launch_machine_code(code, "follow", 1, 8, [first, 8, at], buffers=buffers).faults
        assert buffers[2].tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
        assert variable_addresses(code) == {"launches": at[0]}


def test_an_access_beyond_a_buffer_names_it(read_source: ReadSource) -> None:
    code = read_source(FOLLOWED)
    table = np.array([buffer_address(code, n) for n in (1, 2)], np.uint64)
    buffers: list[Any] = [table, np.zeros(8, np.float32), np.zeros(0, np.float32)]
    at = np.zeros(1, np.uint64)
    (fault,) = launch_machine_code(code, "follow", 1, 8, [table, 8, at], buffers=buffers).faults
    assert fault.kind == "out of bounds"
    assert "byte 0 of buffer 2, which has 0 bytes" in fault.message
