"""The costs stored for an operation's last addresses are reused only for the same addresses, apart
from a common offset, in the same memory."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from emulator_tools import ptx_kernel

from harness.emulator import launch, parse

EITHER: list[Literal["auto", "judge"]] = ["auto", "judge"]


@pytest.mark.parametrize("engine", EITHER)
def test_one_instruction_that_goes_to_shared_and_then_to_global_memory_is_counted_in_both(
    engine: Literal["auto", "judge"],
) -> None:
    """32 lanes read every second word: 2 wavefronts in shared memory, 8 sectors in global
    memory."""
    body = """
        ld.param.u64 %l1, [p0];
        mov.u32 %r3, buffer;
        cvt.u64.u32 %l2, %r3;
        mad.wide.u32 %l4, %i, 8, %l2;
        st.shared.v2.u32 [%l4], {%i, %i};
        bar.sync 0;
        cvta.shared.u64 %l5, %l2;
        mov.u32 %r5, 0;
        mov.u32 %r6, 0;
    $again:
        mad.wide.u32 %l6, %i, 8, %l5;
        ld.u32 %r4, [%l6];
        add.u32 %r6, %r6, %r4;
        mov.u64 %l5, %l1;
        add.u32 %r5, %r5, 1;
        setp.lt.u32 %p1, %r5, 3;
        @%p1 bra $again;
        mad.wide.u32 %l6, %i, 4, %l1;
        st.global.u32 [%l6+256], %r6;
    """
    x = np.arange(96, dtype=np.uint32)
    shared = ".shared .align 8 .b8 buffer[256];"
    report = launch(parse(ptx_kernel(body, ["u64"], shared)), "k", 1, 32, [x], engine=engine)
    assert not report.faults
    np.testing.assert_array_equal(x[64:], np.arange(32) + 2 * 2 * np.arange(32))
    [load] = [each for each in report.instructions if each.opcode == "ld.u32"]
    assert (load.shared_requests, load.shared_wavefronts) == (1, 2)
    assert (load.global_requests, load.global_sectors) == (2, 16)


@pytest.mark.parametrize("engine", EITHER)
@pytest.mark.parametrize("first", [0, 1 << 63])
@pytest.mark.parametrize("lane", [1, 17, 31])
def test_addresses_so_far_apart_that_their_distance_wraps_around_are_outside(
    engine: Literal["auto", "judge"], first: int, lane: int
) -> None:
    """All lanes read a buffer except one lane, whose address is half of the address space away."""
    body = f"""
        ld.param.u64 %l1, [p0];
        mov.u64 %l2, {first};
        setp.eq.u32 %p1, %i, {lane};
        @%p1 xor.b64 %l2, %l2, {1 << 63};
        mad.wide.u32 %l3, %i, 4, %l1;
        ld.global.u32 %r1, [%l3];
        add.u64 %l3, %l3, %l2;
        ld.global.u32 %r2, [%l3];
        st.global.u32 [%l1], %r2;
    """
    x = np.arange(32, dtype=np.uint32)
    report = launch(parse(ptx_kernel(body, ["u64"])), "k", 1, 32, [x], engine=engine)
    [fault] = report.faults
    assert fault.kind == "out of bounds"
