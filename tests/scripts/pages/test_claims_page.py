"""docs/generated/claims.md is generated, and has the result for every claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from harness import load
from harness.analysis import claims

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def script(script_of: Callable[[str], ModuleType]) -> Iterator[ModuleType]:
    """The script, which reads each committed run once for all tests."""
    module = script_of("claims_page")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "load", cache(load))
        yield module


def test_the_committed_page_is_up_to_date(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--check"]) == 0, capsys.readouterr().err


def test_check_tells_a_stale_page_and_leaves_it(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "PAGE", tmp_path / "claims.md")
    assert script.main(["--check"]) == 1
    script.PAGE.write_text("old")
    assert script.main(["--check"]) == 1
    assert script.PAGE.read_text() == "old"


NOT_RUN: set[str] = set()
"""Claims whose kernels are newer than the committed runs; remove a claim when its run is
committed."""


def test_every_claim_that_has_tests_is_decided_by_the_committed_runs_or_waits_for_one() -> None:
    text = (ROOT / "docs" / "generated" / "claims.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    found = claims.read()
    assert len(rows) == sum(bool(c.tests) and c.id not in NOT_RUN for c in found)
    waiting = text.partition("The kernels for these claims exist")[2]
    assert [c.id for c in found if c.text in waiting] == [c.id for c in found if c.id in NOT_RUN]
    assert all(row.endswith(("| holds |", "| does not hold |")) for row in rows)
    for claim in found:
        assert claim.text in text, claim.id
        assert not claim.waits_for or claim.waits_for in text
