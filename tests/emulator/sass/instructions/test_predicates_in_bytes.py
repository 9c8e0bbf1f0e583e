"""`P2R.B1` stores predicates in a byte of a register, and `R2P` sets predicates from a byte."""

from __future__ import annotations

import numpy as np
import pytest
from one_by_one import LANES, State, executed

MASKS = (0x7F, 0x1, 0x2A)
PREDICATES = [f"P{n}" for n in range(7)]


def _state() -> State:
    rng = np.random.default_rng(5)
    registers = {n: rng.integers(0, 1 << 32, LANES, np.uint32) for n in (5, 6)}
    return State(registers, {}, {name: rng.random(LANES) < 0.5 for name in PREDICATES})


@pytest.mark.parametrize("named", ["", "PR,"])  # nvdisasm's JSON omits `PR`
@pytest.mark.parametrize("byte", range(4))
def test_predicates_go_to_a_byte_and_come_from_it(byte: int, named: str) -> None:
    selected = f".B{byte}" if byte else ""
    to = [f"P2R{selected} R5,R6,{mask:#x}" for mask in MASKS]
    back = [f"R2P {named}R6{selected},{mask:#x}" for mask in MASKS]
    states = [_state() for _ in [*to, *back]]
    before = _state()
    packed = sum(
        before.predicates[name].astype(np.uint32) << n for n, name in enumerate(PREDICATES)
    )
    left = executed(list(zip([*to, *back], states, strict=True)))
    for mask, state in zip(MASKS, left[: len(MASKS)], strict=True):
        kept = before.registers[6] & ~np.uint32(mask << 8 * byte)
        wanted = kept | (packed & np.uint32(mask)) << np.uint32(8 * byte)
        np.testing.assert_array_equal(state.registers[5], wanted)
    for mask, state in zip(MASKS, left[len(MASKS) :], strict=True):
        given = before.registers[6] >> np.uint32(8 * byte)
        for n, name in enumerate(PREDICATES):
            taken = given >> np.uint32(n) & 1 == 1 if mask >> n & 1 else before.predicates[name]
            np.testing.assert_array_equal(state.predicates[name], taken)
