"""One judge for all tests of a file: its processes take seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.judge.judge import Judge


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    with Judge(jobs=1, home=tmp_path_factory.mktemp("judge")) as found:
        yield found
