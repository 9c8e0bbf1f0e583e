"""The kernels of a submission, as plain data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field
from pydantic.dataclasses import dataclass

from harness.judge.submissions.fields import (
    CONFIG,
    Extent,
    Extents,
    MaybeExtents,
    Names,
    ShortName,
    ShortPath,
    Sizes,
    Source,
    title,
)  # fmt: skip


def is_path(source: str) -> bool:
    """Return whether a kernel's source is a file name. Code would contain a line break, a brace or
    a semicolon."""
    return source.endswith((".cu", ".cuh", ".ptx")) and not set("\n{;") & set(source)


_PTX = re.compile(r"\s*(?://[^\n]*\n\s*)*\.version\s+\d")
"""The beginning of a PTX file."""


@dataclass(config=CONFIG)
class Launch:
    """One launch of a kernel. grid, block: one number or expression per extent."""

    entry: ShortName
    """The kernel's name, as in C++ where it is a template or in a namespace."""
    grid: Extents
    block: Extents
    args: tuple[str | int | float, ...]
    """Arrays of the problem by name, or numbers and expressions."""
    shared: Extent = 0
    """Dynamic shared memory in bytes."""
    cluster: MaybeExtents = ()


@dataclass(config=CONFIG)
class Kernel:
    """CUDA C++ to be judged, and its launch.

    Give either one launch, by entry, grid, block and args, or several in `launches`.
    """

    source: Source
    """The text, or the path of a .cu file; or PTX, as other compilers write it."""
    entry: ShortName = ""
    grid: MaybeExtents = ()
    block: MaybeExtents = ()
    args: tuple[str | int | float, ...] = ()
    shared: Extent = 0
    launches: tuple[Launch, ...] = ()
    """Several launches, executed in order, instead of the fields above."""
    name: ShortName = ""
    """By default the name of the file or of the entry."""
    defines: dict[str, Extent] = Field(default_factory=dict)
    """Macros; numbers or expressions."""
    let: dict[str, int | float | str] = Field(default_factory=dict)
    """Names for expressions that the launch uses."""
    launch: Sizes = Field(default_factory=dict)
    """Launch keys with the values to try, such as `{"block": [128, 256]}`."""
    flags: tuple[str, ...] = ()
    """Further options of nvcc."""
    headers: dict[ShortPath, str] = Field(default_factory=dict)
    """Name → text of files that the source includes."""
    overwrites: Names = ()
    """Inputs that the kernel may change."""
    expect: dict[str, int | float | str] = Field(default_factory=dict)
    """Budgets, in the form of `expect:` in bench.yaml: `{"bank_conflicts": "none"}`."""
    when: str = ""
    """The sizes and launch keys for which the kernel is made, as a condition; it is not run at
    others."""

    def __post_init__(self) -> None:
        one = bool(self.entry or self.grid or self.block or self.args)
        if one == bool(self.launches):
            raise ValueError("a kernel has entry, grid, block and args, or else `launches`")
        if one and not (self.entry and self.grid and self.block):
            raise ValueError("a launch needs entry, grid and block")

    @property
    def is_file(self) -> bool:
        """Return whether `source` names a file."""
        return is_path(self.source)

    @property
    def file_name(self) -> str:
        """The name of the kernel's file in a matrix."""
        is_ptx = self.source.endswith(".ptx") if self.is_file else _PTX.match(self.source)
        return f"{self.title}.ptx" if is_ptx else f"{self.title}.cu"

    @property
    def title(self) -> str:
        """A name that is also valid as a file name."""
        if self.name:
            return self.name
        return title(Path(self.source).stem if self.is_file else self.all_launches[0].entry)

    @property
    def all_launches(self) -> Sequence[Launch]:
        if self.launches:
            return self.launches
        return (Launch(self.entry, self.grid, self.block, self.args, self.shared),)


@dataclass(config=CONFIG)
class Text:
    """A kernel's text alone, launched like a variant of the problem's folder."""

    source: str
    name: ShortName = "candidate"
    headers: dict[ShortPath, str] = Field(default_factory=dict)
