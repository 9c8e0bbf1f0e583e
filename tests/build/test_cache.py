"""One cache, and several runs that build the same things at the same time."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from harness.build import cache

ENTRIES = 100


def make(work: Path) -> cache.About:
    (work / "kernel.cubin").write_text("machine code" * 10_000)
    return {"headers": []}


def build_all(folder: Path) -> int:
    """How many entries one process has got."""
    cache.CACHE = folder
    return sum((cache.entry_of(f"{i:032d}", make)[0] / "kernel.cubin").exists()
               for i in range(ENTRIES))  # fmt: skip


def test_processes_that_build_the_same_at_once_all_get_it(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.map(build_all, [tmp_path] * 3, chunksize=1) == [ENTRIES] * 3


def test_an_entry_whose_file_was_changed_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "CACHE", tmp_path)
    entry, _, _ = cache.entry_of("0" * 32, make)
    assert cache.entry_of("0" * 32, make)[2]
    (entry / "kernel.cubin").write_text("cut")
    again, _, was_there = cache.entry_of("0" * 32, make)
    assert not was_there
    assert (again / "kernel.cubin").read_text() != "cut"
