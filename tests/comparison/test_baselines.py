"""A run that was saved under a name can be referred to by that name."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from harness import load
from harness.comparison.sides import baselines
from harness.errors import UsageError
from harness.journal import run_files


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run's folder that contains more than a baseline needs."""
    monkeypatch.chdir(tmp_path)
    folder = Path("reports") / "20261121-120000"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(
        '{"backend": "emulator", "timing": {"confidence": 0.95, "same_within": 0.01}}'
    )
    (folder / "journal.jsonl").write_text("")
    (folder / "report.html").write_text("drawn")
    return folder


def test_a_kept_run_is_loaded_by_its_name_when_its_folder_is_gone(run: Path) -> None:
    home = baselines.save(run, "main-2.1")
    assert {path.name for path in home.iterdir()} == {"run.json", "journal.jsonl.gz"}
    (run / "run.json").unlink()
    assert baselines.resolve("main-2.1") == home
    assert load(baselines.resolve("main-2.1")).confidence == 0.95
    assert run_files.baselines() == ["main-2.1"]


def test_keeping_again_takes_the_place_of_what_was_there(run: Path) -> None:
    home = baselines.save(run, "main")
    (home / "stale").write_text("")
    (run / "journal.jsonl").write_text("\n")
    assert baselines.save(run, "main") == home
    assert gzip.decompress((home / "journal.jsonl.gz").read_bytes()) == b"\n"
    assert not (home / "stale").exists()
    assert [path.name for path in home.parent.iterdir()] == ["main"]


@pytest.mark.fault(
    "a baseline that cannot be written whole",
    outcome="The one that was kept by that name before stays.",
)
def test_what_was_kept_stays_where_the_new_run_cannot_be_read(run: Path) -> None:
    home = baselines.save(run, "main")
    (run / "journal.jsonl").unlink()
    with pytest.raises(UsageError, match=r"--save-baseline main: .*journal\.jsonl"):
        baselines.save(run, "main")
    assert (home / "journal.jsonl.gz").exists()
    assert [path.name for path in home.parent.iterdir()] == ["main"]


class Killed(BaseException):
    """Ends a save between two of its steps, as a kill would."""


@pytest.mark.fault(
    "a kill in the middle of --save-baseline",
    outcome="The next command that names the baseline finds the old run or the new one, whole.",
)
@pytest.mark.parametrize("reader", [True, False], ids=["read", "saved"])
@pytest.mark.parametrize("step", range(6))
def test_a_save_that_is_killed_loses_no_baseline(
    run: Path, monkeypatch: pytest.MonkeyPatch, step: int, reader: bool
) -> None:
    home = baselines.save(run, "main")
    (run / "journal.jsonl").write_text("\n")
    steps = iter(range(step))

    def killed(function: Callable[..., Any]) -> Callable[..., Any]:
        def carry_out(*given: Any, **named: Any) -> Any:
            if next(steps, None) is None:
                raise Killed
            return function(*given, **named)

        return carry_out

    with monkeypatch.context() as patch, suppress(Killed):
        patch.setattr(Path, "rename", killed(Path.rename))
        patch.setattr(shutil, "rmtree", killed(shutil.rmtree))
        baselines.save(run, "main")
    if not reader:
        (run / "journal.jsonl").unlink()
        with pytest.raises(UsageError, match="No such file"):
            baselines.save(run, "main")
    assert baselines.resolve("main") == home
    assert gzip.decompress((home / "journal.jsonl.gz").read_bytes()) in (b"", b"\n")
    (run / "journal.jsonl").write_text("\n\n")
    baselines.save(run, "main")
    assert gzip.decompress((home / "journal.jsonl.gz").read_bytes()) == b"\n\n"
    assert [path.name for path in home.parent.iterdir()] == ["main"]


@pytest.mark.parametrize("left", [".main.old", ".main.new"])
def test_a_reader_restores_what_a_killed_save_left(run: Path, left: str) -> None:
    home = baselines.save(run, "main")
    home.rename(home.parent / left)
    assert baselines.resolve("main") == home
    assert [path.name for path in home.parent.iterdir()] == ["main"]


def test_half_of_a_new_baseline_is_not_restored(run: Path) -> None:
    home = baselines.save(run, "main")
    home.rename(home.parent / ".main.new")
    (home.parent / ".main.new" / "journal.jsonl.gz").unlink()
    with pytest.raises(UsageError, match="neither"):
        baselines.resolve("main")


@pytest.mark.fault(
    "a baseline's name that is a path",
    outcome="Refused before anything runs.",
)
@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc", "../x", "-x", "a b", "x" * 101])
def test_a_name_that_could_lead_elsewhere_is_refused(run: Path, name: str) -> None:
    with pytest.raises(UsageError, match="a name has up to 100 letters"):
        baselines.save(run, name)
    assert not Path("reports/baselines").exists()


def test_a_folder_comes_before_a_baseline_of_the_same_name(run: Path) -> None:
    baselines.save(run, "main")
    assert baselines.resolve(run) == run
    run.rename("main")
    assert baselines.resolve("main") == Path("main")


def test_what_is_neither_is_refused_with_what_is_near_and_what_there_is(run: Path) -> None:
    with pytest.raises(UsageError, match="--save-baseline NAME of `run` keeps a run"):
        baselines.resolve("mian")
    baselines.save(run, "main")
    baselines.save(run, "v2")
    with pytest.raises(UsageError, match=r"did you mean main\?\n  kept with .*: main, v2"):
        baselines.resolve("mian")
    with pytest.raises(UsageError, match=r"did you mean reports/20261121-120000"):
        baselines.resolve("reports/20261121-12000")
    with pytest.raises(UsageError, match="neither"):
        baselines.resolve("../baselines/main")
