"""The engine's memory rules and the reference's, compared with an H200's counts, row by row."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import running_rules
from reference import memory_rules

READINGS = Path(__file__).parents[3] / "data" / "h200_memory_instructions.csv"
NO_RULE = {"red.shared.add.f32"}
SHARED = {"ld.shared", "st.shared"}


def _readings() -> dict[str, list[dict[str, str]]]:
    rows = defaultdict(list)
    with READINGS.open() as file:
        for row in csv.DictReader(file):
            rows[row["instruction"]].append(row)
    return dict(rows)


ROWS = _readings()
RULED = sorted(set(ROWS) - NO_RULE)


@pytest.fixture(params=[running_rules, memory_rules], ids=["running", "reference"])
def rules(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


def _warps(rows: list[dict[str, str]]) -> tuple[np.ndarray, np.ndarray, int]:
    """The addresses and active lanes of each warp, and the bytes per lane."""
    addresses = np.array([[int(x) for x in row["lane_byte_offsets"].split()] for row in rows])
    masks = np.array([int(row["active_mask"], 16) for row in rows])
    (width,) = {int(row["bytes_per_lane"]) for row in rows}
    return addresses + 4096, (masks[:, None] >> np.arange(32)) & 1 == 1, width


def _predict(
    rules: ModuleType, instruction: str, width: int, addresses: np.ndarray, active: np.ndarray
) -> dict[str, np.ndarray]:
    """Predict each counter that the readings contain and the instruction changes."""
    opcode, space, *rest = instruction.split(" ", maxsplit=1)[0].split(".")
    if space == "global":
        requests = rules.global_requests(active)
        if opcode in ("ld", "st"):
            sectors = rules.global_sectors(addresses, active, width)
        else:
            sectors = rules.global_atomic_sectors(addresses, active)
        return {f"global_requests_{opcode}": requests, f"global_sectors_{opcode}": sectors}
    if opcode in ("ld", "st"):
        wavefronts = rules.shared_wavefronts(addresses, active, width, is_load=opcode == "ld")
        return {f"shared_wavefronts_{opcode}": wavefronts}
    wavefronts = rules.shared_atomic_wavefronts(
        addresses, active, rest[0], counts_up="constant 1" in instruction
    )
    return {"shared_wavefronts_atom": wavefronts}


def test_every_row_of_the_readings_is_covered_but_the_float_add_in_shared_memory() -> None:
    assert sum(len(rows) for rows in ROWS.values()) == 797
    assert sum(len(ROWS[name]) for name in RULED) == 767
    assert len(RULED) == 22


@pytest.mark.parametrize("instruction", RULED)
def test_the_rules_give_what_the_hardware_counted(rules: ModuleType, instruction: str) -> None:
    rows = ROWS[instruction]
    addresses, active, width = _warps(rows)
    predicted = _predict(rules, instruction, width, addresses, active)
    # The readings have a whole warp's parameter load (1 request, 4 sectors) subtracted. A launch
    # with fewer active lanes did not make this load in full, so the missing part shows as a
    # negative number.
    lanes = np.broadcast_to(np.arange(32) * 4, active.shape)
    parameters = {
        "global_requests_ld": rules.global_requests(active) - 1,
        "global_sectors_ld": rules.global_sectors(lanes, active, 4) - 4,
    }
    if instruction.startswith(("ld.global", "atom.global")):
        parameters = {}  # these received their operands differently
    for column in (c for c in rows[0] if c.startswith(("shared_", "global_"))):
        measured = np.array([int(row[column]) for row in rows])
        nothing = np.zeros(len(rows), dtype=int)
        expected = predicted.get(column, parameters.get(column, nothing))
        where = np.flatnonzero(expected != measured).tolist()
        assert not where, f"{column}, rows {where}: {expected[where]} for {measured[where]}"
    assert all(len(counts) == len(rows) for counts in predicted.values())


def test_no_active_lane_costs_nothing(rules: ModuleType) -> None:
    addresses = np.arange(32)[None] * 4
    idle = np.zeros((1, 32), dtype=bool)
    assert rules.shared_wavefronts(addresses, idle, 4, is_load=True) == 0
    assert rules.shared_wavefronts_ideal(addresses, idle, 16, is_load=False) == 0
    assert rules.shared_atomic_wavefronts(addresses, idle, "add") == 0
    assert rules.global_requests(idle) == 0
    assert rules.global_sectors(addresses, idle, 4) == 0
    assert rules.global_atomic_sectors(addresses, idle) == 0


def test_many_warps_at_once_cost_what_each_costs_alone(rules: ModuleType) -> None:
    random = np.random.default_rng(7)
    addresses = random.integers(0, 512, (200, 32)) * 16
    active = random.random((200, 32)) < random.random((200, 1))
    for width in (1, 2, 4, 8, 16):
        together = [
            rules.shared_wavefronts(addresses, active, width, is_load=True),
            rules.shared_wavefronts(addresses, active, width, is_load=False),
            rules.global_sectors(addresses, active, width),
            rules.global_atomic_sectors(addresses, active),
        ]
        for warp in range(0, 200, 13):
            one, mask = addresses[warp : warp + 1], active[warp : warp + 1]
            alone = [
                rules.shared_wavefronts(one, mask, width, is_load=True),
                rules.shared_wavefronts(one, mask, width, is_load=False),
                rules.global_sectors(one, mask, width),
                rules.global_atomic_sectors(one, mask),
            ]
            assert [int(x[0]) for x in alone] == [int(x[warp]) for x in together]


def test_an_unconflicted_access_costs_its_ideal_and_a_conflicted_one_more(
    rules: ModuleType,
) -> None:
    lane, full = np.arange(32)[None], np.ones((1, 32), dtype=bool)
    for width, ideal in ((4, 1), (8, 2), (16, 4)):
        contiguous, strided = lane * width, lane * 128
        for is_load in (True, False):
            cost = rules.shared_wavefronts(contiguous, full, width, is_load=is_load)
            least = rules.shared_wavefronts_ideal(contiguous, full, width, is_load=is_load)
            assert cost == least == ideal
            assert rules.shared_wavefronts(strided, full, width, is_load=is_load) == 32


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


def test_an_atomic_costs_the_same_whichever_lane_has_which_address(rules: ModuleType) -> None:
    random = np.random.default_rng(12)
    addresses = random.integers(0, 40, (200, 32)) * 4
    active = random.random((200, 32)) < 0.7
    ordered, there = memory_rules.by_address(addresses, active)
    assert (there.sum(axis=1) == active.sum(axis=1)).all()
    for counts_up in (True, False):
        cost = rules.shared_atomic_wavefronts(addresses, active, "add", counts_up=counts_up)
        same = rules.shared_atomic_wavefronts(ordered, there, "add", counts_up=counts_up)
        assert cost.tolist() == same.tolist()
    sectors = rules.global_atomic_sectors(addresses, active)
    assert sectors.tolist() == rules.global_atomic_sectors(ordered, there).tolist()


def test_quarters_of_a_warp_are_joined_if_that_saves_a_wavefront_or_lanes_are_idle(
    rules: ModuleType,
) -> None:
    lane, full = np.arange(32)[None], np.ones((1, 32), dtype=bool)
    same, rows, groups = 0 * lane, lane // 8 * 128, lane // 4 * 64
    cases = (
        (same, full, 2, 2),  # one address for all: the halves are not joined
        (rows, full, 4, 4),  # one row per quarter, all in the same banks: tile_by_four
        (groups, lane % 4 > 0, 4, 2),  # the remainder of a loop unrolled four times: nms/v4
    )
    for addresses, active, spent, ideal in cases:
        assert rules.shared_wavefronts(addresses, active, 16, is_load=True) == spent
        assert rules.shared_wavefronts_ideal(addresses, active, 16, is_load=True) == ideal
        assert rules.shared_wavefronts_ideal(addresses, active, 16, is_load=False) == 4


def test_the_rules_that_run_are_the_reference_s_on_any_warp() -> None:
    random = np.random.default_rng(13)
    for spread in (4, 64, 1024):
        words = random.integers(0, spread, (100, 32))
        active = random.random((100, 32)) < random.random((100, 1))
        for width in (1, 2, 4, 8, 16):
            _agree("global_sectors", words * width, active, width)
            for is_load in (True, False):
                for rule in ("shared_wavefronts", "shared_wavefronts_ideal"):
                    _agree(rule, words * width, active, width, is_load=is_load)
        _agree("global_atomic_sectors", words * 4, active)
        for operation, counts_up in (("add", False), ("add", True), ("cas", False)):
            _agree("shared_atomic_wavefronts", words * 4, active, operation, counts_up=counts_up)


def _agree(rule: str, *access: Any, **how: bool) -> None:
    runs, expected = (
        getattr(rules, rule)(*access, **how) for rules in (running_rules, memory_rules)
    )
    assert runs.tolist() == expected.tolist()
