"""What docs/ states about comparisons is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml

from harness.comparison.changes import ORDER

ROOT = Path(__file__).parents[2]


def test_the_tables_of_the_page_are_up_to_date() -> None:
    command = [sys.executable, ROOT / "scripts" / "pages" / "comparing_tables.py", "--check"]
    environment = {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert ended.returncode == 0, ended.stderr


def test_the_page_lists_every_verdict() -> None:
    text = (ROOT / "docs" / "comparing.md").read_text()
    [row] = [line for line in text.splitlines() if line.startswith("| `verdict` |")]
    assert set(re.findall(r"`([^`]+)`", row)) - {"verdict"} == set(ORDER)


def test_the_workflows_are_yaml_and_gate() -> None:
    first, _, with_outputs, of_ones_own, second = re.findall(
        r"```yaml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL
    )
    outputs = set(re.findall(r"steps\.kernels\.outputs\.([\w-]+)", with_outputs))
    assert outputs <= set(yaml.safe_load((ROOT / "action.yml").read_text())["outputs"])
    assert [step for step in yaml.safe_load(with_outputs)["steps"] if step.get("id") == "kernels"]
    [job] = yaml.safe_load(of_ones_own)["jobs"].values()
    said = " ".join(step.get("run", "") for step in job["steps"])
    assert "kernel-harness beside git:origin/${{ github.base_ref }}" in said
    assert "--gate" in said
    workflow = yaml.safe_load(first + second)
    assert set(workflow["jobs"]) == {"counters", "times"}
    for job in workflow["jobs"].values():
        said = " ".join(step.get("run", "") for step in job["steps"])
        assert "make compare BASE=git:origin/${{ github.base_ref }}" in said
        assert "timeout-minutes" in job
    made = (ROOT / "Makefile").read_text()
    [recipe] = re.findall(r"^compare: .*\n\t(.*)$", made, re.MULTILINE)
    assert "--gate" in recipe
