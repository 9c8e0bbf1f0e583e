"""The cost of an access according to the reference's memory rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.raw_counts import RawCounts
from harness.emulator.program.analysis.access_kinds import COMBINED, COUNTS_UP, VECTOR
from reference import memory_rules
from reference.arrays.lanes import Lanes

Array = NDArray[Any]


def global_access(counts: RawCounts, lanes: Lanes, site: int, addresses: Array, width: int) -> None:
    """Count one request per warp, and its sectors."""
    counts.requests[site] += lanes.warps
    laid_out, active = lanes.to_warps(addresses), lanes.warp_mask()
    counts.sectors[site] += int(memory_rules.global_sectors(laid_out, active, width).sum())


def global_atomic(
    counts: RawCounts, lanes: Lanes, site: int, addresses: Array, width: int, rule: str
) -> None:
    """Count the requests and sectors of an atomic; `rule` says whether lanes on one address are
    served in turn."""
    counts.requests[site] += lanes.warps
    laid_out, active = memory_rules.by_address(lanes.to_warps(addresses), lanes.warp_mask())
    _atomic(counts, lanes, site, laid_out, active)
    if rule.startswith(VECTOR):
        width *= int(rule.removeprefix(VECTOR))
    sectors = at_once = memory_rules.global_sectors(laid_out, active, width)
    if rule != COMBINED:
        sectors = memory_rules.global_atomic_sectors(laid_out, active)
        if rule.startswith(VECTOR):
            sectors = np.maximum(sectors, at_once)
        if np.any(sectors != at_once):
            counts.colliding.add(site)
    counts.sectors[site] += int(sectors.sum())


def shared_access(
    counts: RawCounts, lanes: Lanes, site: int, addresses: Array, width: int, *, load: bool
) -> None:
    """Count the wavefronts and ideal wavefronts of a load or a store."""
    laid_out, active = lanes.to_warps(addresses), lanes.warp_mask()
    cost = memory_rules.shared_wavefronts(laid_out, active, width, is_load=load)
    ideal = memory_rules.shared_wavefronts_ideal(laid_out, active, width, is_load=load)
    counts.shared_requests[site] += lanes.warps
    counts.wavefronts[site] += int(cost.sum())
    counts.wavefronts_ideal[site] += int(ideal.sum())


def shared_atomic(
    counts: RawCounts, lanes: Lanes, site: int, addresses: Array, operation: str
) -> None:
    """Count one request per warp, and its wavefronts; `operation` selects their rule."""
    laid_out, active = memory_rules.by_address(lanes.to_warps(addresses), lanes.warp_mask())
    _atomic(counts, lanes, site, laid_out, active)
    counts.shared_requests[site] += lanes.warps
    if operation == COMBINED:
        counts.wavefronts[site] += lanes.warps
        counts.wavefronts_ideal[site] += lanes.warps
        return
    cost = memory_rules.shared_atomic_wavefronts(
        laid_out, active, operation, counts_up=operation == COUNTS_UP
    )
    counts.wavefronts[site] += int(cost.sum())
    counts.wavefronts_ideal[site] += lanes.warps * (2 if operation == "cas" else 1)


def _atomic(counts: RawCounts, lanes: Lanes, site: int, laid_out: Array, active: Array) -> None:
    """Count how the lanes of each warp collide on addresses; lanes are sorted by address."""
    most = max(counts.atomic_most_lanes[site], 1)
    addresses, most = memory_rules.lanes_by_address(laid_out, active, most)
    counts.atomic_lanes[site] += lanes.count
    counts.atomic_addresses[site] += addresses
    counts.atomic_most_lanes[site] = most
