"""Each side's source as it was compiled, and the differences between the two.

A file is taken from kernels/, from the run's own folder if that has the kernels of both sides, or
from the run's commit, and only if its hash is the one in the journal: source that was not measured
is never shown.
"""

from __future__ import annotations

import difflib
import hashlib
import subprocess
from pathlib import Path

from harness.analysis.lines.sources import LARGEST, REPOSITORY, Difference, Source
from harness.comparison.pairs import Side, suffix_of
from harness.files.git import GIT
from harness.journal import run_files

SECONDS = 20.0
"""Deadline for git, in seconds."""


def made_from(base: Side, new: Side) -> list[tuple[str, str, str]]:
    """The inputs to a case's result that differ: a file, `nvcc` or `bench.yaml`, before and
    after."""
    was, now = base.planned.made_from, new.planned.made_from
    if base.run is new.run or not was or not now:
        return []
    keys = dict.fromkeys((*was, *now))
    return [(k, was.get(k, ""), now.get(k, "")) for k in keys if was.get(k) != now.get(k)]


def source_changed(base: Side, new: Side) -> bool | None:
    """Return whether the variant's own file differs; None if the journal does not say."""
    hashes = [_hashes(side) for side in (base, new)]
    return hashes[0] != hashes[1] if all(hashes) else None


def difference(base: Side, new: Side, folder: Path | None = None) -> Difference:
    """The diff of the two sources. `folder`: kernels/, which contains the files."""
    here = Path("kernels")
    folder = folder or (here if here.is_dir() else REPOSITORY / "kernels")
    name = _name(new) or _name(base)
    if not name:
        return Difference("", missing="the journal does not say which source was compiled")
    old, young = (_source(side, name, folder) for side in (base, new))
    missing = old.missing or young.missing
    if missing:
        return Difference(name, missing=missing)
    lines = difflib.unified_diff(old.content.splitlines(), young.content.splitlines(),
                                 f"{name}, base", f"{name}, new", lineterm="", n=2)  # fmt: skip
    return Difference(name, list(lines))


def _hashes(side: Side) -> list[str]:
    return [made.source_sha256 for made in side.run.compiled.get(side.case, [])]


def _name(side: Side) -> str:
    """Find the name of the source that the case was compiled from, by its hash."""
    hashes = _hashes(side)
    sources = side.run.info.get("sources") or {}
    found = [name for name, sha in sources.items() if hashes and sha == hashes[0]]
    return min(found, key=len, default="")


def _source(side: Side, name: str, folder: Path) -> Source:
    hashes = _hashes(side)
    if not hashes:
        return Source(missing="nothing of it was compiled")
    commit = _commit(side)
    suffix = suffix_of(side.run)
    for content in (
        run_files.read_within(folder, name, LARGEST),
        _own(side.run.folder, f"kernels/{name}"),
        _own(side.run.folder, f"kernels/{suffix}/{name}") if suffix else None,
        _committed(folder, name, commit),
    ):
        if content is not None and hashlib.sha256(content).hexdigest() == hashes[0]:
            return Source(content.decode(errors="replace"))
    return Source(missing=f"{name} as it was is neither here nor in commit {commit[:10] or '?'}")


def _commit(side: Side) -> str:
    beside = side.run.info.get("beside") or {}
    suffix = suffix_of(side.run)
    if suffix and side.planned.variant.endswith(suffix):
        return str(beside.get("commit") or "")
    return str((side.run.info.get("commit") or {}).get("id") or "")


def _own(folder: Path, name: str) -> bytes | None:
    try:
        return run_files.read(folder, name, LARGEST)
    except (OSError, ValueError):
        return None


def _committed(folder: Path, name: str, commit: str) -> bytes | None:
    if not commit.isalnum():
        return None
    try:
        shown = subprocess.run([*GIT, "show", f"{commit}:./{name}"], cwd=folder,
                               capture_output=True, timeout=SECONDS)  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return shown.stdout if shown.returncode == 0 else None
