"""The synthetic runs of the report's tests, and the repositories of those of the comparison."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

for folder in ("report", "comparison"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))


@pytest.fixture
def tmp_path(same_place: Path) -> Path:
    """Commands share what they compile, which is most of what they take."""
    return same_place
