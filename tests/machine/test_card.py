"""Unusual properties of a card are reported; NVML is simulated."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.journal.records import Conditions
from harness.machine import card
from harness.machine.card import Card, in_between, look, warnings
from harness.machine.conditions import Sensors
from harness.processes import reaper

BUS = "0000:3B:00.0"
UUID = "GPU-8d5f0a61-93c3-0c3e-5a3b-1f0b9c2d7e11"


class NvmlError(Exception):
    """The error that the library raises for a value that a card does not provide or a user may not
    read."""


class Nvml:
    """A driver with two cards, the second of which CUDA sees."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC = 1, 0
    nvmlClocksEventReasonHwSlowdown = 8  # noqa: N815
    nvmlClocksEventReasonNone = 0  # noqa: N815

    def __init__(self, **facts: Any) -> None:
        sound = {
            "nvmlDeviceGetUUID": UUID, "nvmlDeviceGetPersistenceMode": 1,
            "nvmlDeviceGetMigMode": [0, 0], "nvmlDeviceGetEnforcedPowerLimit": 700_000,
            "nvmlDeviceGetPowerManagementDefaultLimit": 700_000,
            "nvmlDeviceGetMaxClockInfo": 1980, "nvmlDeviceGetTotalEccErrors": 0,
            "nvmlDeviceGetComputeRunningProcesses": [], "nvmlDeviceGetClockInfo": 1980,
            "nvmlDeviceGetTemperature": 40, "nvmlDeviceGetPowerUsage": 300_000,
            "nvmlDeviceGetCurrentClocksEventReasons": 0,
        }  # fmt: skip
        self._facts = {**sound, **facts}

    def nvmlInit(self) -> None: ...  # noqa: N802
    def nvmlShutdown(self) -> None: ...  # noqa: N802

    def nvmlDeviceGetHandleByPciBusId(self, bus: bytes) -> str:  # noqa: N802
        return bus.decode()

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        return "the first card"

    def __getattr__(self, name: str) -> Any:
        if name not in self._facts:
            raise AttributeError(name)

        def read(handle: str, *more: Any) -> Any:
            assert handle == BUS, "another card was asked"
            found = self._facts[name]
            if isinstance(found, Exception):
                raise found
            return found

        return read


def process(pid: int, held: int | None = 3 << 30) -> SimpleNamespace:
    return SimpleNamespace(pid=pid, usedGpuMemory=held)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Replace the driver's return values: nvml(nvmlDeviceGetMigMode=[1, 1])."""

    def make(**facts: Any) -> None:
        monkeypatch.setitem(sys.modules, "pynvml", Nvml(**facts))

    return make


def test_a_sound_card_is_known_by_its_uuid_and_gives_no_warning(nvml: Any) -> None:
    nvml()
    found = look(BUS)
    assert found == Card(UUID, True, False, 700.0, 700.0, 1_980_000_000, 0, ())
    assert list(warnings(found)) == []


def test_without_nvml_nothing_is_known_and_nothing_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert look(BUS) == Card()
    assert list(warnings(Card())) == []
    with Sensors(BUS) as sensors:
        assert sensors.read("g", 0).sm_clock_hz is None
        assert sensors.clock().throttle == ()


def test_what_the_driver_refuses_is_unknown_and_not_no(nvml: Any) -> None:
    refused = NvmlError("not supported")
    nvml(nvmlDeviceGetPersistenceMode=refused, nvmlDeviceGetMigMode=refused,
         nvmlDeviceGetTotalEccErrors=refused)  # fmt: skip
    found = look(BUS)
    assert (found.is_persistent, found.is_sliced, found.ecc_errors) == (None, None, None)


