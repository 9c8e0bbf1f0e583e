"""Fixtures that build synthetic runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from synthetic_runs import GBPS, Bench


@pytest.fixture
def bench() -> Callable[..., Bench]:
    return Bench


@pytest.fixture
def few() -> dict[str, float]:
    """Two variants and the library: enough for most sentences, and quick to draw."""
    return {name: GBPS[name] for name in ("v0_global_memory", "v9_vectorized", "torch")}
