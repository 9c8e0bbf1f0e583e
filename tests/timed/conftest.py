"""Fixtures for runs on the simulated device."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from station import Station

from harness.tables import Run


@pytest.fixture
def tmp_path(same_place: Path) -> Path:
    return same_place


@pytest.fixture
def station(folder: Path, monkeypatch: pytest.MonkeyPatch, importable: None) -> Station:
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parents[2]}:{Path(__file__).parent}")
    monkeypatch.setenv("FAKE_COSTS", json.dumps({"honest2": 500.0}))
    monkeypatch.setenv("FAKE_FLAGS", str(folder / "flags"))
    return Station(folder)


@pytest.fixture
def outcome() -> Callable[..., tuple[str, str]]:
    """The outcome of a variant and its reason: outcome(run, variant, n)."""

    def of(run: Run, variant: str, n: int = 1024) -> tuple[str, str]:
        found = run.outcomes[f"double/{variant}/float32/n={n}/block=64"]
        return found.status, found.reason

    return of
