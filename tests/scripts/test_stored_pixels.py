"""Im2col stores on a GPU, each in a separate process: a store that hangs, fails or leaves other
bytes than the emulator is reported."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

READING = Path(__file__).parents[2] / "reports" / "h100" / "stored_pixels.json.gz"
pytestmark = pytest.mark.usefixtures("processes")

STAND_IN = """
import sys, time
_, _, folder, name = sys.argv
if name == "hangs":
    time.sleep(60)
if name == "fails":
    sys.exit("DriverError: cuCtxSynchronize failed: error 715")
print([[[5], [1]], [[7, 9], [2, 3]]])
"""


@pytest.fixture(scope="module")
def script(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("stored_pixels")


@pytest.fixture
def stand_in(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "launches.py"
    path.write_text(STAND_IN)
    monkeypatch.setattr(script, "__file__", str(path))
    return tmp_path


def test_the_probe_that_is_to_be_read_is_one_that_an_h100_executed(
    script: ModuleType, script_of: Callable[[str], ModuleType]
) -> None:
    [probe] = [
        each for each in script_of("probe_launches").probes() if each.kernel == "store_pixels_4"
    ]
    own = script.LAUNCHES["corners that begin at 0"]
    assert (own.kernel, own.name, own.scalars) == (probe.kernel, probe.name, probe.scalars)


def test_stores_change_what_an_h100_changed_and_are_faults_where_it_stopped_the_kernel(
    script: ModuleType, tmp_path: Path
) -> None:
    read = json.loads(gzip.decompress(READING.read_bytes()))
    script.prepare(tmp_path)
    ours = json.loads((tmp_path / "expected.json").read_text())
    assert ours.keys() == read.keys()
    assert sum("error" in of_h100 for of_h100 in read.values()) == 5
    for name, of_h100 in read.items():
        if "error" in of_h100:
            assert ["lower corner is negative" in each for each in ours[name]["faults"]] == [True]
        else:
            assert ours[name] == {"changes": of_h100["changes"], "faults": []}, name


def test_a_launch_that_hangs_is_ended_and_the_next_one_goes_on(
    script: ModuleType, stand_in: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(script, "LAUNCHES", dict.fromkeys(("hangs", "fails", "ends")))
    same = {"changes": [[[5], [1]], [[7, 9], [2, 3]]], "faults": []}
    expected = dict.fromkeys(script.LAUNCHES, same)
    (stand_in / "expected.json").write_text(json.dumps(expected))
    script.compare(stand_in, 3.0)
    assert capsys.readouterr().out.splitlines() == [
        "hangs: GPU: no end after 3 s; emulator: no fault",
        "fails: GPU: DriverError: cuCtxSynchronize failed: error 715; emulator: no fault",
        "ends: the same 3 bytes changed; emulator: no fault",
    ]
    kept = json.loads((stand_in / "stored_pixels.json").read_text())
    assert kept["ends"] == {"changes": same["changes"]}


def test_bytes_that_differ_are_told_with_the_first_of_them(script: ModuleType) -> None:
    before = [np.zeros(8, np.uint8) for _ in range(3)]
    ours, theirs = ([each.copy() for each in before] for _ in range(2))
    ours[2][3], theirs[2][3], theirs[2][5] = 4, 5, 6
    here = {"changes": script.changes(before, ours), "faults": ["a store beyond"]}
    said = script.compared({"changes": script.changes(before, theirs)}, here)
    assert said == (
        "2 bytes differ (GPU changed 2, emulator 1), the first at 3 of the tensor; emulator: a "
        "store beyond"
    )
