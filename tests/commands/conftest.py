"""The synthetic runs of the report's tests, and the repositories of the comparison's tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

for folder in ("report", "comparison"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))


@pytest.fixture
def tmp_path(same_place: Path) -> Path:
    """A folder in which commands share compiled files, because most of their time goes into
    compilation."""
    return same_place
