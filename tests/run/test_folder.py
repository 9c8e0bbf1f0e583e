"""A run's folder: its name, and the message if it contains another run."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from harness.backends.emulated_device import emulated_device
from harness.cases import Device
from harness.errors import UsageError
from harness.matrix import model
from harness.matrix.filters import Choice
from harness.run.folder import Folder
from harness.run.runner import Runner

Opened = Callable[..., Folder]
NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=timezone.utc)


@pytest.fixture
def opened(folder: Path) -> Opened:
    """The folder of a run that has not begun: opened(choice, arch, backend)."""

    def make(
        choice: Choice = Choice(),  # noqa: B008
        device: Device | None = None,
        backend: str = "emulator",
    ) -> Folder:
        device = device or emulated_device("sm_90")
        bench = model.load(folder / "bench.yaml")
        found = Folder(folder / "run", bench, choice, backend, device, NOW)
        runner = Runner(found.bench, device, backend, found.choice.only, found.path)
        found.open(runner)
        return found

    return make


def test_runs_started_in_the_same_second_have_a_folder_each(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    bench, device = model.load(folder / "bench.yaml"), emulated_device("sm_90")
    found: list[Path] = []

    def start() -> None:
        found.append(Folder(None, bench, Choice(), "emulator", device, NOW).path)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(set(found)) == 8
    assert Path("reports/20261121-120000") in found
    assert Path("reports/20261121-120000-2") in found


def test_the_same_choice_goes_on_and_keeps_when_it_was_started(
    opened: Opened, folder: Path
) -> None:
    opened()
    assert opened().chosen is None
    assert json.loads((folder / "run" / "run.json").read_text())["started"] == NOW.isoformat()


def test_a_narrower_choice_works_on_fewer_cases_of_the_same_run(
    opened: Opened, folder: Path
) -> None:
    opened()
    found = opened(Choice(launch=("block=128",)))
    assert found.chosen == {"double/v0/float32/n=1024/block=128"}
    assert found.choice == Choice()
    assert json.loads((folder / "run" / "run.json").read_text())["choice"]["launch"] == []


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice(), "the filters differ: --launch block=128 there, no filter now; it has no "
                   "double/v0/float32/n=1024/block=64"),
        (Choice(launch=("block=64",)), "--launch block=128 there, --launch block=64 now"),
        (Choice(launch=("block=128",), quick=True), "--quick differs: not given there, given now"),
    ],
)  # fmt: skip
def test_a_wider_or_another_choice_is_another_run(
    opened: Opened, choice: Choice, expected: str
) -> None:
    opened(Choice(launch=("block=128",)))
    with pytest.raises(UsageError) as caught:
        opened(choice)
    assert "holds another run:\n  " in str(caught.value)
    assert expected in str(caught.value)


def test_each_thing_that_differs_is_named(opened: Opened, folder: Path) -> None:
    opened()
    with pytest.raises(UsageError, match="--arch differs: sm_90 there, sm_80 now"):
        opened(device=emulated_device("sm_80"))
    with pytest.raises(UsageError, match="the backend differs: emulator there, cuda now"):
        opened(backend="cuda")
    here = emulated_device("sm_90")
    with pytest.raises(UsageError, match=r"the machine differs: .* there, another card now"):
        opened(device=replace(here, name="another card"))
    with pytest.raises(UsageError, match="the machine differs in l2_bytes"):
        opened(device=replace(here, l2_bytes=1))
    matrix = folder / "bench.yaml"
    matrix.write_text(matrix.read_text().replace("rounds: 6", "rounds: 9"))
    with pytest.raises(UsageError, match="timing: in the matrix differs: rounds 6 there, 9 now"):
        opened()


def test_a_run_of_an_earlier_version_is_not_mixed_with_this_ones(
    opened: Opened, folder: Path
) -> None:
    opened()
    path = folder / "run" / "run.json"
    info = json.loads(path.read_text())
    del info["choice"]
    path.write_text(json.dumps(info))
    with pytest.raises(UsageError, match="earlier version of the harness"):
        opened()
