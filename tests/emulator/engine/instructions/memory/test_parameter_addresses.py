"""Addresses of kernel parameters: 64 bits wide, or 32 if LLVM's short pointers are enabled."""

from __future__ import annotations

import numpy as np
import pytest

from harness.emulator import launch, parse

KERNEL = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u32 first, .param .align 8 .b8 values[64], .param .u64 out)
{
    .reg .b32 %r<4>; .reg .b64 %l<6>;
    ld.param.u64 %l5, [out]; mov.u32 %r3, %tid.x; mul.wide.u32 %l4, %r3, 4; add.u64 %l5, %l5, %l4;
    BODY
    st.global.u32 [%l5], %r2; ret;
}
"""
WIDE = "mov.b64 %l1, values; cvta.param.u64 %l2, %l1; add.u64 %l2, %l2, %l4; ld.u32 %r2, [%l2+8];"
SHORT = """mov.b32 %r1, values; cvt.u64.u32 %l1, %r1; cvta.param.u64 %l2, %l1;
    add.u64 %l2, %l2, %l4; ld.u32 %r2, [%l2+8];"""
SHORT_IN_LOAD = """mov.b32 %r1, values; cvt.u32.u64 %r2, %l4; add.u32 %r1, %r1, %r2;
    ld.param.u32 %r2, [%r1+8];"""
BEYOND = SHORT.replace("+8", "+64")


@pytest.mark.parametrize("engine", ["auto", "judge"])
@pytest.mark.parametrize("body", [WIDE, SHORT, SHORT_IN_LOAD])
def test_a_parameter_is_read_at_its_address(body: str, engine: str) -> None:
    out, values = np.zeros(4, np.uint32), np.arange(100, 116, dtype=np.uint32)
    module = parse(KERNEL.replace("BODY", body))
    report = launch(module, "k", 1, 4, [7, np.void(values.tobytes()), out], engine=engine)
    assert not report.faults, report.faults[0]
    np.testing.assert_array_equal(out, values[2:6])


def test_a_short_address_beyond_the_parameters_is_told() -> None:
    module = parse(KERNEL.replace("BODY", BEYOND))
    given = [7, np.void(bytes(64)), np.zeros(4, np.uint32)]
    (fault,) = launch(module, "k", 1, 4, given).faults
    assert "past the end of kernel parameters" in fault.message
