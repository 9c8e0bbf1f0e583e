"""Diverged lanes of a warp do not change each other's uniform registers within a basic block."""

from __future__ import annotations

import numpy as np
import pytest
from sass.conftest import ReadSource

from harness.emulator.sass import execute, launch_machine_code

SOURCE = """
extern "C" __global__ __launch_bounds__(256, 8) void visit(
    int n, const int* __restrict__ first, const int* __restrict__ list, int* gate, int* out) {
    for (int v = threadIdx.x; v < n; v += blockDim.x) {
        if (out[v] == v) continue;
        const int begin = first[v], end = first[v + 1];
        if (end - begin > 16) continue;
        int sum = 0;
        for (int i = begin; i < end; i++) {
            int other = list[i];
            while (other < v) other += 1 + atomicCAS(&gate[v], -1, 0);
            sum += list[i];
        }
        out[v] = sum;
    }
}"""


def test_lanes_that_take_turns_go_on_to_the_end_of_a_basic_block(
    read_source: ReadSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execute, "_TURN", 1)
    n, random = 3000, np.random.default_rng(1)
    counts = random.integers(0, 3, n)
    counts[[5, 37]] = 1
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    items = np.repeat(np.arange(n), counts).astype(np.int32)
    items[first[[5, 37]]] = -20  # two lanes stay in the inner loop while others proceed
    out = np.full(n, -1, np.int32)
    args = [n, first, items, np.zeros(n, np.int32), out]
    assert not launch_machine_code(read_source(SOURCE), "visit", 1, 64, args).faults
    sums = np.concatenate([[0], np.cumsum(items)])
    np.testing.assert_array_equal(out, sums[first[1:]] - sums[first[:-1]])
