"""Address collisions of a warp's atomics, compared with the collisions that follow from the
indices."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import InstructionCount, LaunchReport, parse

SOURCE = r"""
extern "C" __global__ void in_global(const int* bin, unsigned* counts, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[bin[i]], 2u);
}
extern "C" __global__ void in_shared(const int* bin, unsigned* counts, unsigned n) {
    __shared__ unsigned own[64];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 64) own[t] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&own[bin[i]], KIND);
    __syncthreads();
    if (t < 64) counts[blockIdx.x * 64 + t] = own[t];
}
extern "C" __global__ void wide(const int* bin, unsigned long long* counts, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) counts[64 + i] = atomicExch(&counts[bin[i]], 5ull);
}
extern "C" __global__ void both(unsigned* counts) {
    __shared__ unsigned own;
    if (threadIdx.x == 0) own = 0;
    __syncthreads();
    atomicMax(&own, threadIdx.x);
    atomicMax(&counts[threadIdx.x / 2], threadIdx.x);
}
"""


def by_hand(bins: np.ndarray, block: int) -> tuple[int, int, int]:
    """The lanes, the distinct addresses summed over warps, and the largest number of a warp's lanes
    on one address."""
    addresses = most = 0
    for first in range(0, len(bins), block):
        own = bins[first : first + block]
        for warp in range(0, len(own), 32):
            found = Counter(own[warp : warp + 32].tolist())
            addresses += len(found)
            most = max(most, *found.values())
    return len(bins), addresses, most


def reported(report: LaunchReport, space: str) -> tuple[float, float, float]:
    lanes, addresses, most = (
        report.counter(f"{space}_atomic_{name}")
        for name in ("lanes", "addresses", "most_lanes_per_address")
    )
    assert {each.provenance for each in (lanes, addresses, most)} == {"ptx-level"}
    mean = report.counter(f"{space}_atomic_lanes_per_address").value
    assert mean == lanes.value / addresses.value
    return lanes.value, addresses.value, most.value


def atomics(report: LaunchReport) -> list[InstructionCount]:
    return [each for each in report.instructions if each.atomic_lanes]


BINS = {
    "all on one": lambda n: np.zeros(n, np.int32),
    "each its own": lambda n: np.arange(n, dtype=np.int32) % 64,
    "pairs": lambda n: (np.arange(n, dtype=np.int32) // 2) % 64,
    "random": lambda n: np.random.default_rng(1).integers(0, 64, n).astype(np.int32),
    "skewed": lambda n: (np.random.default_rng(2).random(n) ** 4 * 64).astype(np.int32),
    "one full warp late": lambda n: np.where(
        np.arange(n) >= n // 96 * 96, 7, np.arange(n) % 64
    ).astype(np.int32),
}


@pytest.mark.parametrize("n", [1, 33, 1000])
@pytest.mark.parametrize("name", BINS)
def test_lanes_and_addresses_of_a_histogram_are_those_of_its_bins(
    compile_ptx: CompilePtx, name: str, n: int
) -> None:
    bins = BINS[name](n)
    expected = by_hand(bins, 96)
    blocks = -(-n // 96)
    report = run(
        compile_ptx(SOURCE, defines=["KIND=3u"]), "in_global", blocks, 96,
        [bins, np.zeros(64, np.uint32), n],
    )  # fmt: skip
    assert reported(report, "global") == expected
    (atomic,) = atomics(report)
    found = (atomic.atomic_lanes, atomic.atomic_addresses, atomic.atomic_most_lanes)
    assert found == expected
    for kind in ("1u", "3u"):  # counting up and adding have their own rules for wavefronts
        counts = np.zeros(64 * blocks, np.uint32)
        report = run(
            compile_ptx(SOURCE, defines=[f"KIND={kind}"]), "in_shared", blocks, 96,
            [bins, counts, n],
        )  # fmt: skip
        assert reported(report, "shared") == expected
        assert counts.sum() == n * int(kind[0])


@pytest.mark.parametrize("chunk_threads", [96, 500, 65536])
def test_counts_do_not_depend_on_the_chunk(compile_ptx: CompilePtx, chunk_threads: int) -> None:
    bins = BINS["skewed"](1000)
    report = run(
        compile_ptx(SOURCE, defines=["KIND=3u"]), "in_global", 11, 96,
        [bins, np.zeros(64, np.uint32), 1000], chunk_threads=chunk_threads,
    )  # fmt: skip
    assert reported(report, "global") == by_hand(bins, 96)


def test_atomics_on_eight_bytes_meet_on_addresses_not_on_words(compile_ptx: CompilePtx) -> None:
    bins = BINS["pairs"](256)
    counts = np.zeros(64 + 256, np.uint64)
    report = run(compile_ptx(SOURCE, defines=["KIND=3u"]), "wide", 2, 128, [bins, counts, 256])
    assert reported(report, "global") == by_hand(bins, 128) == (256, 128, 2)


def test_global_and_shared_atomics_are_counted_apart(compile_ptx: CompilePtx) -> None:
    counts = np.zeros(32, np.uint32)
    report = run(compile_ptx(SOURCE, defines=["KIND=3u"]), "both", 3, 64, [counts])
    assert reported(report, "shared") == (192, 6, 32)
    assert reported(report, "global") == (192, 96, 2)


def test_a_row_of_blocks_with_the_same_shared_addresses_counts_every_block() -> None:
    body = """
    mov.u32 %r1, buffer;
    and.b32 %r2, %i, 3;
    shl.b32 %r2, %r2, 2;
    add.u32 %r1, %r1, %r2;
    red.shared.add.u32 [%r1], 7;
    """
    module = parse(ptx_kernel(body, declarations=".shared .align 4 .b8 buffer[64];"))
    report = run(module, "k", 50, 40, [], checks=False)
    # In a block, 32 lanes access four words, and then 8 lanes access the same four.
    assert reported(report, "shared") == (50 * 40, 50 * 8, 8)


def test_a_kernel_without_atomics_has_none(compile_ptx: CompilePtx) -> None:
    report = run(parse(ptx_kernel("add.u32 %r1, %r1, 1;")), "k", 1, 32, [])
    for space in ("global", "shared"):
        assert report.counter(f"{space}_atomic_lanes").value == 0
        with pytest.raises(KeyError):
            report.counter(f"{space}_atomic_lanes_per_address")
