"""Some broken kernels; scripts/fuzzing/fuzz_kernels.py generates 100,000, with sanitizers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from emulator_tools import PtxFile

from harness.emulator import parse

FEW = 100


@pytest.fixture(scope="module")
def fuzz(ptx_file: PtxFile, script_of: Callable[[str], ModuleType]) -> Iterator[ModuleType]:
    """The module scripts/fuzz.py, with kernels among its targets."""
    with pytest.MonkeyPatch.context() as patch:
        kernels = script_of("fuzz_kernels")
        patch.setattr(kernels, "ptx_of", lambda path: ptx_file(path).read_bytes())
        yield kernels.fuzz


@pytest.mark.parametrize("kind", ["kernels", "asynchronous"])
def test_a_broken_kernel_runs_or_is_refused_with_a_sentence(fuzz: ModuleType, kind: str) -> None:
    assert list(fuzz.run(kind, FEW if kind == "kernels" else FEW // 4, seed=7)) == []


def test_the_kernels_are_good_and_most_changes_leave_text_that_can_be_read(
    fuzz: ModuleType, tmp_path: Path
) -> None:
    target = fuzz.TARGETS["kernels"]
    seeds = target.seeds()
    assert len(seeds) > 30
    for seed in seeds[::6]:
        target.attempt(seed, tmp_path)
    draw = fuzz.random.Random(3)
    changed = [target.mutate(draw, seeds) for _ in range(100)]
    assert len({*changed, *seeds}) > 120
    read = 0
    for content in changed:
        try:
            parse(content.decode(errors="replace"))
        except Exception:
            continue
        read += 1
    assert read > 60
