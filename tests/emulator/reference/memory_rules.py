"""The costs of a warp's memory instruction: a second implementation of the engine's
`bank_and_sector_rules.h`.

Pure functions over many warps at once. `addresses` and `active` have shape (warps, 32): the byte
address of each lane, and whether the lane executes the instruction. The addresses of inactive lanes
are ignored. Results have shape (warps,). Accesses are naturally aligned.

The rules were derived from an H200's readings in `tests/data/h200_memory_instructions.csv`, with
which both implementations are compared. Summed over warps, the results are the counters
`memory_l1_wavefronts_shared`, `l1tex__t_requests_pipe_lsu_mem_global_op_*` and
`l1tex__t_sectors_pipe_lsu_mem_global_op_*`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

WARP_SIZE = 32
BANKS = 32
WORD_BYTES = 4
SECTOR_BYTES = 32

Addresses = NDArray[Any]
Active = NDArray[np.bool_]
Counts = NDArray[np.int64]


def shared_wavefronts(
    addresses: Addresses, active: Active, bytes_per_lane: int, *, is_load: bool
) -> Counts:
    """The wavefronts of a shared load or store of 1 to 16 bytes per lane.

    The warp is served in phases of 32, 16 or 8 lanes for 4-, 8- and 16-byte accesses. A phase
    takes one wavefront for each distinct word in its fullest bank. See `_merges` for loads.
    """
    lanes = _lanes_per_phase(bytes_per_lane)
    wavefronts = _conflicts(addresses, active, bytes_per_lane, lanes)
    if is_load and lanes < WARP_SIZE:
        merged = _merges(addresses, active)
        if merged.any():
            wavefronts = np.where(
                merged, _conflicts(addresses, active, bytes_per_lane, 2 * lanes), wavefronts
            )
    return wavefronts


def shared_wavefronts_ideal(
    addresses: Addresses, active: Active, bytes_per_lane: int, *, is_load: bool
) -> Counts:
    """The wavefronts that the same instruction would take without bank conflicts: one per non-empty
    phase."""
    lanes = _lanes_per_phase(bytes_per_lane)
    ideal = _phases(active, lanes)
    if is_load and lanes < WARP_SIZE:
        ideal = np.where(_merges(addresses, active), _phases(active, 2 * lanes), ideal)
    return ideal


def shared_atomic_wavefronts(
    addresses: Addresses, active: Active, operation: str, *, counts_up: bool = False
) -> Counts:
    """The wavefronts of a shared atomic or reduction on 4-byte words.

    In each bank, lanes are served one at a time, even on the same word; a compare-and-swap takes
    two wavefronts for each lane. `counts_up` is the compiler's POPC.INC form (add the constant 1,
    result unused), which costs as much as a store. There is no rule for a floating-point addition,
    which is a loop of loads and compare-and-swaps in machine code.
    """
    if counts_up:
        return _conflicts(addresses, active, WORD_BYTES, WARP_SIZE)
    warps = len(addresses)
    bank = (addresses.astype(np.int64) // WORD_BYTES) & (BANKS - 1)
    slot = (np.arange(warps)[:, None] * BANKS + bank)[active]
    lanes_in_bank = np.bincount(slot, minlength=warps * BANKS).reshape(warps, BANKS)
    wavefronts: Counts = np.asarray(lanes_in_bank.max(axis=1), dtype=np.int64)
    return wavefronts + wavefronts if operation == "cas" else wavefronts


def global_requests(active: Active) -> Counts:
    """The requests of any global access: one for each warp with an active lane."""
    requests: Counts = np.asarray(active.any(axis=1), np.int64)
    return requests


def global_sectors(addresses: Addresses, active: Active, bytes_per_lane: int) -> Counts:
    """The sectors of a global load or store: the distinct 32-byte sectors that active lanes touch.

    A naturally aligned access of up to 32 bytes lies in one sector.
    """
    if bytes_per_lane > SECTOR_BYTES:
        raise ValueError(f"no lane accesses {bytes_per_lane} bytes in one instruction")
    return _distinct_per_row(addresses.astype(np.int64) // SECTOR_BYTES, active)


def by_address(addresses: Addresses, active: Active) -> tuple[Addresses, Active]:
    """The same warps with lanes in ascending order of address, inactive lanes (-1) first.

    The cost of an atomic does not depend on which lane has which address, and sorting makes it fast
    to compute.
    """
    if active.all():
        return np.sort(addresses, axis=1), active
    ordered = np.sort(np.where(active, addresses, -1), axis=1)
    return ordered, ordered >= 0


def lanes_by_address(ordered: Addresses, active: Active, known: int = 1) -> tuple[int, int]:
    """The number of distinct addresses, summed over warps, and the largest number of active lanes
    on one address.

    Each warp has an active lane; the lanes are in the order in which `by_address` returns them.
    Maxima that are not above `known` are not searched for.
    """
    step = ordered[:, 1:] != ordered[:, :-1]
    distinct = len(ordered) + int(np.count_nonzero(step)) - int(np.count_nonzero(~active[:, 0]))
    most, lanes = WARP_SIZE, known + 1  # in most launches the second warp adds nothing new
    while known < most:
        # In a sorted row, n lanes share an address if two that are n - 1 apart do.
        same = ordered[:, lanes - 1 :] == ordered[:, : WARP_SIZE + 1 - lanes]
        same &= active[:, : WARP_SIZE + 1 - lanes]
        known, most = (lanes, most) if same.any() else (known, lanes - 1)
        lanes = (known + most + 1) // 2
    return distinct, known


def global_atomic_sectors(addresses: Addresses, active: Active) -> Counts:
    """The sectors of a global atomic or reduction.

    Lanes on the same address are served in rounds, the k-th lane in round k; each round costs its
    distinct sectors.
    """
    far = np.int64(np.iinfo(np.int64).max)
    ordered = np.sort(np.where(active, addresses.astype(np.int64), far), axis=1)
    position = np.arange(WARP_SIZE)
    new_address = np.ones(ordered.shape, dtype=np.bool_)
    new_address[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(new_address, position, 0), axis=1)
    rounds = position - first
    # Sectors first, rounds in the low bits: (sector, round) pairs count once each.
    pairs = (ordered // SECTOR_BYTES) * WARP_SIZE + rounds
    return _distinct_per_row(pairs, ordered != far)


def _lanes_per_phase(bytes_per_lane: int) -> int:
    return WARP_SIZE * WORD_BYTES // max(bytes_per_lane, WORD_BYTES)


def _merges(addresses: Addresses, active: Active) -> Active:
    """The warps whose load is served in phases of twice the length.

    Either every active lane has the address of its neighbour l^1, or every active lane has that of
    l^2; an inactive neighbour is ignored.
    """
    lane = np.arange(WARP_SIZE)
    merged = np.zeros(len(addresses), dtype=np.bool_)
    for partner in (lane ^ 1, lane ^ 2):
        same = (addresses == addresses[:, partner]) | ~active | ~active[:, partner]
        merged |= same.all(axis=1)
    return merged


def _phases(active: Active, lanes: int) -> Counts:
    """The number of phases, of this many lanes each, that have an active lane."""
    if lanes >= WARP_SIZE:
        return global_requests(active)
    return active.reshape(len(active), -1, lanes).any(axis=2).sum(axis=1).astype(np.int64)


def _conflicts(addresses: Addresses, active: Active, bytes_per_lane: int, lanes: int) -> Counts:
    """The distinct words in a phase's fullest bank, summed over phases."""
    lanes = min(lanes, WARP_SIZE)
    warps, words_per_lane = len(addresses), max(1, bytes_per_lane // WORD_BYTES)
    words: NDArray[Any] = (
        addresses.astype(np.int32) // WORD_BYTES
    )  # shared memory has less than 2 GiB
    if words_per_lane > 1:
        words = words[:, :, None] + np.arange(words_per_lane, dtype=np.int32)
    # One row for each phase; an inactive lane's words become -1, which no bank holds.
    everybody = active.all()
    if not everybody:
        words = np.where(active if words.ndim == 2 else active[:, :, None], words, -1)
    words = words.reshape(-1, lanes * words_per_lane)
    words.sort(axis=1)
    counted = np.empty(words.shape, np.bool_)
    counted[:, :1] = True
    np.not_equal(words[:, 1:], words[:, :-1], out=counted[:, 1:])
    if not everybody:
        counted &= words >= 0
    slot = (np.arange(len(words))[:, None] * BANKS + (words & (BANKS - 1)))[counted]
    in_bank = np.bincount(slot, minlength=len(words) * BANKS).reshape(len(words), BANKS)
    return in_bank.max(axis=1).reshape(warps, -1).sum(axis=1).astype(np.int64)


def _distinct_per_row(values: NDArray[np.int64], active: Active) -> Counts:
    """The number of distinct values among the active entries of each row; values are not
    negative."""
    if not active.all():
        values = np.where(active, values, -1)
    step = values[:, 1:] != values[:, :-1]
    if (values[:, 1:] < values[:, :-1]).any():
        values = np.sort(values, axis=1)
        step = values[:, 1:] != values[:, :-1]
    distinct = 1 + np.count_nonzero(step, axis=1)
    return (distinct - (values[:, 0] < 0)).astype(np.int64)
