"""What a shell offers behind an option, once `kernel-harness --install-completion` was typed.

Whatever is wrong with the matrix is no matter here: then nothing is offered.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.comparison import baselines
from harness.dtypes import BY_NAME
from harness.errors import HarnessError
from harness.matrix import model


def cases(incomplete: str) -> Iterator[str]:
    """Problems, then their variants, as far as they are typed; needs no compiler and no GPU."""
    problem, slash, _ = incomplete.partition("/")
    try:
        bench = model.load(None, None)
    except HarnessError:
        return
    for name, found in bench.problems.items():
        if slash and name == problem:
            names = [f"{name}/{variant.name}" for variant in found.everything()]
            yield from (each for each in names if each.startswith(incomplete))
        elif not slash and name.startswith(incomplete):
            yield name


def dtypes(incomplete: str) -> Iterator[str]:
    yield from (name for name in BY_NAME if name.startswith(incomplete))


def runs(incomplete: str) -> Iterator[str]:
    """The folders of runs in reports/, and the baselines that are kept."""
    yield from (name for name in baselines.names() if name.startswith(incomplete))
    for path in sorted(Path("reports").glob("*/run.json")):
        if str(path.parent).startswith(incomplete):
            yield str(path.parent)
