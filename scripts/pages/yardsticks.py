"""Check whether a committed run was measured against the current libraries, on the current
inputs."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from harness.analysis.lines.sources import has_same_code
from harness.errors import HarnessError
from harness.files import source_text
from harness.matrix import model
from harness.tables import Run

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"
WHAT_THEY_ARE = "measurement.md#the-yardsticks"
"""The link, within docs/, to the description of the libraries."""


def is_older(run: Run, problem: str) -> bool:
    """Return whether the problem now has other libraries, or other files that make its inputs or
    libraries.

    False for a problem that is not in kernels/, because there is nothing to compare.
    """
    if problem not in _today():
        return False
    planned = [p for p in run.planned.values() if p.problem == problem]
    there = {p.variant for p in planned if p.is_library}
    made_from = {
        (name, digest)
        for p in planned
        for name, digest in p.made_from.items()
        if name == f"{problem}/problem.py" or (p.is_library and name.startswith(f"{problem}/"))
    }
    return there != _today()[problem] or any(not is_today(run, *each) for each in made_from)


def is_today(run: Run, name: str, digest: str) -> bool:
    """Return whether the file under kernels/ that had this hash in the run still contains the same
    code, ignoring comments."""
    path = KERNELS / name
    if not path.is_file():
        return False
    content = path.read_bytes()
    source = str((run.info.get("sources") or {}).get(name, ""))
    return source_text.is_of(content, digest) or (
        source.startswith(digest) and has_same_code(run, name, content)
    )


@cache
def _today() -> dict[str, set[str]]:
    """Problem → its libraries."""
    try:
        problems = model.load(ROOT / "bench.yaml", KERNELS).problems
    except HarnessError:  # the code that reads the matrix reports its errors
        return {}
    return {
        name: {v.name for v in problem.everything() if v.as_library}
        for name, problem in problems.items()
    }
