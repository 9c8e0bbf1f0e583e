"""The example that drives `serve` writes variants of all families, and the judge tells them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_few_variants_are_told_apart(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, str(EXAMPLES / "mutants.py"), "--count", "10", "--jobs", "1"],
        cwd=tmp_path, capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "10 of 10 answered" in ended.stdout
    for family, count in (("right", 3), ("wrong", 5), ("cheats", 1), ("endless", 1)):
        assert f"\n{family}: {count}\n" in ended.stdout


@pytest.mark.parametrize("family", ["right: 60", "wrong: 100", "cheats: 20", "endless: 20"])
def test_the_kept_output_has_200_variants_and_nothing_that_fooled_it(family: str) -> None:
    told = (EXAMPLES / "mutants.txt").read_text()
    assert f"\n{family}\n" in told
    assert "200 of 200 answered" in told
    assert "the judge was wrong about 0" in told
    assert "FOOLED" not in told


def test_its_memory_stayed_as_it_was() -> None:
    told = (EXAMPLES / "mutants.txt").read_text()
    [figures] = re.findall(r"memory of the judge, MiB, over time: (.*)", told)
    first, *_, last = map(int, figures.split(", "))
    assert last < first + 32
