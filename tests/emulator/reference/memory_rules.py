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

    The warp is served in pieces of 32, 16 or 8 lanes for 4-, 8- and 16-byte accesses. A piece takes
    one wavefront for each distinct word in its fullest bank. A load joins two pieces of a pair if
    their lanes agree (`_agree`) and fewer wavefronts are the result.
    """
    return _of_pieces(addresses, active, bytes_per_lane, is_load)[0]


def shared_wavefronts_ideal(
    addresses: Addresses, active: Active, bytes_per_lane: int, *, is_load: bool
) -> Counts:
    """The wavefronts that the same instruction would take without bank conflicts: one per non-empty
    piece.

    Pieces that agree are also joined here if the number of wavefronts stays the same and some of
    their lanes are inactive; this rests on the readings of a single kernel.
    """
    return _of_pieces(addresses, active, bytes_per_lane, is_load)[1]


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
        return _fullest(addresses, active, WORD_BYTES, WARP_SIZE)[:, 0]
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


def _of_pieces(
    addresses: Addresses, active: Active, bytes_per_lane: int, is_load: bool
) -> tuple[Counts, Counts]:
    """The wavefronts and the ideal wavefronts."""
    lanes = WARP_SIZE * WORD_BYTES // max(bytes_per_lane, WORD_BYTES)
    if lanes == WARP_SIZE:
        return _fullest(addresses, active, bytes_per_lane, lanes)[:, 0], global_requests(active)
    warps, pairs = len(addresses), WARP_SIZE // (2 * lanes)
    apart = _fullest(addresses, active, bytes_per_lane, lanes).reshape(warps, pairs, 2).sum(axis=2)
    joined = _fullest(addresses, active, bytes_per_lane, 2 * lanes)
    pieces = active.reshape(warps, pairs, 2, lanes).any(axis=3).sum(axis=2)
    may_join = (pieces == 2) & _agree(addresses, active, 2 * lanes) & is_load
    has_idle = ~active.reshape(warps, pairs, -1).all(axis=2)
    is_joined = may_join & ((joined < apart) | has_idle)
    spent = np.where(is_joined, np.minimum(joined, apart), apart)
    ideal = np.where(is_joined, 1, pieces)
    return spent.sum(axis=1).astype(np.int64), ideal.sum(axis=1).astype(np.int64)


def _agree(addresses: Addresses, active: Active, lanes: int) -> Active:
    """For each run of `lanes` lanes, whether each active lane l has the address of lane l^1, or
    each has that of l^2; inactive neighbours are ignored. Shape (warps, runs)."""
    lane = np.arange(WARP_SIZE)
    agree = np.zeros((len(addresses), WARP_SIZE // lanes), dtype=np.bool_)
    for partner in (lane ^ 1, lane ^ 2):
        same = (addresses == addresses[:, partner]) | ~active | ~active[:, partner]
        agree |= same.reshape(len(addresses), -1, lanes).all(axis=2)
    return agree


def _fullest(addresses: Addresses, active: Active, bytes_per_lane: int, lanes: int) -> Counts:
    """The distinct words in the fullest bank of each run of `lanes` lanes. Shape (warps, runs)."""
    lanes = min(lanes, WARP_SIZE)
    warps, words_per_lane = len(addresses), max(1, bytes_per_lane // WORD_BYTES)
    words: NDArray[Any] = (
        addresses.astype(np.int32) // WORD_BYTES
    )  # shared memory has less than 2 GiB
    if words_per_lane > 1:
        words = words[:, :, None] + np.arange(words_per_lane, dtype=np.int32)
    # One row for each run; an inactive lane's words become -1, which no bank holds.
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
    return in_bank.max(axis=1).reshape(warps, -1).astype(np.int64)


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
