"""Extract the kernels of a commit, named `git:REF`. Git runs as a subprocess, and its output is
written file by file: no link is followed or created, and nothing is written outside the folder.
"""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.console.suggestions import command
from harness.errors import UsageError
from harness.files.git import GIT

PREFIX = "git:"
SECONDS = 120.0
"""Deadline for git, in seconds."""
_LINK = "120000"
"""Git's mode of a symbolic link."""
_MOST_NAMED = 5


@dataclass(frozen=True)
class Commit:
    """A commit of the repository whose top is `root`. `given`: the text that the user typed."""

    given: str
    sha: str
    root: Path

    def files(self, below: str) -> bool:
        """Return whether the commit has this folder, a path from the root."""
        return _asked(self.root, "cat-file", "-t", f"{self.sha}:{_inside(below)}") == "tree"

    def has(self, path: str) -> bool:
        """Return whether the commit has this file."""
        return _asked(self.root, "cat-file", "-t", f"{self.sha}:{path}") == "blob"

    def extract(self, paths: Sequence[str], into: Path) -> None:
        """Write these files and folders of the commit under `into`. Raises UsageError."""
        listed = _git(self.root, "ls-tree", "-r", "-z", "--full-tree", self.sha, "--", *paths)
        if listed.returncode:
            raise UsageError(f"{self.given}: git ls-tree fails: {_said(listed)}")
        files = [entry.partition("\t") for entry in os.fsdecode(listed.stdout).split("\0") if entry]
        for path in paths:
            if not any(name == path or name.startswith(f"{path}/") for _, _, name in files):
                raise UsageError(f"{self.given}: the commit has no {path}")
        blobs = {}
        for about, _, name in files:
            mode, kind, blob = about.split()
            if mode == _LINK:
                raise UsageError(
                    f"{self.given}: {name} is a link, and links are not followed\n"
                    "  put the file itself there, or compare with another commit"
                )
            place = PurePosixPath(name)
            if place.is_absolute() or ".." in place.parts:
                raise UsageError(f"{self.given}: {name} leads out of its folder")
            if kind == "blob":
                blobs[place] = blob
        # Unlike `git archive`, this ignores attributes, which could leave out or rewrite a kernel.
        ended = _git(self.root, "cat-file", "--batch", given="\n".join(blobs.values()).encode())
        if ended.returncode:
            raise UsageError(f"{self.given}: git cat-file fails: {_said(ended)}")
        contents = io.BytesIO(ended.stdout)
        for place in blobs:
            _, _, size = contents.readline().split()
            target = into / place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(contents.read(int(size)))
            contents.read(1)  # the line break after it


def find(given: str, near: Path) -> Commit:
    """Find the commit that `git:REF` names, in the repository that contains `near`. Raises
    UsageError."""
    name = given.removeprefix(PREFIX)
    if not given.startswith(PREFIX) or not name:
        raise UsageError(
            f"{given!r} names no commit\n  write git: followed by a branch, tag or commit"
        )
    where = near if near.is_dir() else near.parent
    top = _git(where, "rev-parse", "--show-toplevel")
    if top.returncode:
        raise UsageError(
            f"{given}: {where} is not in a readable git repository: {_said(top)}\n"
            f"  compare two runs instead: {command('compare BASE NEW')}"
        )
    root = Path(os.fsdecode(top.stdout).rstrip("\n"))
    sha = _asked(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if not sha:
        if _asked(root, "rev-parse", "--is-shallow-repository") == "true":
            raise UsageError(
                f"{given}: this clone is shallow and does not have it\n"
                "  git fetch --unshallow; in GitHub Actions: actions/checkout with fetch-depth: 0"
            )
        raise UsageError(
            f"{given}: there is no such branch, tag or commit\n"
            "  git branch -a lists the branches; git fetch gets what is new"
        )
    return Commit(given, sha, root)


def tracked(root: Path, below: str) -> list[str]:
    """The files in a folder now, except those that git ignores."""
    listed = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--",
                  _spec(below))  # fmt: skip
    if listed.returncode:
        raise UsageError(f"git ls-files fails: {_said(listed)}")
    names = dict.fromkeys(os.fsdecode(listed.stdout).split("\0"))
    return [name for name in names if name and (root / name).is_file()]


def uncommitted(root: Path, paths: Sequence[str]) -> list[str]:
    """The files among these that differ from the checked-out commit, including new ones."""
    shown = _git(root, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--",
                 *map(_spec, paths))  # fmt: skip
    if shown.returncode:
        raise UsageError(f"git status fails: {_said(shown)}")
    return [entry[3:] for entry in os.fsdecode(shown.stdout).split("\0") if entry]


def named(files: Sequence[str]) -> str:
    """`a, b and 3 more`."""
    rest = f" and {len(files) - _MOST_NAMED} more" if len(files) > _MOST_NAMED else ""
    return ", ".join(files[:_MOST_NAMED]) + rest


def _inside(below: str) -> str:
    return "" if below == "." else below


def _spec(path: str) -> str:
    """Write a path so that git takes it literally and relative to the root."""
    return f":(top,literal){_inside(path)}"


def _asked(root: Path, *command: str) -> str:
    """Git's output; empty if it fails."""
    ended = _git(root, *command)
    return os.fsdecode(ended.stdout).strip() if ended.returncode == 0 else ""


def _said(ended: subprocess.CompletedProcess[bytes]) -> str:
    lines = os.fsdecode(ended.stderr).strip().splitlines()
    return lines[0] if lines else f"exit code {ended.returncode}"


def _git(where: Path, *command: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            [*GIT, *command], cwd=where, input=given, capture_output=True, timeout=SECONDS,
            env={**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
        )  # fmt: skip
    except FileNotFoundError:
        raise UsageError("git is not installed, or not on PATH") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"git {command[0]} does not answer: {error}") from None
