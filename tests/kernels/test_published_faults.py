"""Published versions with known defects: each must be rejected by the problem that it belongs to.

The versions are in tests/faulty/published/<problem>/, with a matrix. They run with the problem's
own problem.py, so the test shows whether its inputs, reference and tolerance distinguish right from
wrong.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typing_commands import harness

from harness import load

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "tests" / "faulty" / "published"
REASONS = {
    "conv2d/weights_by_input_channel": "c = 3, h = 7, w = 5, out = 9, k = 3, rows = 7: `y[",
    "nms/wrong_name": 'error: identifier "iou_threshold" is undefined',
    "reduce_max/smallest_positive_as_identity": "`output[0]` is wrong: worst [0] = 1.17549435e-38",
    "reduce_max/minus_zero_as_an_integer": "at n = 1: `output[0]` is infinite",
}
"""The reason why each is rejected."""


def test_each_published_fault_has_its_reason() -> None:
    assert {f"{path.parent.name}/{path.stem}" for path in PUBLISHED.glob("*/*.cu")} == set(REASONS)


@pytest.mark.usefixtures("without_pages")
@pytest.mark.parametrize("problem", sorted(path.name for path in PUBLISHED.iterdir()))
def test_a_published_fault_is_caught(problem: str, tmp_path: Path) -> None:
    kernels = tmp_path / "kernels"
    shutil.copytree(ROOT / "kernels" / "common", kernels / "common")
    shutil.copytree(PUBLISHED / problem, kernels / problem)
    shutil.copy(ROOT / "kernels" / problem / "problem.py", kernels / problem)
    ended = harness("run", "--backend", "emulator", "--kernels", kernels, "--out", tmp_path / "run")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    outcomes = load(tmp_path / "run").outcomes
    assert {outcome.status for outcome in outcomes.values()} == {"failed"}
    for case, outcome in outcomes.items():
        expected = REASONS["/".join(case.split("/")[:2])]
        assert expected in outcome.reason, f"{case}: {outcome.reason}"
