"""The differences between the two sides' sources; source that was not measured is never shown."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from two_runs import Kernel, name_of, run

from harness.comparison.pairs import Side
from harness.comparison.sources import difference, made_from, source_changed
from harness.journal.records import Compiled
from harness.tables import Run

OLD, NEW = "a\nb\nc\n", "a\nB\nc\n"
NAME = "sum/v1.cu"


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def side(text: str, **info: object) -> Side:
    made = run({"v0": Kernel(None), "v1": Kernel(None)}, sources={NAME: sha(text)}, **info)
    records = [replace(r, source_sha256=sha(text)) if isinstance(r, Compiled) else r
               for r in made.records]  # fmt: skip
    return Side(Run(made.folder, made.info, records), name_of("v1"))


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A repository whose last commit has the old source, and whose working tree has the new one."""
    folder = tmp_path / "kernels"
    (folder / "sum").mkdir(parents=True)
    (folder / NAME).write_text(OLD)
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "old"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (folder / NAME).write_text(NEW)
    return folder


def head(folder: Path) -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, text=True,
                          capture_output=True).stdout.strip()  # fmt: skip


def test_a_source_that_changed_since_is_taken_from_the_commit_of_its_run(kernels: Path) -> None:
    base, new = side(OLD, commit={"id": head(kernels)}), side(NEW)
    assert source_changed(base, new)
    found = difference(base, new, kernels)
    assert [text for text in found.lines if text in {"-b", "+B"}] == ["-b", "+B"]


def test_a_source_that_is_nowhere_any_more_is_not_shown(kernels: Path) -> None:
    found = difference(side("something else\n", commit={"id": head(kernels)}), side(NEW), kernels)
    assert found.lines == ()
    assert "as it was is neither here nor in commit" in found.missing


def test_a_commit_that_is_an_option_is_not_given_to_git(kernels: Path) -> None:
    found = difference(side(OLD, commit={"id": "--output=x"}), side(NEW), kernels)
    assert found.missing
    assert not (kernels / "x").exists()


def test_both_sides_of_one_run_are_found_in_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for name, text in ((NAME, NEW), (f"__base/{NAME}", OLD)):
        path = folder / "kernels" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    beside = {"base": "git:main", "commit": "", "suffix": "__base"}
    base, new = (side(text, folder=folder, beside=beside) for text in (OLD, NEW))
    assert "+B" in difference(base, new, tmp_path).lines


def test_what_a_case_is_made_from_is_told_where_it_differs() -> None:
    was = {"sum/v1.cu": "1", "common/block.cuh": "2", "nvcc": "13.0"}
    now = {"sum/v1.cu": "1", "common/block.cuh": "3", "nvcc": "13.1", "new.cuh": "4"}
    sides = [Side(run({"v0": Kernel(made_from=m)}), name_of("v0")) for m in (was, now)]
    assert made_from(*sides) == [
        ("common/block.cuh", "2", "3"), ("nvcc", "13.0", "13.1"), ("new.cuh", "", "4"),
    ]  # fmt: skip
