"""The launches of the diverging kernels, each with lane masks that control its branches.

This module needs only the Python standard library, so that it runs on a minimal machine.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "readings"))

import drawn_files
import generate

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "fidelity" / "divergence"
DRAWN_IN = ROOT / "build" / "divergence"
FILES = ("designed", *generate.KERNELS)
ARCH = "sm_90"
TRIPS, LANES, DRAWN = 2, 32, 8
EVERY = (
    (0x1FF, 0x3, 0x7, 0xF),
    (0x1FF, 0x0, 0x7, 0xF),
    (0xFFFFF, 0x1F, 0x3F, 0x7F),
    (0x1FF, 0xFF, 0x7F, 0x3F),
    (0xFFFF, 0x00FF, 0x0F0F, 0x3333),
    (0xFFFF0000, 0x00FFFF00, 0x0F0F0F0F, 0x33333333),
    (0xFFF, 0xFF, 0xF, 0x3),
)
"""Masks with which every kernel is launched: few lanes, many lanes, half of the lanes, and one mask
contained in another."""
SHARES = (1, 3, 7, 9, 13, 16, 16, 16, 21, 26, 31)
"""The numbers of lanes in the other masks; with 16 of 32, both sides of a branch are equal."""


@dataclass(frozen=True)
class Launch:
    """A launch of one warp of a kernel."""

    file: str
    kernel: str
    masks: tuple[int, int, int, int]

    @property
    def scalars(self) -> tuple[int, ...]:
        """The arguments after the two arrays."""
        return (*self.masks, TRIPS, 1)


def source(file: str) -> Path:
    """Return the path of a file's kernels, which are generated first if necessary."""
    if file not in generate.KERNELS:
        return FOLDER / f"{file}.cu"
    return drawn_files.keep(DRAWN_IN / f"{file}.cu", generate.text(file))


def launches() -> Iterator[Launch]:
    """Every launch of every kernel, in the order of the files."""
    for file in FILES:
        for kernel in re.findall(r"KERNEL\((\w+)\)", source(file).read_text("utf-8")):
            draw = random.Random(kernel)
            drawn = [tuple(_mask(draw) for _ in range(4)) for _ in range(DRAWN)]
            for a, b, c, d in (*EVERY, *drawn):
                yield Launch(file, kernel, (a, b, c, d))


def _mask(draw: random.Random) -> int:
    return sum(1 << lane for lane in draw.sample(range(LANES), draw.choice(SHARES)))
