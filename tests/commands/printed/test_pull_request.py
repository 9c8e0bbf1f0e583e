"""The messages that a GitHub workflow shows at the lines of a pull request."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.commands.printed import pull_request


def test_an_annotation_stands_at_the_line_that_the_text_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kernels/sgemm").mkdir(parents=True)
    Path("kernels/sgemm/v2_block_tile.cu").touch()
    said = pull_request.command(
        "WORSE sgemm/v2_block_tile", "32.0× ideal wavefronts at kernels/sgemm/v2_block_tile.cu:23"
    )
    assert said == (
        "::error file=kernels/sgemm/v2_block_tile.cu,line=23,title=WORSE sgemm/v2_block_tile::"
        "32.0× ideal wavefronts at kernels/sgemm/v2_block_tile.cu:23"
    )


def test_an_annotation_has_no_line_where_the_repository_has_no_such_file() -> None:
    said = pull_request.command("WORSE sgemm/v2", "at sgemm/nowhere.cu:23")
    assert said == "::error title=WORSE sgemm/v2::at sgemm/nowhere.cu:23"


def test_what_names_no_line_is_of_the_whole_job() -> None:
    assert (
        pull_request.command("CANNOT TELL", "no counter") == "::error title=CANNOT TELL::no counter"
    )


def test_what_would_end_or_forge_a_command_is_escaped() -> None:
    said = pull_request.command("a, b: c", "100 %\n::error::forged")
    assert said == "::error title=a%2C b%3A c::100 %25%0A::error::forged"
    assert "\n" not in said


def test_nothing_is_printed_where_no_such_job_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.cu").touch()
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    pull_request.error("WORSE", "v.cu:3")
    assert capsys.readouterr().out == ""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    pull_request.error("WORSE", "v.cu:3")
    assert capsys.readouterr().out == "::error file=v.cu,line=3,title=WORSE::v.cu:3\n"