@pytest.mark.fault(
    "a card in MIG mode, with its power capped, without persistence, with memory errors, "
    "or that others compute on",
    outcome="The run says so when it ends, in run.json and on the page.",
)
@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"nvmlDeviceGetMigMode": [1, 1]}, "the card is in MIG mode"),
        ({"nvmlDeviceGetEnforcedPowerLimit": 350_000}, "its power is capped at 350 of 700 W"),
        ({"nvmlDeviceGetPersistenceMode": 0}, "persistence mode is off"),
        ({"nvmlDeviceGetTotalEccErrors": 2}, "its memory had 2 uncorrected errors"),
        ({"nvmlDeviceGetComputeRunningProcesses": [process(71), process(72, None)]},
         "others compute on this card: process 71 (3.0 GiB), process 72;"),
        ({"nvmlDeviceGetDisplayActive": 1}, "a display is drawn by this card"),
        ({"nvmlDeviceGetEccMode": [0, 0]}, "ECC is off"),
    ],
)  # fmt: skip
def test_what_can_change_a_verdict_is_said(nvml: Any, facts: dict[str, Any], said: str) -> None:
    nvml(**facts)
    [warning] = warnings(look(BUS))
    assert said in warning


@pytest.mark.fault(
    "a card that Windows schedules, under WSL2",
    outcome="The run and doctor say so, and what it does to times.",
)
def test_wsl_is_said_with_what_it_does_to_times(
    nvml: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "version").write_text("Linux version 5.15.167.4-microsoft-standard-WSL2")
    monkeypatch.setattr(card, "_KERNEL", tmp_path / "version")
    nvml()
    [warning] = warnings(look(BUS))
    assert "WSL2" in warning
    assert "times spread more" in warning


def test_ecc_that_is_on_and_a_card_without_it_are_nothing_to_warn_of(nvml: Any) -> None:
    nvml(nvmlDeviceGetEccMode=[1, 1], nvmlDeviceGetDisplayActive=0)
    assert list(warnings(look(BUS))) == []
    nvml(nvmlDeviceGetEccMode=NvmlError("not supported"))
    assert look(BUS).has_ecc is None
    assert list(warnings(look(BUS))) == []


def test_clocks_that_move_are_said_with_both_ends(nvml: Any) -> None:
    nvml()
    seen = [*rounds(clock=1980), *rounds(clock=1500)]
    [said] = in_between(look(BUS), seen)
    assert "moved between 1500 and 1980 MHz" in said
    assert "nvidia-smi -lgc" in said


def rounds(clock: int = 1980, others: int | None = 0, reasons: tuple[str, ...] = ()) -> Any:
    return [Conditions("g", i, clock * 1_000_000, None, None, None, reasons, 0, others)
            for i in range(4)]  # fmt: skip


@pytest.mark.fault(
    "clocks that somebody locked below the highest",
    outcome="The run says so when it ends, with the clock and the command that frees it.",
)
def test_a_clock_that_is_held_for_no_reason_is_taken_for_a_lock(nvml: Any) -> None:
    nvml()
    found = look(BUS)
    [said] = in_between(found, rounds(clock=1410))
    assert "never ran above 1410 of 1980 MHz" in said
    assert "nvidia-smi -rgc" in said
    assert list(in_between(found, rounds(clock=1410, reasons=("SwPowerCap",)))) == []
    assert list(in_between(found, rounds())) == []
    assert list(in_between(Card(), rounds(clock=1410))) == []


@pytest.mark.fault(
    "another process that begins to compute on the card during the run",
    outcome="The run says in how many of its rounds others computed beside it.",
)
def test_others_that_come_in_between_are_counted(nvml: Any) -> None:
    nvml(nvmlDeviceGetComputeRunningProcesses=[process(1), process(2)])
    with Sensors(BUS) as sensors:
        seen = sensors.read("g", 0)
    assert seen.others == 1  # one of the two is this process
    assert list(in_between(Card(), [seen, *rounds()])) == [
        "others computed on this card in 1 of 5 rounds"
    ]


def test_a_container_that_hides_every_process_is_no_crowd(nvml: Any) -> None:
    nvml()
    assert card.others(*card.opened(BUS)) == 0


def test_processes_of_the_same_run_that_wait_are_no_others(
    nvml: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvml(nvmlDeviceGetComputeRunningProcesses=[process(1), process(2), process(3)])
    monkeypatch.setattr(reaper, "relatives", lambda pids: sorted({2, 9} & set(pids)))
    with Sensors(BUS) as sensors:
        assert sensors.read("g", 0).others == 1
