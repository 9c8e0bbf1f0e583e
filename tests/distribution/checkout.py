"""The files of this repository from which the package is installed, as in a fresh checkout."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
MADE_FROM = ("harness", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md",
             "constraints.txt", "action.yml")  # fmt: skip


def files() -> list[str]:
    """The files that git tracks or would add, which excludes caches and build results."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *MADE_FROM]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(name for name in listed.stdout.split("\0") if name and (ROOT / name).exists())


def copy(to: Path) -> Path:
    for name in files():
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    return to
