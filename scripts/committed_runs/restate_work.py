"""Add figures of the work model, such as bytes written, that the committed runs' records lack.

    python scripts/committed_runs/restate_work.py

A run's journal records how many bytes each case moves, according to the work model of that time,
but not how many of them are written. That number is not a measurement: the problem's work() still
states it. Therefore the script adds it to run.json for each size, next to the bytes that work() now
states; harness/tables/stated_work.py uses the number if these bytes agree with the journal's. A run
that recorded the number itself is left unchanged.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from harness import load
from harness.journal.records import Planned
from harness.problem.loading import load as load_problem

ROOT = Path(__file__).resolve().parents[2]
RUNS, KERNELS = ROOT / "reports" / "h200", ROOT / "kernels"


def main() -> int:
    for results in sorted(RUNS.glob("*/results.csv")):
        restate(results.parent, KERNELS)
    return 0


def restate(folder: Path, kernels: Path) -> None:
    """Add `work` and `no_roof` to run.json's entry of each of the run's problems."""
    run, path = load(folder), folder / "run.json"
    info: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for name, about in info["problems"].items():
        problem = load_problem(kernels / name)
        recorded = [p for p in run.of(Planned) if p.problem == name]
        older = {p.group: p for p in recorded if p.written_bytes is None}
        about["no_roof"] = problem.no_roof
        about["work"] = {}
        for group, p in older.items():
            work = problem.work(p.sizes, p.dtype)
            if work.bytes != p.bytes:
                print(f"{group}: {p.bytes:,} bytes then, {work.bytes:,} today; left as it is")
                continue
            about["work"][group] = {"bytes": work.bytes, **vars(work)}
    path.write_text(json.dumps(info, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
