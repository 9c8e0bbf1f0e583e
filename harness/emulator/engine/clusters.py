"""The thread block clusters of a launch, set by its kernel or by the caller."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.emulator.engine.shape import Dim3
from harness.emulator.errors import LaunchError
from harness.emulator.memory import arguments
from harness.emulator.ptx.syntax import Kernel
from harness.silicon.architectures import Architecture

MOST_BLOCKS = 16
_FIRST_ARCHITECTURE = 90


def extents(kernel: Kernel, asked: int | Sequence[int] | None, limits: Architecture) -> Dim3:
    """Return a cluster's dimensions in blocks; (1, 1, 1) for a launch without clusters. Raises
    LaunchError."""
    compiled = kernel.directives.get("reqnctapercluster")
    own = _three(compiled) if compiled else None
    most = min([MOST_BLOCKS, *kernel.directives.get("maxclusterrank", ())])
    asks = "explicitcluster" in kernel.directives
    return chosen(kernel.name, own, asks, asked, limits, most)


def chosen(
    kernel: str, own: Dim3 | None, asks: bool, asked: int | Sequence[int] | None,
    limits: Architecture, most: int = MOST_BLOCKS,
) -> Dim3:  # fmt: skip
    """Choose a launch's cluster. `own`: the dimensions that the kernel is compiled for. `asks`:
    whether the launch has to specify the dimensions. `most`: the maximum number of blocks in a
    cluster. Raises LaunchError.
    """
    given = None
    if asked is not None:
        given = arguments.dim3("cluster", asked, (MOST_BLOCKS,) * 3)
    name = f"kernel `{kernel}`"
    if own and given and own != given:
        raise LaunchError(f"{name} is compiled for clusters of {own} blocks; cluster is {given}")
    if asks and not (own or given):
        raise LaunchError(f"{name} is to be launched with a cluster: say cluster=(x, y, z)")
    found = own or given or (1, 1, 1)
    blocks = math.prod(found)
    if blocks > most:
        raise LaunchError(f"a cluster of {found} has {blocks} blocks; {name} may have {most}")
    if blocks > 1 and int("".join(c for c in limits.name if c.isdigit())) < _FIRST_ARCHITECTURE:
        raise LaunchError(
            f"{name} is launched in clusters of {blocks} blocks; {limits.name} has none"
        )
    return found


def check_grid(kernel: str, cluster: Dim3, grid: Dim3) -> None:
    """Reject a grid that is not a multiple of its cluster size."""
    if any(blocks % extent for blocks, extent in zip(grid, cluster, strict=True)):
        raise LaunchError(
            f"the grid {grid} of kernel `{kernel}` is no multiple of its cluster {cluster}"
        )


def _three(extents: Sequence[int]) -> Dim3:
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z
