"""The constant bank layout that machine code expects, one row per architecture.

The instructions of all architectures are in one table (`table.py`), because a name means the same
wherever it occurs. This module holds the differences: where the driver puts the values that a
kernel reads in constant bank 0, and how much of shared memory the driver reserves. The offsets were
determined from ptxas 13.0 output for kernels that use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from harness.emulator.memory.address_space import LOCAL_WINDOW, SHARED_WINDOW


@dataclass(frozen=True)
class ClusterPlaces:
    """Offsets in constant bank 0 of the values that the driver writes there for each launch, with
    or without clusters.

    `is_explicit`: whether the launch or its kernel specifies clusters. `extents`, `factors` and
    `counts` (three words each): a cluster's dimensions in blocks, the floats by which code
    multiplies to divide by these, and the grid's dimensions in clusters. `blocks`: the number of
    blocks in a cluster. `dynamic`: bytes of dynamic shared memory. `parameters`: the generic
    address of the parameters.
    """

    is_explicit: int
    extents: int
    factors: int
    counts: int
    blocks: int
    dynamic: int
    parameters: int

    @property
    def words(self) -> tuple[int, ...]:
        """The offsets of the words that may differ from cluster to cluster of a launch."""
        several = (at + n for at in (self.extents, self.factors, self.counts) for n in (0, 4, 8))
        return (*several, self.blocks, self.dynamic)


@dataclass(frozen=True)
class CodeArchitecture:
    """The layout that code of one architecture relies on.

    `block_at`, `grid_at`, `stack_at`: offsets in constant bank 0 of the launch dimensions, three
    words each, and of the first address after a thread's local memory. `windows_at`: offsets of the
    bases that make shared and local addresses generic; Blackwell's code reads the shared one from a
    special register. `registers_at`: PTX special registers that the driver fills, and their
    offsets. `reserved_at`: offset of the shared memory reserved for the system, before a block's
    own. `reserved_shared`: bytes at the start of a kernel's shared memory that belong to the
    driver; addresses include them. `clusters`: where code reads cluster data; None if the
    architecture has no clusters. Blackwell's code subtracts 0xa0 times SR_CgaSize, which is 0 here,
    from the offsets of cluster data and of the special registers. `known_at`: the offsets before
    the parameters whose contents are known; a kernel that reads other offsets there is rejected.
    None if code reads no offsets other than those above. `was_read`: whether the counts of this
    architecture were compared with hardware readings.
    """

    name: str
    block_at: int = 0x00
    grid_at: int = 0x0C
    stack_at: int = 0x28
    windows_at: tuple[tuple[int, int], ...] = ((0x18, SHARED_WINDOW), (0x20, LOCAL_WINDOW))
    registers_at: tuple[tuple[str, int], ...] = (("envreg1", 0x44), ("envreg2", 0x48))
    reserved_at: int | None = 0x6C
    reserved_shared: int = 0
    clusters: ClusterPlaces | None = None
    known_at: tuple[range, ...] | None = None
    was_read: bool = False


_TURING = CodeArchitecture(
    "sm_75", registers_at=(("envreg1", 0x8C), ("envreg2", 0x90)), reserved_at=None
)
_AMPERE = CodeArchitecture("sm_80")
_HOPPER = CodeArchitecture(
    "sm_90", reserved_shared=1024, was_read=True,
    clusters=ClusterPlaces(
        is_explicit=0x140, extents=0x144, factors=0x150, counts=0x15C, blocks=0x188, dynamic=0x2C,
        parameters=0x198,
    ),
)  # fmt: skip
_BLACKWELL = CodeArchitecture(
    "sm_100", block_at=0x360, grid_at=0x370, stack_at=0x37C,
    windows_at=((0x2F8, LOCAL_WINDOW),),
    registers_at=(("envreg1", 0x254), ("envreg2", 0x258)), reserved_at=None, reserved_shared=1024,
    clusters=ClusterPlaces(
        is_explicit=0x36C, extents=0x2A0, factors=0x2B0, counts=0x2C0, blocks=0x2CC, dynamic=0x2AC,
        parameters=0x348,
    ),
    known_at=(range(0x2D8, 0x2DC), range(0x2F8, 0x300), range(0x348, 0x350), range(0x358, 0x380)),
)  # fmt: skip

ARCHITECTURES: Final[Mapping[str, CodeArchitecture]] = MappingProxyType({
    each.name: each
    for each in (
        _TURING, _AMPERE,
        *(replace(_AMPERE, name=name) for name in ("sm_86", "sm_87", "sm_88", "sm_89")),
        _HOPPER, _BLACKWELL,
        *(replace(_BLACKWELL, name=name) for name in ("sm_103", "sm_110", "sm_120", "sm_121")),
    )
})  # fmt: skip
