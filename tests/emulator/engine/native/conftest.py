"""These tests name the engines themselves."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def engine() -> None:
    """A launch chooses, unless it is told."""
