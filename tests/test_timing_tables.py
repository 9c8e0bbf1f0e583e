"""The tables that say how good the timing is are those of the committed figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_tables_in_the_docs_are_made_from_the_committed_figures() -> None:
    ended = subprocess.run(
        [sys.executable, ROOT / "scripts" / "pages" / "timing_tables.py", "--check"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
