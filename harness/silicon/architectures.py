"""The limits of each compute capability, which restrict launches and determine occupancy.

Sizes are in bytes; registers are 32-bit. Sources of the figures:

[guide]      CUDA Programming Guide 13.0, appendix "Compute Capabilities", the tables of technical
             specifications and of shared memory capacity per compute capability.
[occupancy]  `cuda_occupancy.h` of CUDA 13.0: allocation granularities, blocks per multiprocessor,
             shared memory configurations.
[cccl]       `libcudacxx/include/cuda/__device/arch_traits.h` of NVIDIA's CUDA Core
             Compute Libraries (commit efee2cf): for sm_88, which the guide does not cover.
[tuning]     NVIDIA's Turing, Ampere, Ada, Hopper and Blackwell tuning guides: shared memory per
             multiprocessor, and the 1 KiB that CUDA reserves in each block from 8.0 on.

If there is no GPU, an architecture's representative device takes its place, because launch shapes
such as `6 * sm_count` need a number. Its figures are those of one product (from NVIDIA's
architecture white papers and data sheets; L2 sizes as the CUDA runtime reports them), not a
property of the architecture.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType

WARP_SIZE = 32  # [guide]
SECTOR_BYTES = 32  # the unit in which caches and memory are counted: Nsight Compute's guide
KIB = 1024
MIB = 1024 * KIB
GB = 1000**3


class UnknownArchitectureError(ValueError):
    """The requested architecture is not in the table."""


@dataclass(frozen=True)
class Representative:
    """One product of an architecture."""

    name: str
    sm_count: int
    l2_bytes: int
    memory_bytes: int
    """The nominal size; the usable size that the runtime reports differs by a few per cent."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a launch. The defaults hold for every architecture that is listed here.

    An architecture's limits are from NVIDIA's documents; a card that is present reports its own.
    """

    max_threads_per_sm: int  # [guide]
    max_blocks_per_sm: int  # [guide], [occupancy]
    shared_bytes_per_sm: int  # [guide], [tuning]
    max_shared_bytes_per_block: int  # [guide]; more than the default needs an opt-in by attribute
    reserved_shared_bytes_per_block: int  # [tuning]; the system adds this to the request
    shared_allocation_bytes: int  # [occupancy]; a block's shared memory is a multiple of this

    default_shared_bytes_per_block: int = 48 * KIB  # [guide]; limits static shared memory, too
    registers_per_sm: int = 64 * KIB  # [guide]
    registers_per_block: int = 64 * KIB  # [guide]
    max_registers_per_thread: int = 255  # [guide]
    register_allocation: int = 256  # [occupancy]; a warp's registers are a multiple of this
    sub_partitions_per_sm: int = 4  # [occupancy]; each has its quarter of the registers
    warp_size: int = WARP_SIZE
    max_threads_per_block: int = 1024  # [guide]
    max_block: tuple[int, int, int] = (1024, 1024, 64)  # [guide]
    max_grid: tuple[int, int, int] = (2**31 - 1, 65_535, 65_535)  # [guide]

    @property
    def max_warps_per_sm(self) -> int:
        return self.max_threads_per_sm // self.warp_size


@dataclass(frozen=True, kw_only=True)
class Architecture(Limits):
    """One compute capability, its limits, and a representative product."""

    name: str
    """The name that nvcc's `-arch` takes, for example `sm_90`."""
    compute_capability: tuple[int, int]
    family: str
    representative: Representative


