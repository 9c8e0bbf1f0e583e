"""`doctor` agrees with `make setup` on drivers and toolkits, and reports how a card affects
times."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.commands import doctor
from harness.compiler import drivers
from harness.console import suggestions
from harness.machine import card


@pytest.mark.parametrize("release", [(12, 2), (12, 9), None])
def test_what_make_setup_refuses_doctor_refuses_in_the_same_words(
    release: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "driver", lambda: release)
    monkeypatch.setattr(drivers, "toolkit", lambda: None)
    what, why, remedy = map(str.strip, str(drivers.obstacle(release, None)).splitlines())
    found = doctor._timing()
    assert (found.ok, found.found, found.remedy) == (False, f"{what}: {why}", remedy)


def test_what_can_be_timed_names_the_drivers_cuda_and_the_toolkit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = drivers.Toolkit("/opt/bin/nvcc", (12, 6), Path("/opt"))
    monkeypatch.setattr(drivers, "driver", lambda: (12, 9))
    monkeypatch.setattr(drivers, "toolkit", lambda: own)
    monkeypatch.setattr(drivers, "missing_for_building", lambda: None)
    found = doctor._timing()
    assert found.ok
    assert found.found == "the driver runs CUDA 12.9; toolkit 12.6 in /opt"


def test_what_a_card_does_to_times_is_a_line_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = SimpleNamespace(name="a card", arch="sm_89", sm_count=128, bus="0000:01:00.0")
    monkeypatch.setattr(doctor, "cuda_device", lambda arch: device)
    monkeypatch.setattr(card, "look", lambda bus: card.Card(is_persistent=False, has_display=True))
    backend, *lines = doctor._gpu(True)
    assert backend.ok
    assert [line.found.partition(":")[0] for line in lines] == [
        "a display is drawn by this card", "persistence mode is off",
    ]  # fmt: skip
    assert lines[1].remedy == "nvidia-smi -pm 1 keeps them"


@pytest.mark.parametrize(
    ("is_clone", "fits", "remedy"),
    [
        (True, True, "make bench installs it"),
        (False, True, "pip install 'kernel-harness[gpu]'"),
        (True, False, "mend what is said of timing first"),
        (False, False, "mend what is said of timing first"),
    ],
)
def test_a_missing_package_is_installed_by_what_is_there_and_only_where_it_would_help(
    is_clone: bool, fits: bool, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_clone:
        monkeypatch.setattr(suggestions, "CLONE", tmp_path)
    found = doctor.Finding("found", True, "")
    for look in ("_compiler", "_emulator", "_disassembler", "_driver", "_ncu"):
        monkeypatch.setattr(doctor, look, lambda: found)
    monkeypatch.setattr(doctor, "_timing", lambda: doctor.Finding("to time", fits, ""))
    monkeypatch.setattr(doctor, "_gpu", lambda driver: [])
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda module: None)
    packages = {each.what: each for each in doctor.examine()}
    assert packages["PyCUDA"].remedy.startswith(remedy)
