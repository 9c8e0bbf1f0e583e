"""A run packed to be kept, in a repository say: run.json, and the journal compressed.

A packed run is read, redrawn and compared like any other. Its pages share one copy of the chart
library with those packed beside it. What it lacks are the reports of Nsight Compute, whose figures
the journal has. To go on with it is to unpack it.
"""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

JOURNAL, COUNTERS = "journal.jsonl", "counters.csv"
ENDING = ".gz"
ASSETS = "../assets/"
"""Where the pages of packed runs have what they share, seen from a run's folder."""


def is_packed(folder: Path) -> bool:
    return not (folder / JOURNAL).exists() and (folder / (JOURNAL + ENDING)).exists()


def named(folder: Path, name: str) -> Path:
    """The journal or counters of a run, compressed in a packed one."""
    return folder / (name + ENDING if is_packed(folder) else name)


def pack(run: Path, target: Path) -> None:
    """Write what a run is told by into another folder, or the same. Raises OSError."""
    target.mkdir(parents=True, exist_ok=True)
    if run.resolve() != target.resolve():
        shutil.copyfile(run / "run.json", target / "run.json")
    journal = named(run, JOURNAL)
    packed = journal.read_bytes()
    if not is_packed(run):  # no time in it, so that the same journal is the same file
        packed = gzip.compress(packed, compresslevel=9, mtime=0)
    _replace(target / (JOURNAL + ENDING), packed)
    for name in (JOURNAL, COUNTERS):
        (target / name).unlink(missing_ok=True)


def unpack(folder: Path) -> None:
    """So that records can be added; a run that is not packed stays as it is. Raises OSError."""
    if is_packed(folder):
        packed = folder / (JOURNAL + ENDING)
        _replace(folder / JOURNAL, gzip.decompress(packed.read_bytes()))
        packed.unlink()
        (folder / (COUNTERS + ENDING)).unlink(missing_ok=True)


def _replace(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(part, path)
