"""What an access costs, added to a launch's counts as it happens."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge.lanes import Active
from harness.emulator.engine.raw_counts import RawCounts
from harness.emulator.program.access_kinds import COMBINED, COUNTS_UP, VECTOR
from harness.silicon import memory_rules

Array = NDArray[Any]


class AccessCounts(RawCounts):
    """Counts that take each access of a selection of lanes."""

    def global_access(self, lanes: Active, site: int, addresses: Array, width: int) -> None:
        """One request per warp, and its sectors."""
        self.requests[site] += lanes.warps
        rows = addresses.shape[0]
        laid_out, active = lanes.to_warps(addresses), lanes.warp_mask(rows)
        sectors = memory_rules.global_sectors(laid_out, active, width)
        self.sectors[site] += int(sectors.sum()) * (lanes.n_rows // rows)

    def global_atomic(
        self, lanes: Active, site: int, addresses: Array, width: int, rule: str
    ) -> None:
        """The same of an atomic; `rule` says whether lanes on one address take turns."""
        self.requests[site] += lanes.warps
        rows = addresses.shape[0]
        laid_out, active = lanes.to_warps(addresses), lanes.warp_mask(rows)
        laid_out, active = memory_rules.by_address(laid_out, active)
        self._atomic(lanes, site, laid_out, active, lanes.n_rows // rows)
        if rule.startswith(VECTOR):
            width *= int(rule.removeprefix(VECTOR))
        sectors = at_once = memory_rules.global_sectors(laid_out, active, width)
        if rule != COMBINED:
            sectors = memory_rules.global_atomic_sectors(laid_out, active)
            if rule.startswith(VECTOR):
                sectors = np.maximum(sectors, at_once)
            if np.any(sectors != at_once):
                self.colliding.add(site)
        self.sectors[site] += int(sectors.sum()) * (lanes.n_rows // rows)

    def global_contiguous(self, lanes: Active, site: int, starts: Array, width: int) -> None:
        """The same for full warps whose lanes read one after another; `starts` per row.

        A warp reads 32 × width bytes, whole sectors, so all warps of a row straddle alike.
        """
        self.requests[site] += lanes.warps
        size = memory_rules.SECTOR_BYTES
        span = memory_rules.WARP_SIZE * width
        sectors = (starts % size + span - 1) // size + 1
        per_row = lanes.n_columns // memory_rules.WARP_SIZE
        self.sectors[site] += int(sectors.sum()) * per_row * (lanes.n_rows // len(starts))

    def shared_cost(
        self, lanes: Active, addresses: Array, width: int, *, load: bool
    ) -> tuple[int, int]:
        """Wavefronts and ideal wavefronts of a load or a store, of the rows given."""
        laid_out = lanes.to_warps(addresses)
        active = lanes.warp_mask(addresses.shape[0])
        cost = memory_rules.shared_wavefronts(laid_out, active, width, is_load=load)
        ideal = memory_rules.shared_wavefronts_ideal(laid_out, active, width, is_load=load)
        return int(cost.sum()), int(ideal.sum())

    def shared_atomic(self, lanes: Active, site: int, addresses: Array, operation: str) -> None:
        """One request per warp, and its wavefronts; `operation` names their rule."""
        rows = addresses.shape[0]
        times = lanes.n_rows // rows
        laid_out, active = memory_rules.by_address(lanes.to_warps(addresses), lanes.warp_mask(rows))
        self._atomic(lanes, site, laid_out, active, times)
        self.shared_requests[site] += lanes.warps
        if operation == COMBINED:
            self.wavefronts[site] += lanes.warps
            self.wavefronts_ideal[site] += lanes.warps
            return
        cost = memory_rules.shared_atomic_wavefronts(
            laid_out, active, operation, counts_up=operation == COUNTS_UP
        )
        self.wavefronts[site] += int(cost.sum()) * times
        self.wavefronts_ideal[site] += lanes.warps * (2 if operation == "cas" else 1)

    def _atomic(self, lanes: Active, site: int, laid_out: Array, active: Array, times: int) -> None:
        """How the lanes of each warp meet on addresses; lanes are in the order of these."""
        most = max(self.atomic_most_lanes[site], 1)
        addresses, most = memory_rules.lanes_by_address(laid_out, active, most)
        self.atomic_lanes[site] += lanes.count
        self.atomic_addresses[site] += addresses * times
        self.atomic_most_lanes[site] = most
