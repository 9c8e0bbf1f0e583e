"""The number of blocks of a kernel that a multiprocessor holds at once, and how a grid fills the
machine.

This is theoretical occupancy by the rules of NVIDIA's occupancy calculator, as `cuda_occupancy.h`
of the CUDA toolkit states them for compute capability 7.5 and later, with the multiprocessor's
largest shared memory configuration. It is an upper limit that results from resources alone;
achieved occupancy is what a profiler measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.silicon.architectures import Limits

Limiter = Literal["warps", "blocks", "registers", "shared memory"]


@dataclass(frozen=True)
class Occupancy:
    """The blocks and warps of a kernel that one multiprocessor holds at once."""

    blocks_per_sm: int
    """0 if not even one block fits; such a launch fails."""
    active_warps: int
    ratio: float
    """`active_warps` over the most that a multiprocessor can hold, from 0 to 1."""
    limiter: Limiter
    """The resource that runs out first. If several do, the first in the order warps, blocks,
    registers, shared memory."""


@dataclass(frozen=True)
class Waves:
    """The distribution of a grid over time if all blocks take equally long."""

    count: int
    """The number of rounds that the machine needs, including the last one."""
    blocks_per_wave: int
    tail_fill: float
    """How full the last round is, from above 0 up to 1; at 1 it is as full as the others."""

    @property
    def efficiency(self) -> float:
        """The fraction of the machine's block slots, over all rounds, that hold a block."""
        return (self.count - 1 + self.tail_fill) / self.count


def theoretical_occupancy(
    limits: Limits,
    threads_per_block: int,
    registers_per_thread: int,
    shared_bytes_per_block: int,
) -> Occupancy:
    """Compute the theoretical occupancy of a launch.

    `shared_bytes_per_block` is static plus dynamic shared memory, excluding the part that the
    system reserves. The kernel is assumed to opt into more than the default 48 KiB if necessary.
    """
    if threads_per_block < 1:
        raise ValueError(f"a block has at least one thread, not {threads_per_block}")
    if registers_per_thread < 0 or shared_bytes_per_block < 0:
        raise ValueError("registers and shared memory are not negative")

    warps = -(-threads_per_block // limits.warp_size)
    fits = threads_per_block <= limits.max_threads_per_block
    room: dict[Limiter, int] = {
        "warps": limits.max_warps_per_sm // warps if fits else 0,
        "blocks": limits.max_blocks_per_sm,
        "registers": _blocks_by_registers(limits, warps, registers_per_thread),
        "shared memory": _blocks_by_shared_memory(limits, shared_bytes_per_block),
    }
    limiter = min(room, key=room.__getitem__)
    blocks = room[limiter]
    return Occupancy(
        blocks_per_sm=blocks,
        active_warps=blocks * warps,
        ratio=blocks * warps / limits.max_warps_per_sm,
        limiter=limiter,
    )


def waves(grid_blocks: int, blocks_per_sm: int, sm_count: int) -> Waves:
    """Compute the rounds in which a machine of `sm_count` multiprocessors executes a grid."""
    if grid_blocks < 1 or blocks_per_sm < 1 or sm_count < 1:
        raise ValueError("a grid, and the room for it, is at least one block on one multiprocessor")
    per_wave = blocks_per_sm * sm_count
    count = -(-grid_blocks // per_wave)
    in_last = grid_blocks - (count - 1) * per_wave
    return Waves(count=count, blocks_per_wave=per_wave, tail_fill=in_last / per_wave)


def _blocks_by_registers(limits: Limits, warps: int, registers_per_thread: int) -> int:
    """The blocks that the registers allow; registers are allocated per warp, within a
    sub-partition."""
    if registers_per_thread == 0:
        return limits.max_blocks_per_sm
    if registers_per_thread > limits.max_registers_per_thread:
        return 0
    per_warp = _round_up(registers_per_thread * limits.warp_size, limits.register_allocation)
    # Check whether a block may be launched as if its warps filled all sub-partitions evenly.
    if per_warp * _round_up(warps, limits.sub_partitions_per_sm) > limits.registers_per_block:
        return 0
    per_partition = limits.registers_per_sm // limits.sub_partitions_per_sm // per_warp
    return per_partition * limits.sub_partitions_per_sm // warps


def _blocks_by_shared_memory(limits: Limits, shared_bytes_per_block: int) -> int:
    """The blocks that shared memory allows; each block also needs the part reserved for the system,
    which matters for small blocks."""
    if shared_bytes_per_block > limits.max_shared_bytes_per_block:
        return 0
    per_block = _round_up(
        shared_bytes_per_block + limits.reserved_shared_bytes_per_block,
        limits.shared_allocation_bytes,
    )
    if per_block == 0:
        return limits.max_blocks_per_sm
    return limits.shared_bytes_per_sm // per_block


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
