"""Barriers that are complete by count and yet wrong: CUDA wants all threads at the same one.

`__syncthreads()` in a branch that some of the block's threads do not take completes on hardware
when the others arrive at another one, or have left the kernel; what it then orders is not what the
source says. Threads may meet at different `barrier.sync`, without `.aligned`, which asks for
arrivals only; but one of the whole block asks for all threads, too. Warps that meet by a barrier's
number and count are left alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from harness.emulator.engine.judge.kernel_fault import KernelFault
from harness.emulator.engine.judge.lanes import WARP, Geometry, Mask
from harness.emulator.program.ir import Program

Key = tuple[int, int, int]  # basic block of the barrier, barrier number, thread count


def check_barrier(
    program: Program, geometry: Geometry, waiting: Mapping[Key, Mask], complete: Mask,
    gone: Mask,
) -> None:  # fmt: skip
    """Raises KernelFault if the rows `complete` are about to be released wrongly.

    `waiting` are the lanes at barriers of one number, `gone` those that have left the kernel.
    """
    shape = (geometry.blocks, geometry.threads)
    by_line: dict[int, list[Key]] = {}
    for key in waiting:
        opcode = program.sites[_site(program, key[0])].opcode
        if opcode.startswith("bar.") or ".aligned" in opcode:
            by_line.setdefault(program.sites[_site(program, key[0])].ptx_line, []).append(key)
    groups = [
        (keys[0], np.logical_or.reduce([np.broadcast_to(waiting[k], shape) for k in keys]))
        for keys in by_line.values()
    ]
    for key, mask in groups:
        for other, other_mask in groups:
            if other is key:
                continue
            wrong = _apart(mask, other_mask, complete, key[2] == 0 or other[2] == 0)
            if wrong is not None:
                row = wrong
                message = (
                    "threads of one block wait at different barriers: "
                    f"{_count(mask, row)} in line {_line(program, key[0])}, "
                    f"{_count(other_mask, row)} in line {_line(program, other[0])}"
                )
                _accuse(program, geometry, key, mask, row, message)
    for key, waits in waiting.items():
        mask = np.broadcast_to(waits, shape)
        rows = complete[:, 0] & mask.any(axis=1) & gone.any(axis=1)
        if key[2] == 0 and rows.any():
            row = int(np.argmax(rows))
            message = (
                f"{_count(mask, row)} threads wait at a barrier of the whole block, "
                f"and {_count(gone, row)} have left the kernel"
            )
            _accuse(program, geometry, key, mask, row, message)


def _apart(mask: Mask, other: Mask, complete: Mask, whole_block: bool) -> int | None:
    """The first row where a block's threads (or a warp's) are at both barriers."""
    if whole_block:
        rows = mask.any(axis=1) & other.any(axis=1) & complete[:, 0]
    else:
        rows = (_by_warp(mask) & _by_warp(other)).any(axis=1) & complete[:, 0]
    return int(np.argmax(rows)) if rows.any() else None


def _by_warp(mask: Mask) -> Mask:
    starts = np.arange(0, mask.shape[1], WARP)
    warps: Mask = np.logical_or.reduceat(mask, starts, axis=1)
    return warps


def _count(mask: Mask, row: int) -> int:
    return int(np.count_nonzero(mask[row]))


def _site(program: Program, number: int) -> int:
    return getattr(program.blocks[number].terminator, "site", 0) or 0


def _line(program: Program, number: int) -> str:
    site = program.sites[_site(program, number)]
    return str(site.location.line) if site.location else f"? (PTX line {site.ptx_line})"


def _accuse(
    program: Program, geometry: Geometry, key: Key, mask: Mask, row: int, message: str
) -> None:
    one = np.zeros(mask.shape, np.bool_)
    one[row, int(np.argmax(mask[row]))] = True
    lanes = geometry.select(one)
    raise KernelFault("divergent barrier", message, _site(program, key[0]), lanes, 0)
