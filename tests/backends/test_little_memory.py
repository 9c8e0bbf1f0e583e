"""A card whose memory other processes have almost used up: `make test-gpu`.

The whole collection takes minutes; FAMILIES="copy reduce_sum" in the environment runs only these.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from typing_commands import harness

from harness import tables
from harness.run.measurement import NO_MEMORY

pytestmark = pytest.mark.gpu

TIMING = Path(__file__).parents[2] / "scripts" / "timing"
GIB = 1 << 30


@pytest.fixture(scope="module")
def holder(script_of: Callable[[str], ModuleType]) -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TIMING))
        yield script_of("holder")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("gib", [5.5, 7.5, 11, 15])
def test_a_quick_run_of_everything_ends_well(
    holder: ModuleType, tmp_path: Path, gib: float
) -> None:
    only = [word for name in os.environ.get("FAMILIES", "").split() for word in ("--only", name)]
    with holder.held_but_for(gib) as left:
        assert left == pytest.approx(gib, abs=0.2)
        ended = harness("run", "--quick", "--backend", "cuda", "--out", tmp_path / "run", *only)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    told = json.loads((tmp_path / "run" / "run.json").read_text())
    assert told["device"]["room"]["device_free"] == pytest.approx(gib * GIB, rel=0.1)
    run = tables.load(tmp_path / "run")
    statuses = {outcome.status for outcome in run.outcomes.values()}
    assert "ok" in statuses
    assert "failed" not in statuses
    for case, outcome in run.outcomes.items():
        if NO_MEMORY in outcome.reason:
            assert "needs" in outcome.reason, case
            assert "free" in outcome.reason, case
