"""The most similar known name, for a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.console import suggestions
from harness.console.suggestions import command, did_you_mean, install, nearest


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shred", ["shared"]),
        ("SHARED", ["shared"]),
        ("sh", ["shared"]),  # its beginning
        ("gird", ["grid"]),
        ("kernel", ["kernel"]),
        ("zzz", []),
        ("", []),
    ],
)
def test_the_nearest_name_is_one_that_begins_so_or_is_spelt_alike(
    name: str, expected: list[str]
) -> None:
    assert nearest(name, ["grid", "block", "shared", "kernel"]) == expected


def test_nothing_is_meant_where_nothing_is_near() -> None:
    assert did_you_mean("zzz", ["grid"]) == ""
    assert did_you_mean("gridd", ["grid"]) == "; did you mean grid?"
    assert did_you_mean("v1", ["v1_a", "v1_b"], 2) == "; did you mean v1_a or v1_b?"


def test_what_a_clone_tells_to_type_is_what_its_makefile_and_its_python_have(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["/clone/harness/__main__.py"])
    monkeypatch.chdir(suggestions.CLONE)
    assert command("profile", "profile") == "make profile"
    assert command("list") == "python -m harness list"
    monkeypatch.chdir(tmp_path)
    assert command("profile", "profile") == "python -m harness profile"
    assert f"-c {suggestions.CLONE}/constraints.txt '{suggestions.CLONE}[compiler]'" in install(
        "", "compiler"
    )


def test_what_an_installed_package_tells_to_type_needs_no_clone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(suggestions, "CLONE", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert command("profile", "profile") == "kernel-harness profile"
    assert install("", "compiler").endswith(" -m pip install 'kernel-harness[compiler]'")
    assert install("ncu-report").endswith(" -m pip install ncu-report")