_KNOWN = (
    Architecture(
        name="sm_75",
        compute_capability=(7, 5),
        family="Turing",
        representative=Representative("NVIDIA T4", 40, 4 * MIB, 16 * GB),
        max_threads_per_sm=1024,
        max_blocks_per_sm=16,
        shared_bytes_per_sm=64 * KIB,
        max_shared_bytes_per_block=64 * KIB,
        reserved_shared_bytes_per_block=0,
        shared_allocation_bytes=256,
    ),
    Architecture(
        name="sm_80",
        compute_capability=(8, 0),
        family="Ampere",
        representative=Representative("NVIDIA A100-SXM4-80GB", 108, 40 * MIB, 80 * GB),
        max_threads_per_sm=2048,
        max_blocks_per_sm=32,
        shared_bytes_per_sm=164 * KIB,
        max_shared_bytes_per_block=163 * KIB,
        reserved_shared_bytes_per_block=KIB,
        shared_allocation_bytes=128,
    ),
    Architecture(
        name="sm_86",
        compute_capability=(8, 6),
        family="Ampere",
        representative=Representative("NVIDIA GeForce RTX 3090", 82, 6 * MIB, 24 * GB),
        max_threads_per_sm=1536,
        max_blocks_per_sm=16,
        shared_bytes_per_sm=100 * KIB,
        max_shared_bytes_per_block=99 * KIB,
        reserved_shared_bytes_per_block=KIB,
        shared_allocation_bytes=128,
    ),
    Architecture(
        name="sm_87",
        compute_capability=(8, 7),
        family="Ampere",
        representative=Representative("NVIDIA Jetson AGX Orin 64GB", 16, 4 * MIB, 64 * GB),
        max_threads_per_sm=1536,
        max_blocks_per_sm=16,
        shared_bytes_per_sm=164 * KIB,
        max_shared_bytes_per_block=163 * KIB,
        reserved_shared_bytes_per_block=KIB,
        shared_allocation_bytes=128,
    ),
    Architecture(
        name="sm_88",
        compute_capability=(8, 8),
        family="Ampere",
        # All limits are sm_86's: [cccl], with which [occupancy] agrees. NVIDIA names no product, so
        # the size of the device is sm_86's, too.
        representative=Representative("a device of compute capability 8.8", 82, 6 * MIB, 24 * GB),
        max_threads_per_sm=1536,
        max_blocks_per_sm=16,
        shared_bytes_per_sm=100 * KIB,
        max_shared_bytes_per_block=99 * KIB,
        reserved_shared_bytes_per_block=KIB,
        shared_allocation_bytes=128,
    ),
    Architecture(
        name="sm_89",
        compute_capability=(8, 9),
        family="Ada",
        representative=Representative("NVIDIA GeForce RTX 4090", 128, 72 * MIB, 24 * GB),
        max_threads_per_sm=1536,
        max_blocks_per_sm=24,
        shared_bytes_per_sm=100 * KIB,
        max_shared_bytes_per_block=99 * KIB,
        reserved_shared_bytes_per_block=KIB,
        shared_allocation_bytes=128,
    ),
    Architecture(
        name="sm_90",
        compute_capability=(9, 0),
        family="Hopper",
        representative=Representative("NVIDIA H200", 132, 60 * MIB, 141 * GB),
        max_threads_per_sm=2048,
        max_blocks_per_sm=32,
        shared_bytes_per_sm=228 * KIB,
        max_shared_bytes_per_block=227 * KIB,
        reserved_shared_bytes_per_block=KIB,
        shared_allocation_bytes=128,
    ),
    Architecture(
        name="sm_100",
        compute_capability=(10, 0),
        family="Blackwell",
        representative=Representative("NVIDIA B200", 148, 126 * MIB + 512 * KIB, 180 * GB),
        max_threads_per_sm=2048,
        max_blocks_per_sm=32,
        shared_bytes_per_sm=228 * KIB,
        max_shared_bytes_per_block=227 * KIB,
        reserved_shared_bytes_per_block=KIB,
        shared_allocation_bytes=128,
    ),
    Architecture(
        name="sm_103",
        compute_capability=(10, 3),
        family="Blackwell Ultra",
        # L2 is assumed to be the B200's, because no published reading was found.
        representative=Representative("NVIDIA B300", 148, 126 * MIB + 512 * KIB, 270 * GB),
        max_threads_per_sm=2048,
        max_blocks_per_sm=32,
        shared_bytes_per_sm=228 * KIB,
        max_shared_bytes_per_block=227 * KIB,
        reserved_shared_bytes_per_block=KIB,
        shared_allocation_bytes=128,
    ),
    Architecture(
        name="sm_110",
        compute_capability=(11, 0),
        family="Blackwell",
        # Multiprocessors and L2 as the driver reports them on the developer kit: NVIDIA's forum for
        # developers, topic 356355.
        representative=Representative("NVIDIA Jetson AGX Thor", 20, 32 * MIB, 128 * GB),
        max_threads_per_sm=1536,
        max_blocks_per_sm=24,
        shared_bytes_per_sm=228 * KIB,
        max_shared_bytes_per_block=227 * KIB,
        reserved_shared_bytes_per_block=KIB,
        shared_allocation_bytes=128,
    ),
    Architecture(
        name="sm_120",
        compute_capability=(12, 0),
        family="Blackwell",
        representative=Representative("NVIDIA GeForce RTX 5090", 170, 96 * MIB, 32 * GB),
        max_threads_per_sm=1536,
        max_blocks_per_sm=24,
        shared_bytes_per_sm=100 * KIB,
        max_shared_bytes_per_block=99 * KIB,
        reserved_shared_bytes_per_block=KIB,
        shared_allocation_bytes=128,
    ),
    Architecture(
        name="sm_121",
        compute_capability=(12, 1),
        family="Blackwell",
        # 6,144 cores, 128 per multiprocessor: DGX Spark's data sheet. L2: NVIDIA's talk on GB10 at
        # Hot Chips 2025.
        representative=Representative("NVIDIA GB10", 48, 24 * MIB, 128 * GB),
        max_threads_per_sm=1536,
        max_blocks_per_sm=24,
        shared_bytes_per_sm=100 * KIB,
        max_shared_bytes_per_block=99 * KIB,
        reserved_shared_bytes_per_block=KIB,
        shared_allocation_bytes=128,
    ),
)

