"""The memory rules against what an H200 counted, row by row."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from harness.silicon import memory_rules

READINGS = Path(__file__).parent.parent / "data" / "h200_memory_instructions.csv"
NO_RULE = {"red.shared.add.f32"}


def _readings() -> dict[str, list[dict[str, str]]]:
    rows = defaultdict(list)
    with READINGS.open() as file:
        for row in csv.DictReader(file):
            rows[row["instruction"]].append(row)
    return dict(rows)


ROWS = _readings()
RULED = sorted(set(ROWS) - NO_RULE)


def _predict(
    instruction: str, width: int, addresses: np.ndarray, active: np.ndarray
) -> dict[str, np.ndarray]:
    """Every counter column of the file that the instruction moves."""
    opcode, space, *rest = instruction.split(" ", maxsplit=1)[0].split(".")
    if space == "global":
        requests = memory_rules.global_requests(active)
        if opcode in ("ld", "st"):
            sectors = memory_rules.global_sectors(addresses, active, width)
        else:
            sectors = memory_rules.global_atomic_sectors(addresses, active)
        return {f"global_requests_{opcode}": requests, f"global_sectors_{opcode}": sectors}
    if opcode in ("ld", "st"):
        wavefronts = memory_rules.shared_wavefronts(
            addresses, active, width, is_load=opcode == "ld"
        )
        return {f"shared_wavefronts_{opcode}": wavefronts}
    wavefronts = memory_rules.shared_atomic_wavefronts(
        addresses, active, rest[0], counts_up="constant 1" in instruction
    )
    return {"shared_wavefronts_atom": wavefronts}


def test_every_row_of_the_readings_is_covered_but_the_float_add_in_shared_memory() -> None:
    assert sum(len(rows) for rows in ROWS.values()) == 797
    assert sum(len(ROWS[name]) for name in RULED) == 767
    assert len(RULED) == 22


@pytest.mark.parametrize("instruction", RULED)
def test_the_rules_give_what_the_hardware_counted(instruction: str) -> None:
    rows = ROWS[instruction]
    addresses = np.array([[int(x) for x in row["lane_byte_offsets"].split()] for row in rows])
    masks = np.array([int(row["active_mask"], 16) for row in rows])
    active = (masks[:, None] >> np.arange(32)) & 1 == 1
    (width,) = {int(row["bytes_per_lane"]) for row in rows}
    predicted = _predict(instruction, width, addresses + 4096, active)
    # The file subtracts a whole warp's load of the parameters (1 request, 4 sectors), which a
    # launch with fewer active lanes did not make in full: what it made less shows below zero.
    lanes = np.broadcast_to(np.arange(32) * 4, active.shape)
    parameters = {
        "global_requests_ld": memory_rules.global_requests(active) - 1,
        "global_sectors_ld": memory_rules.global_sectors(lanes, active, 4) - 4,
    }
    if instruction.startswith(("ld.global", "atom.global")):
        parameters = {}  # these took their operands another way
    for column in (c for c in rows[0] if c.startswith(("shared_", "global_"))):
        measured = np.array([int(row[column]) for row in rows])
        nothing = np.zeros(len(rows), dtype=int)
        expected = predicted.get(column, parameters.get(column, nothing))
        where = np.flatnonzero(expected != measured).tolist()
        assert not where, f"{column}, rows {where}: {expected[where]} for {measured[where]}"
    assert all(len(counts) == len(rows) for counts in predicted.values())


def test_no_active_lane_costs_nothing() -> None:
    addresses = np.arange(32)[None] * 4
    idle = np.zeros((1, 32), dtype=bool)
    assert memory_rules.shared_wavefronts(addresses, idle, 4, is_load=True) == 0
    assert memory_rules.shared_wavefronts_ideal(addresses, idle, 16, is_load=False) == 0
    assert memory_rules.shared_atomic_wavefronts(addresses, idle, "add") == 0
    assert memory_rules.global_requests(idle) == 0
    assert memory_rules.global_sectors(addresses, idle, 4) == 0
    assert memory_rules.global_atomic_sectors(addresses, idle) == 0


def test_many_warps_at_once_cost_what_each_costs_alone() -> None:
    random = np.random.default_rng(7)
    addresses = random.integers(0, 512, (200, 32)) * 16
    active = random.random((200, 32)) < random.random((200, 1))
    for width in (1, 2, 4, 8, 16):
        together = [
            memory_rules.shared_wavefronts(addresses, active, width, is_load=True),
            memory_rules.shared_wavefronts(addresses, active, width, is_load=False),
            memory_rules.global_sectors(addresses, active, width),
            memory_rules.global_atomic_sectors(addresses, active),
        ]
        for warp in range(0, 200, 13):
            one, mask = addresses[warp : warp + 1], active[warp : warp + 1]
            alone = [
                memory_rules.shared_wavefronts(one, mask, width, is_load=True),
                memory_rules.shared_wavefronts(one, mask, width, is_load=False),
                memory_rules.global_sectors(one, mask, width),
                memory_rules.global_atomic_sectors(one, mask),
            ]
            assert [int(x[0]) for x in alone] == [int(x[warp]) for x in together]


def test_an_unconflicted_access_costs_its_ideal_and_a_conflicted_one_more() -> None:
    lane, full = np.arange(32)[None], np.ones((1, 32), dtype=bool)
    for width, ideal in ((4, 1), (8, 2), (16, 4)):
        contiguous, strided = lane * width, lane * 128
        for is_load in (True, False):
            cost = memory_rules.shared_wavefronts(contiguous, full, width, is_load=is_load)
            least = memory_rules.shared_wavefronts_ideal(contiguous, full, width, is_load=is_load)
            assert cost == least == ideal
            assert memory_rules.shared_wavefronts(strided, full, width, is_load=is_load) == 32


def test_lanes_of_an_atomic_meet_where_their_addresses_are_the_same() -> None:
    random = np.random.default_rng(11)
    for places in (1, 2, 5, 64, 4096):
        addresses = random.integers(0, places, (300, 32)) * 4
        active = random.random((300, 32)) < random.random((300, 1))
        active[:, 0] = True
        for mask in (active, np.ones_like(active)):
            by_warp = [
                np.unique(one[there], return_counts=True)[1]
                for one, there in zip(addresses, mask, strict=True)
            ]
            most = max(int(counts.max()) for counts in by_warp)
            ordered, there = memory_rules.by_address(addresses, mask)
            expected = sum(len(counts) for counts in by_warp), most
            assert memory_rules.lanes_by_address(ordered, there) == expected
            assert memory_rules.lanes_by_address(ordered, there, most) == expected
            assert memory_rules.lanes_by_address(ordered, there, 32)[1] == 32


def test_an_atomic_costs_the_same_whichever_lane_has_which_address() -> None:
    random = np.random.default_rng(12)
    addresses = random.integers(0, 40, (200, 32)) * 4
    active = random.random((200, 32)) < 0.7
    ordered, there = memory_rules.by_address(addresses, active)
    assert (there.sum(axis=1) == active.sum(axis=1)).all()
    for counts_up in (True, False):
        cost = memory_rules.shared_atomic_wavefronts(addresses, active, "add", counts_up=counts_up)
        same = memory_rules.shared_atomic_wavefronts(ordered, there, "add", counts_up=counts_up)
        assert cost.tolist() == same.tolist()
    sectors = memory_rules.global_atomic_sectors(addresses, active)
    assert sectors.tolist() == memory_rules.global_atomic_sectors(ordered, there).tolist()
