"""Shell completion of options, once `kernel-harness --install-completion` has been run.

A faulty matrix is not an error here; it only disables suggestions.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.errors import HarnessError
from harness.journal import run_files


def cases(incomplete: str) -> Iterator[str]:
    """Complete problems, then their variants, from the typed text; needs no compiler or GPU."""
    from harness.commands import matrix_names

    problem, slash, _ = incomplete.partition("/")
    try:
        known = matrix_names.problems()
        if slash:
            known = [f"{problem}/{variant}" for variant in matrix_names.variants(problem)]
    except HarnessError:
        return
    yield from (name for name in known if name.startswith(incomplete))


def dtypes(incomplete: str) -> Iterator[str]:
    from harness.dtypes import BY_NAME

    yield from (name for name in BY_NAME if name.startswith(incomplete))


def runs(incomplete: str) -> Iterator[str]:
    """The run folders in reports/, and the saved baselines."""
    yield from (name for name in run_files.baselines() if name.startswith(incomplete))
    for path in sorted(run_files.REPORTS.glob("*/run.json")):
        if str(path.parent).startswith(incomplete):
            yield str(path.parent)