ARCHITECTURES = MappingProxyType({known.name: known for known in _KNOWN})
"""The architectures by name, in order of compute capability."""

MOST_SHARED_BYTES = max(known.max_shared_bytes_per_block for known in _KNOWN)
"""The most shared memory that a block can have on any card. More than this is a mistake in the
matrix, not a limit of the card."""


def is_known(name: str) -> bool:
    """Return whether the table has a row for the architecture."""
    return _plain(name) in ARCHITECTURES


def _plain(name: str) -> str:
    return name if name in ARCHITECTURES else re.sub(r"(?<=\d)[af]\Z", "", name)


def architecture(name: str) -> Architecture:
    """Look up the facts of `sm_90`, `sm_100` and so on.

    nvcc's architecture- and family-specific targets (`sm_90a`, `sm_100f`) change which instructions
    may be used but not the limits, so they have the facts of the plain target. Raises
    `UnknownArchitectureError`, which lists the known names.
    """
    try:
        return ARCHITECTURES[_plain(name)]
    except KeyError:
        raise UnknownArchitectureError(
            f"no facts for the architecture {name!r}; known are {', '.join(ARCHITECTURES)}"
        ) from None


def compute_capability(name: str) -> tuple[int, int]:
    """Parse a compute capability: `sm_90a` gives 9 and 0, whether or not the table has a row for
    it.

    Raises `UnknownArchitectureError` for anything that is not an architecture's name.
    """
    found = re.fullmatch(r"(?:sm|compute)_(\d+)(\d)[af]?", name)
    if not found:
        raise UnknownArchitectureError(f"{name!r} is not an architecture; write it as sm_90")
    return int(found[1]), int(found[2])


def nearest(capability: tuple[int, int]) -> Architecture:
    """Return the facts to use for a compute capability: its own, or those of the newest one before
    it.

    The second case is for cards newer than this table. Values that the driver reports about the
    card take precedence. Only values that no driver reports, such as the granularity of register
    allocation, come from the table.
    """
    before = [known for known in _KNOWN if known.compute_capability <= capability]
    return max(before or _KNOWN[:1], key=lambda known: known.compute_capability)
