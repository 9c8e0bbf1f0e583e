"""Measure how a sweep scales with emulating workers, and the overhead of a work item.

    python scripts/pages/cluster_scaling.py [--only reduce_sum] [--size n=2**20]

Writes the table of docs/cluster.md. Every row is a separate run with `--cluster local:N`, one core
per worker, compiled beforehand; its time is that of the counting stage. The overhead is measured
with work items that contain no work: they are sent, begun, recorded, fetched and settled.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import sections

from harness.cases import Case
from harness.cluster import connection, remote
from harness.cluster.executor import DaskExecutor
from harness.cluster.messages import Requirements
from harness.cluster.versions import harness_files, packages
from harness.journal.records import Outcome, Planned, Record
from harness.machine import environment
from harness.matrix.written import Limits, Timing
from harness.run.journal_state import JournalState
from harness.run.task_runner import RunSettings, TaskRunner, WorkItem

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "cluster.md"
WORKERS = (1, 2, 4, 8)
_STAGE = re.compile(r"^verify (\d+)/\1 .*\((\d+\.\d) s\)$", re.MULTILINE)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", default="reduce_sum")
    parser.add_argument("--size", default="n=2**20")
    parser.add_argument("--launch", default="block=256")
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS)
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    chosen = ["--only", options.only, "--size", options.size, "--launch", options.launch]
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        _run(chosen, Path(scratch) / "warm", "local:1")
        alone, items = _run(chosen, Path(scratch) / "alone", None)
        spread = {n: _run(chosen, Path(scratch) / str(n), f"local:{n}")[0] for n in options.workers}
    costs = {n: 1000 * _cost(options.items, n) for n in (1, max(options.workers))}
    lines = [
        "| workers | s | × one worker |", "|--:|--:|--:|",
        *(f"| {n} | {s:.1f} | {spread[1] / s:.2f} |" for n, s in spread.items() if 1 in spread),
        "",
        f"{items} variants of {options.only} at {options.size}, counted; one process on one core "
        f"without a cluster takes {alone:.1f} s. Each work item adds an overhead of "
        f"{costs[1]:.0f} ms with one worker, and {costs[max(costs)]:.0f} ms with {max(costs)} at a "
        "time.",
        "",
        f"`scripts/pages/cluster_scaling.py`, commit {_commit()}, {environment.describe()['cpu']}. "
        f"The workers share {environment.cores()} cores. The load average was {load:.1f} when it "
        "began; above 0, more workers also take a larger share of the cores from other programs.",
    ]  # fmt: skip
    print("\n".join(lines))
    return sections.keep(options.page, {"scaling": "\n".join(lines)}, False, "")


def _commit() -> str:
    return str((environment.commit() or {}).get("id", "unknown"))[:10]


def _run(chosen: Sequence[str], folder: Path, cluster: str | None) -> tuple[float, int]:
    """Return the duration of the counting stage in seconds, and its number of work items."""
    where = ["--cluster", cluster, "--jobs", cluster.partition(":")[2]] if cluster else ["--jobs=1"]
    command = [sys.executable, "-m", "harness", "run", "--backend", "emulator", *chosen, *where]
    ended = subprocess.run(
        [*command, "--quiet", "--out", str(folder)], cwd=ROOT, capture_output=True, text=True
    )
    last = _STAGE.search(ended.stdout)
    if ended.returncode or last is None:
        sys.exit(f"{' '.join(command)} failed\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
    return float(last[2]), int(last[1])


class _Book:
    def __init__(self, known: JournalState) -> None:
        self._known = known

    def keep(self, record: Record) -> None:
        self._known.note(record)


def _cost(items: int, workers: int) -> float:
    """Return the seconds per work item without work, for this number of workers."""
    cases = [Case("nothing", "v0", "float32", {"n": n}) for n in range(items)]
    known = JournalState({case.id: case.group for case in cases})
    for c in cases:
        known.note(Planned(c.id, c.problem, c.variant, c.dtype, c.sizes, {}, 0, 0, True, False))
        known.note(Outcome(c.id, "failed", "there is nothing to do"))
    wanted = Requirements("emulator", None, ROOT / "kernels", harness_files(), {}, packages())
    with connection.opened(f"local:{workers}", wanted, workers) as crew:
        [kind] = crew.kinds
        setting = RunSettings("emulator", kind, ROOT / "kernels", Limits(), Timing())
        site = TaskRunner(setting, known, {}, _Book(known))
        work = [WorkItem("measure", case.group, (case,)) for case in cases]
        begun = time.perf_counter()
        DaskExecutor(crew, kind).carry_out("nothing", site, work)
        seconds = (time.perf_counter() - begun) / items
        crew.ask(remote.forget, crew.attempt, of=crew.everybody())
        return seconds


if __name__ == "__main__":
    sys.exit(main())
