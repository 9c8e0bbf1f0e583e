"""What the docs say of the code that made the committed runs is what hashes say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_docs_say_which_committed_runs_are_older_than_the_code() -> None:
    ended = subprocess.run(
        [sys.executable, ROOT / "scripts" / "pages" / "evidence_table.py", "--check"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
