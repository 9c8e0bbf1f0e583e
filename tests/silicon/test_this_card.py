"""The table of architectures compared with the driver's values for the installed card."""

from __future__ import annotations

import dataclasses

import pytest

from harness.cases import Device
from harness.machine.devices import cuda_device
from harness.silicon.architectures import ARCHITECTURES, Architecture, Limits

pytestmark = pytest.mark.gpu

OF_THE_PRODUCT = ("sm_count", "l2_bytes")
UNTOLD = {
    "max_registers_per_thread", "register_allocation", "shared_allocation_bytes",
    "sub_partitions_per_sm",
}  # fmt: skip
"""Values that come from the table for a real card, too, because no driver reports them."""


@pytest.fixture(scope="module")
def card() -> Device:
    return cuda_device(None)


@pytest.fixture
def row(card: Device) -> Architecture:
    major, minor = card.compute_capability
    if f"sm_{major}{minor}" not in ARCHITECTURES:
        pytest.skip(f"{card.name} is sm_{major}{minor}, of which there is no row")
    return ARCHITECTURES[f"sm_{major}{minor}"]


@pytest.mark.parametrize(
    "limit", sorted({each.name for each in dataclasses.fields(Limits)} - UNTOLD)
)
def test_a_limit_in_the_table_is_the_drivers(card: Device, row: Architecture, limit: str) -> None:
    assert card.own_limits is not None
    assert getattr(row, limit) == getattr(card.own_limits, limit)


@pytest.mark.parametrize("fact", OF_THE_PRODUCT)
def test_what_the_table_says_of_a_product_is_the_drivers(
    card: Device, row: Architecture, fact: str
) -> None:
    if card.name != row.representative.name:
        pytest.skip(f"{row.name} stands there as {row.representative.name}; this is {card.name}")
    assert getattr(row.representative, fact) == getattr(card, fact)


def test_the_cards_memory_is_what_the_product_has_but_for_a_few_per_cent(
    card: Device, row: Architecture
) -> None:
    if card.name != row.representative.name:
        pytest.skip(f"{row.name} stands there as {row.representative.name}; this is {card.name}")
    assert card.memory_bytes == pytest.approx(row.representative.memory_bytes, rel=0.1)
