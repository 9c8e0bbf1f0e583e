"""The tests in this folder choose the engine themselves."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def engine() -> None:
    """Let a launch choose its engine, unless a test specifies one."""
