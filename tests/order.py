"""The order of tests: the longest come first in each worker's share.

pytest-xdist gives each worker an equal, contiguous share of the list, and lets workers that are
done take tests from the ends of the others' shares. If long tests are at the beginning of each
share, the last tests are short, and all workers end at about the same time. An order that is out of
date costs minutes but changes no result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

TESTS = Path(__file__).parent
LONGEST = (
    "test_fidelity.py", "timed/test_stopping.py", "comparison/test_gate_edits.py",
    "compiler/test_host.py", "commands/test_sandbox.py", "run/test_small_machine.py",
    "cheats/test_scrutiny.py", "emulator/engine/test_properties.py", "test_readme.py",
    "test_main.py", "timed/test_lost_card.py", "analysis/test_causes.py", "timed",
)  # fmt: skip
"""Files and folders with the longest single tests and fixtures, the longest first, by processor
time, including that of their child processes."""


def in_shares(items: Sequence[T], place: Callable[[T], Path], workers: int) -> list[T]:
    """Divide the items into equal shares for this many workers, each with long files at its
    beginning."""
    files = [list(of_one) for _, of_one in groupby(items, key=place)]
    long = sorted((f for f in files if _rank(place(f[0])) is not None), key=lambda f: (
        _rank(place(f[0])), str(place(f[0])),
    ))  # fmt: skip
    rest = [item for file in files if _rank(place(file[0])) is None for item in file]
    found: list[T] = []
    left = len(items)
    for worker in range(workers):
        share = left // (workers - worker)
        left -= share
        own = [item for file in long[worker::workers] for item in file]
        fill = max(share - len(own), 0)
        found += own + rest[:fill]
        rest = rest[fill:]
    return found + rest


def _rank(path: Path) -> int | None:
    inside = path.relative_to(TESTS)
    return next((n for n, each in enumerate(LONGEST) if inside.is_relative_to(each)), None)


def workers() -> int:
    """The number of workers that share the tests."""
    return int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
