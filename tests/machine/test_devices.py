"""The device that a run uses, and what the user is told about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cases import Device
from harness.compiler import targets, toolchain
from harness.errors import BackendUnavailable, UsageError
from harness.machine import devices
from harness.silicon.architectures import architecture


@pytest.fixture
def card(device: Device, monkeypatch: pytest.MonkeyPatch) -> Device:
    """This machine's GPU, with a compute capability that has no row in the table."""
    found = replace(
        device, name="a card of tomorrow", arch="sm_121", capability=(13, 0),
        own_limits=architecture("sm_90"),
    )  # fmt: skip
    monkeypatch.setattr(devices, "cuda_device", lambda arch: found)
    monkeypatch.setattr(devices, "has_driver", lambda: True)
    return found


def test_a_card_newer_than_nvcc_runs_and_its_user_is_told_what_for(card: Device) -> None:
    backend, found, warning = devices.choose("auto", None)
    assert (backend, found) == ("cuda", card)
    assert warning.startswith("a card of tomorrow is sm_130: kernels are compiled for sm_121")
    assert "name an nvcc that knows sm_130 in NVCC" in warning


def test_a_card_without_a_row_needs_none_where_nvcc_knows_it(
    card: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = replace(card, arch="sm_130")
    monkeypatch.setattr(devices, "cuda_device", lambda arch: known)
    assert devices.choose("cuda", None) == ("cuda", known, "")
    assert known.limits.max_threads_per_sm == 2048


def test_an_architecture_of_which_nothing_is_known_is_refused_by_its_name() -> None:
    with pytest.raises(UsageError, match=r"--arch sm_130: no facts for .*sm_88.*sm_121"):
        devices.choose("emulator", "sm_130")


def test_where_the_gpu_does_not_work_no_option_is_quoted_that_nobody_gave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(arch: str | None) -> Device:
        raise BackendUnavailable("the driver finds no GPU")

    monkeypatch.setattr(devices, "cuda_device", broken)
    monkeypatch.setattr(devices, "has_driver", lambda: True)
    backend, found, warning = devices.choose("auto", None)
    assert (backend, found.arch) == ("emulator", devices.DEFAULT_ARCH)
    assert warning == "emulating: the driver finds no GPU"


@pytest.fixture
def nvcc_of_tomorrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(
        "#!/bin/sh\n"
        "case $1 in\n"
        "--version) echo 'Cuda compilation tools, release 14.1, V14.1.7' ;;\n"
        "--list-gpu-code) printf 'sm_90\\nsm_90a\\nsm_120\\nsm_130\\n' ;;\n"
        "esac\n"
    )
    nvcc.chmod(0o755)
    monkeypatch.setenv("NVCC", str(nvcc))
    toolchain.find.cache_clear()
    targets.known.cache_clear()
    yield nvcc
    toolchain.find.cache_clear()
    targets.known.cache_clear()


def test_an_nvcc_newer_than_any_that_is_known_is_asked_what_it_writes_for(
    nvcc_of_tomorrow: Path,
) -> None:
    assert toolchain.find() == toolchain.Toolchain(str(nvcc_of_tomorrow), "14.1.7", "NVCC")
    assert targets.best_for((13, 0), "a card of tomorrow") == "sm_130"
    assert targets.best_for((13, 5), "a later one") == "sm_130"
    assert targets.best_for((9, 0), "an H100") == "sm_90"
