"""Measure how much sooner two GPUs in one host finish than one, and whether their verdicts agree.

    python scripts/timing/cluster.py                       # two GPUs; reports/h200/cluster
    python scripts/timing/cluster.py --backend emulator --only copy/v0_coalesced --size n=2**20

scaling.csv has one row per number of workers. `jobs`: the total number of cores of all workers; it
is the same per worker in each row. `wall_s`: from the command to the last record, before anything
is drawn; everything was compiled beforehand. `speedup`: over one worker. `same`: the number of
cases and cache states with the same verdict as in the run with one worker; `apart`: the other
cases, with the verdict of each run. Only results.csv and run.json of the runs are kept next to the
table.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import runs

from harness import tables
from harness.machine import environment

OUT = runs.ROOT / "reports" / "h200" / "cluster"
PROBLEMS = ("reduce_sum", "copy")
KEPT = ("results.csv", "run.json")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--backend", default="cuda", choices=("cuda", "emulator"))
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", action="append", help="default: reduce_sum and copy")
    parser.add_argument("--size", action="append", default=[])
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    chosen = [word for each in options.only or PROBLEMS for word in ("--only", each)]
    chosen += [word for each in options.size for word in ("--size", each)]
    each = max(1, environment.cores() // max(options.workers))
    found: dict[int, tables.Run] = {}
    for number in options.workers:
        folder = options.out / f"{number}-workers"
        _run(folder, number, ["--backend", options.backend, *chosen], each * number)
        found[number] = tables.load(folder)
    rows = list(_rows(found, each))
    runs.write(options.out / "scaling.csv", rows, next(iter(found.values())))
    for number in options.workers:
        _keep_results(options.out / f"{number}-workers")
    return 0


def _run(folder: Path, workers: int, chosen: Sequence[str], jobs: int) -> None:
    """Start a separate run, with everything compiled beforehand."""
    command = [sys.executable, "-m", "harness", "run", *chosen, "--quiet"]
    shutil.rmtree(folder, ignore_errors=True)
    warm = folder.with_name("warm-up")
    _checked([*command, "--quick", "--out", str(warm)])
    shutil.rmtree(warm)
    where = ["--cluster", f"local:{workers}", "--jobs", str(jobs), "--out", str(folder)]
    _checked([*command, *where])


def _keep_results(folder: Path) -> None:
    """Keep a run's results without the launches' times, the figures and the pages, which take
    megabytes."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in KEPT:
            path.unlink()


def _checked(command: Sequence[str]) -> None:
    ended = subprocess.run(command, cwd=runs.ROOT, capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"{' '.join(command)} failed\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")


def _rows(found: Mapping[int, tables.Run], jobs: int) -> list[dict[str, Any]]:
    first = next(iter(found.values()))
    rows = []
    for number, run in found.items():
        ours, theirs = _verdicts(run), _verdicts(first)
        apart = [key for key in theirs if ours.get(key) != theirs[key]]
        gpus = {r.gpu for records in run.located.values() for r in records}
        rows.append({
            "workers": number, "gpus": len(gpus - {""}), "jobs": jobs * number,
            "cases": len(run.planned), "wall_s": f"{_seconds(run):.1f}",
            "speedup": f"{_seconds(first) / _seconds(run):.2f}",
            "same": len(theirs) - len(apart), "of": len(theirs),
            "apart": "; ".join(f"{' '.join(k)}: {theirs[k]}, {ours.get(k)}" for k in apart),
        })  # fmt: skip
    return rows


def _verdicts(run: tables.Run) -> dict[tuple[str, str], str]:
    """Case and cache state → the verdict or, in a run without times, the outcome."""
    said = "verdict" if run.is_timed else "status"
    table = run.results
    return {(row["case"], row["cache"]): row[said] for _, row in table.iterrows()}


def _seconds(run: tables.Run) -> float:
    begun, ended = (datetime.fromisoformat(run.info[key]) for key in ("started", "finished"))
    return (ended - begun).total_seconds()


if __name__ == "__main__":
    sys.exit(main())
