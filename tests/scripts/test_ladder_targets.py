"""docs/generated/targets.md is generated, and states how near each family came to its target."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("targets")


def test_the_committed_page_is_up_to_date(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--check"]) == 0, capsys.readouterr().err


def test_every_target_that_was_missed_has_its_limit(script: ModuleType) -> None:
    for each in yaml.safe_load(script.DATA.read_text())["targets"]:
        target = script.Target(**each)
        rows = [row for row in script.of_types(target) if "✗" in row]
        assert not rows or target.limit, f"{rows}: say what limits it in {script.DATA}"


def test_a_target_for_a_time_is_the_longest_and_for_a_roof_the_least(script: ModuleType) -> None:
    scan = script._ladders("H200", "scan")
    near, far = (script.Target("scan", roof=roof) for roof in (0.5, 0.999))
    quick, slow = (script.Target("scan", time_us=limit) for limit in (1, 10_000))
    [ladder] = near.chosen(scan)
    assert near.mark(ladder) == slow.mark(ladder) == "✓"
    assert far.mark(ladder) == quick.mark(ladder) == "✗"
