"""Fixtures that build synthetic runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from synthetic_runs import GBPS, Bench

from harness.report.figures import style


@pytest.fixture(scope="module")
def without_pictures() -> Iterator[None]:
    """Empty files instead of PNGs, which take a third of a page's time: for modules that test only
    pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "_png", lambda *_: b"")
        yield


@pytest.fixture
def bench() -> Callable[..., Bench]:
    return Bench


@pytest.fixture
def few() -> dict[str, float]:
    """Two variants and the library, which suffice to test most sentences and are drawn quickly."""
    return {name: GBPS[name] for name in ("v0_global_memory", "v9_vectorized", "torch")}
