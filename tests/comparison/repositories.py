"""A git repository that belongs to a test."""

from __future__ import annotations

import subprocess
from pathlib import Path

PERSON = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org",
          "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always")  # fmt: skip


def git(where: Path, *command: str) -> str:
    """Run a git command; return its output."""
    ended = subprocess.run(
        ["git", *PERSON, *command], cwd=where, capture_output=True, text=True, check=True
    )
    return ended.stdout.strip()


def commit(where: Path, words: str = "as it is") -> str:
    """Commit everything; return the commit's hash."""
    if not (where / ".git").exists():
        git(where, "init", "-q", "-b", "main")
        (where / ".gitignore").write_text("run*/\n.cache/\ncache/\n__pycache__/\n")
    git(where, "add", "-A")
    git(where, "commit", "-q", "--allow-empty", "-m", words)
    return git(where, "rev-parse", "HEAD")
