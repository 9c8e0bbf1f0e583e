"""Some broken cubins and listings; scripts/fuzzing/fuzz_machine_code.py generates 100,000."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FEW = {"cubin": 100, "listing": 100, "sm_90a-listing": 30}


@pytest.fixture(scope="module")
def fuzz(script_of: Callable[[str], ModuleType]) -> Any:
    """The module scripts/fuzz.py, with the targets for machine code."""
    return script_of("fuzz_machine_code").fuzz


@pytest.mark.parametrize("name", FEW)
def test_a_broken_input_is_run_or_refused_with_a_sentence(fuzz: ModuleType, name: str) -> None:
    assert list(fuzz.run(name, FEW[name], seed=7)) == []


@pytest.mark.parametrize("name", FEW)
def test_the_good_input_runs(fuzz: ModuleType, name: str, tmp_path: Path) -> None:
    (seed,) = fuzz.TARGETS[name].seeds()
    fuzz.TARGETS[name].attempt(seed, tmp_path)
