"""Measure whether the harness's times equal those of bare launches, and at which level the variance
arises.

    python scripts/timing/placement.py [--out reports/h200/timing]

placement.csv: the harness's times of five reductions, divided by those of the same compiled kernels
in plain allocations between plain events, after the same flush of the cache. levels.csv: the
standard deviation of the bare times between processes, between placements within a process, and
between rounds within a placement, as fractions of the time. turns.csv: the time of a bare launch at
each of the four launch phases (harness/backends/cuda/launch_phase.py), in microseconds, the fastest
first, averaged over placements.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import runs

from harness.backends.cuda.launch_phase import TURNS
from harness.statistics.intervals import batch_time, time_of

PROCESSES, PLACEMENTS = 8, 3
Batches = dict[tuple[str, int], dict[tuple[int, int, int], float]]
"""(kernel, n) → (process, placement, round) → ns."""
Turns = dict[tuple[str, int], dict[tuple[int, int], list[list[float]]]]
"""(kernel, n) → (process, placement) → ns of the launches at each turn."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=runs.TABLES)
    out = parser.parse_args().out
    found: Batches = defaultdict(dict)
    turns: Turns = defaultdict(lambda: defaultdict(lambda: [[] for _ in range(TURNS)]))
    for process in range(PROCESSES // 2):  # one half before, one half after, so that drift cancels
        bare(process, found, turns)
    with tempfile.TemporaryDirectory() as folder:
        run = runs.fresh(Path(folder), runs.ALL, {"flush": "clean"})
    for process in range(PROCESSES // 2, PROCESSES):
        bare(process, found, turns)
    rows, levels = [], []
    for (kernel, n), batches in sorted(found.items()):
        case = runs.case(kernel, n)
        time = run.time(case)
        if time is None:
            sys.exit(f"{case} has no time")
        placed = {(process * PLACEMENTS + placement, round_): ns
                  for (process, placement, round_), ns in batches.items()}  # fmt: skip
        estimate = time_of(placed)  # as the harness does
        assert estimate is not None
        ns = math.exp(estimate.mean)
        rows.append({"kernel": kernel, "n": n, "harness_us": f"{time.value / 1e3:.3f}",
                     "bare_us": f"{ns / 1e3:.3f}", "ratio": f"{time.value / ns:.4f}"})  # fmt: skip
        levels.append({"kernel": kernel, "n": n, **components(batches)})
    runs.write(out / "placement.csv", rows)
    runs.write(out / "levels.csv", levels)
    runs.write(out / "turns.csv", [
        {"kernel": kernel, "n": n} | by_turn(list(turns[kernel, n].values()))
        for kernel, n in sorted(turns)
    ])  # fmt: skip


def bare(process: int, found: Batches, turns: Turns) -> None:
    """Run bare launches in a fresh process, and add its batches to `found` and `turns`."""
    script = Path(__file__).parent / "costs" / "bare.py"
    said = subprocess.run(
        [sys.executable, str(script), str(PLACEMENTS)],
        cwd=runs.ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for line in said.splitlines():
        batch: dict[str, Any] = json.loads(line)
        at = process, batch["placement"], batch["round"]
        what = batch["kernel"], batch["n"]
        found[what][at] = batch_time(batch["samples_ns"])
        for turn, ns in zip(batch["turns"], batch["samples_ns"], strict=True):
            turns[what][at[:2]][turn].append(ns)


def by_turn(placements: list[list[list[float]]]) -> dict[str, str]:
    """The time at each launch phase. Phases cannot be matched between placements, so they are
    sorted by time."""
    each = np.sort([[np.median(ns) for ns in turns] for turns in placements], axis=1).mean(axis=0)
    return {f"turn_{place}_us": f"{ns / 1e3:.3f}" for place, ns in enumerate(each, 1)}


def components(batches: dict[tuple[int, int, int], float]) -> dict[str, str]:
    """The standard deviation of each level, after subtracting the standard deviation of the levels
    below it."""
    shape = [len({at[level] for at in batches}) for level in range(3)]
    logs = np.log([batches[at] for at in sorted(batches)]).reshape(shape)
    rounds = logs.var(axis=2, ddof=1).mean()
    placements = logs.mean(axis=2).var(axis=1, ddof=1).mean() - rounds / shape[2]
    processes = logs.mean(axis=(1, 2)).var(ddof=1) - (
        max(placements, 0) / shape[1] + rounds / (shape[1] * shape[2])
    )
    return {
        name: f"{math.sqrt(max(variance, 0)):.5f}"
        for name, variance in (
            ("processes", processes), ("placements", placements), ("rounds", rounds),
        )
    }  # fmt: skip


if __name__ == "__main__":
    main()
