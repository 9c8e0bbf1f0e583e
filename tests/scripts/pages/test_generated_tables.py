"""Tables in docs/ equal those that their scripts generate from the committed runs and figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[3] / "scripts" / "pages"


@pytest.mark.parametrize("script", ["evidence_table.py", "timing_tables.py"])
def test_a_table_in_the_docs_is_what_its_script_makes_of_the_committed_runs(script: str) -> None:
    ended = subprocess.run(
        [sys.executable, PAGES / script, "--check"], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
