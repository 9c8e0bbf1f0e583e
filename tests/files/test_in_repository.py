"""The repository path of the source line that a message names."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.files import in_repository
from harness.files.in_repository import Line


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose kernels are in gpu/, which is the working directory and contains a run."""
    top = tmp_path / "repository"
    for name in ("gpu/kernels/sum/v1.cu", "gpu/kernels/common/tile.cuh", "include/shared.cuh",
                 "gpu/reports/run/kernels/sum/v1.cu"):  # fmt: skip
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch()
    (top / ".git").mkdir()
    monkeypatch.chdir(top / "gpu")
    return top


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("1.00× → 16.5× at sum/v1.cu:31", "gpu/kernels/sum/v1.cu"),
        ("kernels/sum/v1.cu:31: race", "gpu/kernels/sum/v1.cu"),
        ("at n = 1: /elsewhere/run/kernels/sum/v1.cu:31: race", "gpu/kernels/sum/v1.cu"),
        ("reports/run/kernels/sum/v1.cu:31: race", "gpu/kernels/sum/v1.cu"),
        ("kernels/sum/../common/tile.cuh:31: race", "gpu/kernels/common/tile.cuh"),
        ("../include/shared.cuh:31: race", "include/shared.cuh"),
    ],
)
def test_a_line_is_named_from_the_repositorys_top(repository: Path, text: str, file: str) -> None:
    assert in_repository.line_named(text) == Line(file, 31)


@pytest.mark.parametrize(
    "text", ["no line", "sum/v2.cu:31", "/usr/include/vector.cuh:31", "../../outside.cuh:3"]
)
def test_what_the_repository_does_not_have_has_no_line(repository: Path, text: str) -> None:
    (repository.parent / "outside.cuh").touch()
    assert in_repository.line_named(text) is None


def test_kernels_may_lie_where_a_command_says(repository: Path) -> None:
    others = repository / "others"
    (others / "sum").mkdir(parents=True)
    (others / "sum" / "v1.cu").touch()
    assert in_repository.path("sum/v1.cu", Path("../others")) == "others/sum/v1.cu"


def test_without_git_the_top_is_the_working_directory(repository: Path) -> None:
    (repository / ".git").rmdir()
    assert in_repository.path("sum/v1.cu") == "kernels/sum/v1.cu"
    assert in_repository.path("../include/shared.cuh") is None
