"""A run whose journal was cut at any line resumes and ends with the same tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import tables
from harness.backends.emulated_device import emulated_device
from harness.job import Job
from harness.journal.file import Journal, read_journal
from harness.journal.records import Record, from_json, to_json
from harness.matrix import model
from harness.processes.workers import Ended
from harness.run import runner
from harness.run.runner import Runner
from harness.worker import __main__ as worker


class Lines:
    """The lines that a worker writes, passed on within this process."""

    def __init__(self, record: Callable[[Record], None]) -> None:
        self._record = record

    def now(self, what: str, seconds: float | None = None) -> None: ...

    def record(self, record: Record) -> None:
        self._record(from_json(to_json(record)))


class InThisProcess:
    """Workers that run in this process, because starting hundreds of processes would take
    minutes."""

    stopped = False

    def do(self, job: Job, deadline_s: float, record: Callable[[Record], None]) -> Ended:
        worker._do(job, Lines(record))  # type: ignore[arg-type]
        return Ended()

    def stop(self) -> None: ...


@pytest.fixture
def whole(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], tables.Run]:
    """An emulated run of two launch shapes, continued from any state of its journal."""
    monkeypatch.setattr(runner, "Workers", InThisProcess)
    out = folder / "run"
    out.mkdir()
    bench = model.load(folder / "bench.yaml")
    info = {"backend": "emulator", "timing": bench.timing.model_dump()}
    (out / "run.json").write_text(json.dumps(info))

    def run() -> tables.Run:
        assert cache.parent == folder
        Runner(bench, emulated_device("sm_90"), "emulator", (), out).run()
        return tables.load(out)

    return run


def shown(run: tables.Run) -> tuple[Any, Any]:
    counters = run.counters.sort_values(["case", "step", "metric"]).reset_index(drop=True)
    return run.results.sort_values(["case", "cache"]).reset_index(drop=True), counters


@pytest.mark.fault(
    "a journal that is cut at any byte",
    outcome="Every whole line before the cut is read, and the same command completes the run to "
    "the same tables.",
)
def test_a_journal_cut_at_any_line_is_completed_to_the_same_tables(
    folder: Path, whole: Callable[[], tables.Run]
) -> None:
    results, counters = shown(whole())
    assert set(results.status) == {"ok"}
    assert len(counters) > 0
    journal = folder / "run" / "journal.jsonl"
    content = journal.read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    few = [*ends[:6], *ends[6:-6:9], *ends[-6:]]
    for end in [0, *few]:
        journal.write_bytes(content[:end])
        again = shown(whole())
        assert again[0].equals(results), f"cut at byte {end}"
        assert again[1].equals(counters), f"cut at byte {end}"


def test_a_cut_within_a_line_is_a_cut_before_it(
    folder: Path, whole: Callable[[], tables.Run]
) -> None:
    """Therefore cuts at any line, which are tested above, also cover cuts at any byte."""
    whole()
    journal = folder / "run" / "journal.jsonl"
    content = journal.read_bytes()
    for length in range(0, len(content), 7):
        journal.write_bytes(content[:length])
        before = list(read_journal(journal))
        with Journal(journal):
            pass
        start = content.rfind(b"\n", 0, length) + 1
        is_whole = content[length : length + 1] == b"\n" and length > start
        end = length + 1 if is_whole else start
        assert journal.read_bytes() == content[:end]
        assert len(before) == content[:end].count(b"\n")
