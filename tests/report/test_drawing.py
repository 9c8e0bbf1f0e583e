"""Pages drawn on several cores equal those drawn on one, and no process remains."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic_runs import many

from harness import report
from harness.report import drawing
from harness.report.links import Links
from harness.report.pages.problem import Maker, ProblemPage

IS_ALONE = drawing._is_alone
Drawn = Callable[..., tuple[set[int], dict[str, bytes]]]


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """Draw the report of five problems; return the processes that drew the pages, and the files."""
    page, pids = Maker.page, tmp_path / "pids"
    pids.mkdir()

    def noted(self: Maker, problem: str, links: Links) -> ProblemPage:
        (pids / str(os.getpid())).touch()
        return page(self, problem, links)

    monkeypatch.setattr(Maker, "page", noted)
    monkeypatch.setattr(os, "sched_getaffinity", lambda of: {0, 1})
    monkeypatch.setattr(drawing, "_is_alone", lambda: True)  # pytest has threads of its own

    def draw(name: str, sizes: int = 2) -> tuple[set[int], dict[str, bytes]]:
        folder = tmp_path / name
        folder.mkdir()
        report.write(many(folder, problems=5, rounds=3, variants=3, sizes=sizes))
        kept = [p for p in folder.rglob("*") if p.suffix in (".html", ".png")]
        files = {str(path.relative_to(folder)): path.read_bytes() for path in kept}
        by = {int(path.name) for path in pids.iterdir()}
        for path in pids.iterdir():
            path.unlink()
        return by, files

    return draw


def test_several_processes_draw_what_one_draws(
    drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    by, files = drawn("several")
    assert len(by) == 2
    assert os.getpid() not in by
    assert not any(Path(f"/proc/{pid}").exists() for pid in by)
    monkeypatch.setattr(drawing, "FEW", 6)
    alone, same = drawn("one")
    assert alone == {os.getpid()}
    assert len(files) > 20
    assert files == same


def test_beside_another_thread_one_process_draws(
    drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "_is_alone", IS_ALONE)
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        by, _ = drawn("one", sizes=1)
    finally:
        done.set()
        other.join()
    assert by == {os.getpid()}


def test_what_fails_in_one_fails_here_and_ends_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Maker, problem: str, links: Links) -> ProblemPage:
        raise OSError(f"no room for {problem}")

    monkeypatch.setattr(Maker, "page", refuse)
    monkeypatch.setattr(os, "sched_getaffinity", lambda of: {0, 1})
    monkeypatch.setattr(drawing, "_is_alone", lambda: True)
    with pytest.raises(OSError, match="no room for problem_00"):
        report.write(many(tmp_path, problems=5, rounds=3, variants=2, sizes=1))
    assert multiprocessing.active_children() == []
