"""The architecture for which a card's code is compiled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.cases import Device
from harness.compiler.targets import choose, known
from harness.errors import BackendUnavailable

NAMES = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_90a", "sm_100", "sm_120")


@pytest.mark.parametrize(
    ("capability", "arch"),
    [
        ((9, 0), "sm_90"),
        ((8, 9), "sm_86"),  # machine code for 8.6 runs on 8.9
        ((12, 1), "sm_120"),
        ((13, 0), "sm_120"),  # its PTX, by the driver
    ],
)
def test_it_is_the_newest_that_is_not_newer_than_the_card(
    capability: tuple[int, int], arch: str
) -> None:
    assert choose(capability, NAMES, "a card", "13.0.88") == arch


def test_a_card_that_nvcc_has_dropped_is_told_which_one_knows_it() -> None:
    with pytest.raises(BackendUnavailable, match=r"V100 is sm_70, and nvcc 13\.0\.88 writes for"):
        choose((7, 0), NAMES, "V100", "13.0.88")


def test_nvcc_is_asked_what_it_knows() -> None:
    assert "sm_90" in known()


@pytest.mark.parametrize(
    ("arch", "capability", "machine_code"),
    [
        ("sm_90", (9, 0), True),
        ("sm_90a", (9, 0), True),
        ("sm_86", (8, 9), True),
        ("sm_120", (13, 0), False),
        ("sm_90", (8, 0), False),
    ],
)
def test_machine_code_runs_on_its_own_major_number_only(
    device: Device, arch: str, capability: tuple[int, int], machine_code: bool
) -> None:
    card = replace(device, arch=arch, capability=capability)
    assert card.runs_machine_code is machine_code
