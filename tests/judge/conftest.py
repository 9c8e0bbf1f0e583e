"""One judge for all tests of a file, because its processes take seconds to start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.judge import api
from harness.judge.judge import Judge


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    with Judge(jobs=1, home=tmp_path_factory.mktemp("judge")) as found:
        yield found


@pytest.fixture(scope="module")
def own_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Work in a folder that belongs to the test file, and end the judge of `harness.check` after
    its tests."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("place"))
    yield
    api.close()
    os.chdir(before)
