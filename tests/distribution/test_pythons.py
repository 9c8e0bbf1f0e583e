"""The table of Python versions with which the wheel was installed and used, and the page that shows
it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Script = Callable[[str], ModuleType]

pytestmark = pytest.mark.usefixtures("processes")


@pytest.fixture(scope="module")
def pythons(script_of: Script) -> ModuleType:
    return script_of("pythons")


def row(python: str, **more: str) -> dict[str, str]:
    return {"python": python, "from": "this machine", "installs": "yes", "seconds": "9", **more}


def test_every_python_that_the_package_names_was_tried_and_did_all(pythons: ModuleType) -> None:
    rows = pythons.rows_of(pythons.COMMITTED / pythons.TABLE)
    assert [pythons.minor(row["python"]) for row in rows] == list(pythons.VERSIONS)
    assert {row[step] for row in rows for step in pythons.STEPS} == {"yes"}
    assert {row["commit"][-1:] for row in rows} & {"+"} == set()


def test_the_page_shows_the_committed_table(pythons: ModuleType) -> None:
    contents = {"pythons": pythons.section(pythons.COMMITTED)}
    assert pythons.sections.keep(pythons.PAGE, contents, True, "make benchmark-pythons") == 0


def test_a_python_that_is_tried_again_takes_the_place_of_its_row_and_its_log(
    pythons: ModuleType, tmp_path: Path
) -> None:
    pythons.write(tmp_path, row("3.12.1"), "# Python 3.12.1, this machine\n$ a\nold")
    pythons.write(tmp_path, row("3.10.13"), "# Python 3.10.13, this machine\n$ a\nother")
    pythons.write(tmp_path, row("3.12.9"), "# Python 3.12.9, this machine\n$ a\nnew")
    rows = pythons.rows_of(tmp_path / pythons.TABLE)
    assert [row["python"] for row in rows] == ["3.10.13", "3.12.9"]
    log = (tmp_path / pythons.LOG).read_text()
    assert log == ("# Python 3.10.13, this machine\n$ a\nother\n\n"
                   "# Python 3.12.9, this machine\n$ a\nnew\n")  # fmt: skip


def test_a_step_that_fails_is_the_last_and_those_after_it_did_not_work(
    pythons: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pythons, "STEPS", {"installs": "true {wheel}", "new": "false", "runs": ":"})
    wheel = tmp_path / "a.whl"
    wheel.touch()
    version = ".".join(map(str, sys.version_info[:2]))
    found, log = pythons.tried(pythons.Place(sys.executable, version), tmp_path / "work", wheel)
    assert [found[name] for name in ("installs", "new", "runs")] == ["yes", "no", "no"]
    assert found["python"].startswith(f"{version}.")
    assert "$ true a.whl" in log
    assert "$ :" not in log


def test_a_python_that_is_nowhere_is_not_taken_for_another(
    pythons: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "python3.99"
    other.symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert pythons.on_this_machine("3.99") is None
