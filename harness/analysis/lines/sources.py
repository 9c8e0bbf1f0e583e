"""The source of a case at the time of the run, or why it cannot be shown.

run.json holds the hash of each source and of its code, not its text. A file is shown only if it
still has the same code at the same lines, so a page never shows code that was not measured.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.files import source_text
from harness.journal import run_files
from harness.journal.records import Planned
from harness.tables import Run

REPOSITORY = Path(__file__).parents[3]
LARGEST = 1 << 24
"""The largest source that is shown, in bytes."""


@dataclass(frozen=True)
class Difference:
    """The lines of a unified diff, or the reason why there is none."""

    title: str
    lines: Sequence[str] = ()
    missing: str = ""


@dataclass(frozen=True)
class Source:
    """The source text as compiled, or the reason why it cannot be shown."""

    content: str = ""
    missing: str = ""


def as_it_was(run: Run, name: str, folder: Path | None = None) -> Source:
    """The source of that name in run.json, if nothing but its comments has changed since."""
    content = _content(run, name, folder)
    if content is None:
        return Source(missing=f"{name} is not here")
    if not has_same_code(run, name, content):
        return Source(missing=f"{name} has changed since this run")
    return Source(content.decode(errors="replace"))


def has_same_code(run: Run, name: str, content: bytes) -> bool:
    """Return whether a source still has the code that the run measured; comments do not count."""
    source, code = ((run.info.get(key) or {}).get(name, "") for key in ("sources", "code"))
    return source_text.is_of(content, source) or (
        source_text.code_sha256(content, Path(name).suffix) == code
    )


def difference(run: Run, before: Planned, after: Planned, folder: Path | None = None) -> Difference:
    """The diff of two cases' sources. `folder`: kernels/, which holds the files."""
    names = [_path(run, p) for p in (before, after)]
    if names[0] is None or names[1] is None:
        return Difference("", missing="the journal does not say which source was compiled")
    title = f"{names[0]} → {names[1]}"
    found = [as_it_was(run, name, folder) for name in names if name]
    missing = [text.missing for text in found if text.missing]
    if missing:
        return Difference(title, missing=missing[0])
    if names[0] == names[1]:
        return Difference(title, missing="both are compiled from the same file")
    old, new = (text.content.splitlines() for text in found)
    lines = difflib.unified_diff(old, new, str(names[0]), str(names[1]), lineterm="", n=2)
    return Difference(title, list(lines))


def _path(run: Run, p: Planned) -> str | None:
    """Find the name of the source that the case was compiled from, by its hash."""
    made = run.compiled.get(p.case)
    sources = run.info.get("sources") or {}
    if not made:
        return None
    return next((name for name, sha in sources.items() if sha == made[0].source_sha256), None)


def _content(run: Run, name: str, folder: Path | None) -> bytes | None:
    """Read a source's content; an untrusted run.json may name any file."""
    if not folder and run.info.get("beside"):  # the run's own folder has both sides' sources
        try:
            return run_files.read(run.folder, f"kernels/{name}", LARGEST)
        except (OSError, ValueError):
            return None
    here = Path("kernels")
    home = folder or (here if here.is_dir() else REPOSITORY / "kernels")
    return run_files.read_within(home, name, LARGEST)
