"""Theoretical occupancy compared with published examples and with arithmetic done by hand."""

from __future__ import annotations

import pytest

from harness.silicon.architectures import architecture
from harness.silicon.occupancy import Occupancy, theoretical_occupancy, waves


def test_a_small_kernel_fills_the_multiprocessor() -> None:
    # 256 threads are 8 warps; 64 / 8 = 8 blocks. Registers: 32 * 32 = 1024 a warp, 16384 / 1024 =
    # 16 warps in each of four sub-partitions, 64 in all: 8 blocks too. Shared: 1024 of the kernel's
    # and 1024 reserved = 2048; 228 KiB / 2 KiB = 114 blocks. Warps are the limit.
    occupancy = theoretical_occupancy(architecture("sm_90"), 256, 32, 1024)
    assert occupancy == Occupancy(blocks_per_sm=8, active_warps=64, ratio=1.0, limiter="warps")


def test_one_register_over_32_costs_a_block() -> None:
    # 33 * 32 = 1056, rounded up to 256: 1280 a warp. 16384 / 1280 = 12 warps a sub-partition, 48 in
    # all, 6 blocks of 8.
    occupancy = theoretical_occupancy(architecture("sm_90"), 256, 33, 0)
    assert occupancy == Occupancy(6, 48, 0.75, "registers")


def test_the_best_practices_guides_example_of_rounding_holds() -> None:
    # CUDA C++ Best Practices Guide, "Calculating Occupancy", of 65536 registers and 2048 threads:
    # 37 registers a thread in blocks of 128 give 75 per cent with 12 blocks (65536 / (37 * 128)
    # would be 13). 37 * 32 = 1184 -> 1280 a warp; 12 warps a sub-partition; 48 / 4 = 12 blocks.
    occupancy = theoretical_occupancy(architecture("sm_80"), 128, 37, 0)
    assert occupancy == Occupancy(12, 48, 0.75, "registers")


def test_the_best_practices_guides_second_example_holds() -> None:
    # The same section: 37 registers in blocks of 320 threads are at 63 per cent with 4 blocks.
    # 320 threads are 10 warps; 48 / 10 = 4 blocks; 40 of 64 warps = 0.625.
    occupancy = theoretical_occupancy(architecture("sm_80"), 320, 37, 0)
    assert occupancy == Occupancy(4, 40, 0.625, "registers")


def test_registers_are_handed_out_within_sub_partitions() -> None:
    # 72 * 32 = 2304 per warp. Undivided, the register file would hold 65536 / 2304 = 28 warps; four
    # parts of 16384 hold 7 each, also 28. At 80 * 32 = 2560: 25 if undivided, but 6 * 4 = 24 in
    # parts.
    occupancy = theoretical_occupancy(architecture("sm_90"), 32, 80, 0)
    assert occupancy == Occupancy(24, 24, 0.375, "registers")


@pytest.mark.parametrize(
    ("name", "blocks", "ratio"),
    [("sm_75", 16, 0.5), ("sm_86", 16, 16 / 48), ("sm_89", 24, 0.5), ("sm_90", 32, 0.5)],
)
def test_blocks_of_one_warp_reach_the_limit_on_blocks(name: str, blocks: int, ratio: float) -> None:
    # With one warp per block, as many warps fit as blocks are allowed: 16 of 32, 16 of 48, 24 of
    # 48, 32 of 64.
    occupancy = theoretical_occupancy(architecture(name), 32, 16, 0)
    assert occupancy == Occupancy(blocks, blocks, ratio, "blocks")


def test_reserved_shared_memory_counts() -> None:
    # 56 KiB and the reserved 1 KiB are 57 KiB, a quarter of 228 KiB. One byte more rounds up to
    # 57 KiB + 128 bytes, and only three fit; without the reserve there would be room for four.
    arch = architecture("sm_90")
    assert theoretical_occupancy(arch, 128, 32, 56 * 1024).blocks_per_sm == 4
    assert theoretical_occupancy(arch, 128, 32, 56 * 1024 + 1) == Occupancy(
        3, 12, 12 / 64, "shared memory"
    )


