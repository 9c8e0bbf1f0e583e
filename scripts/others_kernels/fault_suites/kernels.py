"""A kernel of a suite: what it is compiled from, how it is launched, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RACE, BOUNDS = frozenset({"race"}), frozenset({"out of bounds"})


@dataclass(frozen=True)
class Kernel:
    """A kernel that has a fault of one of the kinds in `faults`, or none if there are none.

    source: CUDA, or PTX if it begins with `.version`.
    """

    name: str
    source: str
    faults: frozenset[str]
    grid: int
    block: int
    arguments: Callable[[], list[Any]]

    @property
    def is_ptx(self) -> bool:
        return self.source.startswith(".version")


@dataclass(frozen=True)
class Suite:
    """A row of the table. title: as it stands there. commit: of the clone that `kernels` reads."""

    title: str
    repository: str
    commit: str
    kernels: Callable[[Path], Iterator[Kernel]]
