"""Run PTX tests with both engines; machine code has only one."""

from __future__ import annotations

import pytest

from harness.emulator import launch


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    runs = ["auto", "judge"] if metafunc.function.__name__ == "test_a_kernel_from_ptx" else ["auto"]
    metafunc.parametrize("engine", runs, indirect=True)


@pytest.fixture(autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(launch.__kwdefaults__, "engine", request.param)
