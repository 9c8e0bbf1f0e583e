"""A kernel of a suite: its source, its launch, and its faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

RACE, BOUNDS = frozenset({"race"}), frozenset({"out of bounds"})


@dataclass(frozen=True)
class Kernel:
    """A kernel that has a fault of one of the kinds in `faults`, or no fault if `faults` is empty.

    `source`: CUDA, or PTX if it begins with `.version`. `entry`: a part of the kernel's name, if
    the source has several kernels. `written`: how many bytes of its first array are initialised;
    None for all. `options`: nvcc's options for this source.
    """

    name: str
    source: str
    faults: frozenset[str]
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    arguments: Callable[[], list[Any]]
    entry: str = ""
    written: int | None = None
    options: tuple[str, ...] = ("-O3",)

    def after_writing(self, count: int) -> Kernel:
        return replace(self, written=count)

    @property
    def is_ptx(self) -> bool:
        return self.source.startswith(".version")


@dataclass(frozen=True)
class Suite:
    """A suite, which is one row of the table. `title`: its title in the table. `commit`: the commit
    of the clone from which `kernels` reads; None for Indigo3's whole programs."""

    title: str
    repository: str
    commit: str
    kernels: Callable[[Path], Iterator[Kernel]] | None