def test_shared_memory_is_rounded_up_to_the_allocation_unit() -> None:
    # Turing, 256-byte units, nothing reserved: 4000 -> 4096 bytes; 64 KiB / 4 KiB = 16 blocks, the
    # most that are allowed; 4097 -> 4352 bytes: 15 blocks.
    arch = architecture("sm_75")
    assert theoretical_occupancy(arch, 64, 16, 4000).limiter == "warps"
    assert theoretical_occupancy(arch, 64, 16, 4097) == Occupancy(15, 30, 30 / 32, "shared memory")


def test_the_most_shared_memory_leaves_room_for_one_block() -> None:
    arch = architecture("sm_90")
    assert theoretical_occupancy(arch, 1024, 64, 227 * 1024) == Occupancy(1, 32, 0.5, "registers")
    assert theoretical_occupancy(arch, 1024, 32, 227 * 1024) == Occupancy(
        1, 32, 0.5, "shared memory"
    )


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "limiter"),
    [
        (1025, 16, 0, "warps"),  # over 1024 threads per block
        (1024, 65, 0, "registers"),  # 65 * 32 -> 2304 a warp, 32 warps: 73728 > 65536
        (32, 256, 0, "registers"),  # over 255 per thread
        (32, 16, 227 * 1024 + 1, "shared memory"),  # over the opt-in limit
    ],
)
def test_a_block_that_does_not_fit_gives_no_occupancy(
    threads: int, registers: int, shared: int, limiter: str
) -> None:
    occupancy = theoretical_occupancy(architecture("sm_90"), threads, registers, shared)
    assert occupancy == Occupancy(0, 0, 0.0, limiter)  # type: ignore[arg-type]


def test_the_launch_check_rounds_warps_up_to_the_sub_partitions() -> None:
    # 17 warps of 112 * 32 = 3584 registers are 60928, which fits in the file's 65536, but the check
    # is made for 20 warps: 71680. The launch fails.
    assert theoretical_occupancy(architecture("sm_90"), 17 * 32, 112, 0).blocks_per_sm == 0


def test_a_partly_filled_warp_counts_as_a_whole_one() -> None:
    assert theoretical_occupancy(architecture("sm_90"), 33, 16, 0).active_warps == 64
    assert theoretical_occupancy(architecture("sm_90"), 97, 16, 0) == theoretical_occupancy(
        architecture("sm_90"), 128, 16, 0
    )


def test_a_kernel_without_registers_and_shared_memory_is_limited_by_warps() -> None:
    assert theoretical_occupancy(architecture("sm_75"), 1024, 0, 0) == Occupancy(
        1, 32, 1.0, "warps"
    )


@pytest.mark.parametrize(("threads", "registers", "shared"), [(0, 1, 0), (32, -1, 0), (32, 1, -1)])
def test_impossible_numbers_are_refused(threads: int, registers: int, shared: int) -> None:
    with pytest.raises(ValueError, match=r"thread|negative"):
        theoretical_occupancy(architecture("sm_90"), threads, registers, shared)


def test_a_grid_that_fits_is_one_wave() -> None:
    # 1024 blocks on 132 SMs with room for 8 each, 1056 in all: 1024 / 1056 of one wave.
    spread = waves(1024, 8, 132)
    assert (spread.count, spread.blocks_per_wave) == (1, 1056)
    assert spread.tail_fill == pytest.approx(1024 / 1056)
    assert spread.efficiency == pytest.approx(1024 / 1056)


def test_a_tail_wave_is_as_full_as_what_is_left_over() -> None:
    # 1024 blocks, room for 2 * 132 = 264: three full waves are 792, the fourth has 232 of 264.
    spread = waves(1024, 2, 132)
    assert spread.count == 4
    assert spread.tail_fill == pytest.approx(232 / 264)
    assert spread.efficiency == pytest.approx(1024 / (4 * 264))


def test_a_grid_of_whole_waves_has_a_full_tail() -> None:
    spread = waves(6 * 132, 6, 132)
    assert (spread.count, spread.tail_fill, spread.efficiency) == (1, 1.0, 1.0)


@pytest.mark.parametrize(("grid", "per_sm", "sms"), [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_waves_need_a_grid_and_room_for_it(grid: int, per_sm: int, sms: int) -> None:
    with pytest.raises(ValueError, match="at least one block"):
        waves(grid, per_sm, sms)
