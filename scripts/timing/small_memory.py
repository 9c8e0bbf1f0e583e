"""Measure how little free memory on the card affects a run: --quick with and without another
process that holds most of the memory.

    python scripts/timing/small_memory.py [--free all 5.5 7.5 11 15] [--only PATTERN …] [--out FILE]

One row for each amount left free, in the given order: how the run ended, its cases, its
seconds, and their ratio to those of the run with the whole card (`all`). The first run on a machine
compiles for the later ones. Run it on an otherwise idle GPU; --backend emulator tests the script
itself, without a holder.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from holder import held_but_for

ROOT = Path(__file__).resolve().parents[2]
ALL = "all"
COLUMNS = ("free_gib", "code", "ok", "skipped", "failed", "seconds", "times_as_long")


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--free", nargs="+", default=[ALL, "5.5", "7.5", "11", "15"])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--keep", type=Path, help="the folder in which the runs are kept")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, str | int]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for free in options.free:
            holds = free != ALL and options.backend == "cuda"
            with held_but_for(float(free)) if holds else nullcontext():
                folder = (options.keep or Path(scratch)) / f"free-{free}"
                code, status, seconds = quick(options.backend, options.only, folder)
            values = (free, code, status["ok"], status["skipped"], status["failed"],
                      f"{seconds:.1f}", "")  # fmt: skip
            rows.append(dict(zip(COLUMNS, values, strict=True)))
            print(", ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
            compare(rows)
            if options.out:  # after each, so that nothing measured is lost
                with options.out.open("w", newline="") as file:
                    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(rows)
    return int(any(row["code"] != 0 for row in rows))


def compare(rows: Sequence[dict[str, str | int]]) -> None:
    """Write into each row its seconds relative to the run with the whole card."""
    whole = [float(row["seconds"]) for row in rows if row["free_gib"] == ALL]
    for row in rows if whole else ():
        row["times_as_long"] = f"{float(row['seconds']) / whole[-1]:.2f}"


def quick(backend: str, only: Sequence[str], folder: Path) -> tuple[int, Counter[str], float]:
    """Make one quick run; return its exit code, its cases by outcome, and its seconds."""
    command = [sys.executable, "-m", "harness", "run", "--quick", "--backend", backend,
               "--out", str(folder)]  # fmt: skip
    command += [word for pattern in only for word in ("--only", pattern)]
    began = time.monotonic()
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    folder.mkdir(parents=True, exist_ok=True)
    Path(f"{folder}.txt").write_text(ended.stdout + ended.stderr)
    results = folder / "results.csv"
    if not results.exists():
        sys.exit(f"the run ended with {ended.returncode}\n{ended.stderr[-2000:]}")
    with results.open(newline="") as file:
        status = Counter(row["status"] for row in csv.DictReader(file))
    if ended.returncode:
        print(ended.stdout[-3000:], file=sys.stderr)
    return ended.returncode, status, seconds


if __name__ == "__main__":
    sys.exit(main())
