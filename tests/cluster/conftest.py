"""Fixtures: runs of the matrix of ground.py, and workers for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import workers
from ground import Ground, made_in
from workers import Workers

from harness.compiler import cache


@pytest.fixture(scope="module", autouse=True)
def _quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Write no pages, which take seconds; share one compile cache; let worker processes import the
    harness."""
    from harness.report import site

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "write_pages", lambda run: run.folder / "report.html")
        patch.setattr(cache, "CACHE", tmp_path_factory.getbasetemp() / "compiled")
        patch.setenv("PYTHONPATH", str(workers.ROOT))
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("tmp")))
        yield


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, _quick: None) -> Ground:
    """A Ground whose folder `alone` contains a run by a single process."""
    made = made_in(tmp_path_factory.mktemp("ground"))
    assert made.run("alone") == 0
    return made


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return made_in(tmp_path)


@pytest.fixture(scope="module")
def three(_quick: None) -> Iterator[Workers]:
    """Three workers with one core each."""
    made = workers.started(3)
    yield made
    made.close()
