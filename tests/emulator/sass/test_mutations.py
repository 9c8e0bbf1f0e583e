"""A hundred broken cubins and listings; scripts/fuzz_machine_code.py draws a hundred thousand."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"
FEW = 100


@pytest.fixture(scope="module")
def fuzz() -> Iterator[ModuleType]:
    """A copy of scripts/fuzz.py of its own, with the targets of machine code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        patch.delitem(sys.modules, "fuzz", raising=False)
        script = importlib.import_module("fuzz_machine_code")
        yield script.fuzz


@pytest.mark.parametrize("name", ["cubin", "listing"])
def test_a_broken_input_is_run_or_refused_with_a_sentence(fuzz: ModuleType, name: str) -> None:
    assert list(fuzz.run(name, FEW, seed=7)) == []


@pytest.mark.parametrize("name", ["cubin", "listing"])
def test_the_good_input_runs(fuzz: ModuleType, name: str, tmp_path: Path) -> None:
    (seed,) = fuzz.TARGETS[name].seeds()
    fuzz.TARGETS[name].attempt(seed, tmp_path)
