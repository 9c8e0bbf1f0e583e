"""Groups of `cp.async` and groups of bulk copies that share one scoreboard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sass.asynchronous.both import Case, launched, together
from tensor_kernels import kernel

from harness.emulator.sass.errors import UnknownMachineInstruction

_BYTES = 512


def _case(left: int) -> Case:
    """Copy bytes into shared memory with one kind of copy, and back, into the next array, with the
    other."""
    body = f"""
    shl.b32 %r4, %r1, 4; add.u32 %r5, %r2, %r4; cvt.u64.u32 %l5, %r4; add.u64 %l6, %l2, %l5;
    cp.async.cg.shared.global [%r5], [%l6], 16; cp.async.commit_group;
    cp.async.wait_group {left}; fence.proxy.async.shared::cta; bar.sync 0;
    @%p1 bra END;
    add.u64 %l7, %l2, {_BYTES};
    cp.async.bulk.global.shared::cta.bulk_group [%l7], [%r2], {_BYTES};
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    END:"""

    def arguments() -> list[object]:
        held = np.zeros(2 * _BYTES, np.uint8)
        held[:_BYTES] = np.arange(_BYTES)
        return [bytes(128), held]

    return Case("k", kernel(body), arguments)


def test_waits_until_none_is_left_are_for_both(tmp_path: Path) -> None:
    case = _case(0)
    ptx, code, theirs, ours = launched(together([case], tmp_path), case)
    assert not ptx.faults, ptx.faults[0]
    assert not code.faults, code.faults[0]
    for _, held in (theirs, ours):
        assert np.array_equal(held[_BYTES:], held[:_BYTES])
        assert held.any()


def test_a_wait_for_all_but_the_newest_is_refused(tmp_path: Path) -> None:
    case = _case(1)
    with pytest.raises(UnknownMachineInstruction, match="which waits do not tell apart"):
        launched(together([case], tmp_path), case)
