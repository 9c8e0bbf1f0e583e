"""Inputs and references of timed sizes are computed once per run, by processes that time
nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from station import Station

from harness.run import drawing
from harness.run.measurement import Drawn
from harness.worker.inputs import Scratch

REFERENCE = "    def reference(self, sizes, dtype, inputs):\n"
NOTED = """\
        if sizes["n"] in (1024, 512):
            import sys, zlib
            with open({path!r}, "a") as file:
                file.write(str(zlib.crc32(inputs["input"].tobytes())) + "\\n")
"""


@pytest.fixture
def worked_out(station: Station) -> Path:
    """A line for every computation of a reference at a timed size, with its inputs.

    The search for the other state of the typical draw takes a random number of attempts.
    """
    problem = station.folder / "kernels" / "double" / "problem.py"
    text, path = problem.read_text(), station.folder / "worked_out"
    assert text.count(REFERENCE) == 1
    problem.write_text(text.replace(REFERENCE, REFERENCE + NOTED.format(path=str(path))))
    return path


@pytest.mark.parametrize("jobs", [1, drawing.CORES])
@pytest.mark.parametrize("variant", ["honest2", "vary1", "vary_rarely1"])
def test_a_reference_is_worked_out_once_for_each_draw_whatever_its_placements_need(
    station: Station, worked_out: Path, jobs: int, variant: str
) -> None:
    found = station.run("honest1", variant, sizes="[1024, 512]", jobs=jobs)
    assert {o.status for o in found.outcomes.values()} == {"ok"}
    times = Counter(worked_out.read_text().split())
    assert len(times) >= 6  # two draws for each size, and the other state of one
    again = 2 if variant == "vary_rarely1" and jobs == 1 else 0  # found to vary only when timed
    assert times.total() - len(times) == again


def test_files_that_are_not_what_was_told_are_drawn_anew(
    station: Station, worked_out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoilt(folder: Path, files: dict[int, dict[str, str]]) -> Drawn:
        for path in folder.glob("*/reference-*.npy"):
            path.write_bytes(path.read_bytes()[:-8] + b"\0" * 8)
        return Drawn(folder, files)

    monkeypatch.setattr(drawing, "Drawn", spoilt)
    found = station.run("honest1", jobs=drawing.CORES)
    assert {o.status for o in found.outcomes.values()} == {"ok"}
    times = Counter(worked_out.read_text().split())
    assert sorted(times.values())[-2:] == [2, 2]
    assert times.total() - len(times) == 2


def test_the_hash_of_a_kept_array_is_of_all_that_it_holds(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "draw")
    scratch.keep("input", {"x": np.arange(4.0)})
    before = scratch.hashes()
    scratch.keep("input", {"x": np.array([0.0, 1.0, 2.0, 4.0])})
    assert before.keys() == scratch.hashes().keys() == {"input-x.npy"}
    assert before != scratch.hashes()
