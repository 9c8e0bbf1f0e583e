"""What a card with little free memory costs a run: --quick with and without a holder of the rest.

    python scripts/timing/small_memory.py [--free 5.5 7.5 11 15] [--only PATTERN …] [--out FILE]

A row for each amount that is left free, the first for the card as it is: how the run ended, its
cases, its seconds, and how many times the seconds of the first. Runs on a GPU that nobody else
uses; --backend emulator tries the script itself, without a holder.
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
COLUMNS = ("free_gib", "code", "ok", "skipped", "failed", "seconds", "times_as_long")


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--free", type=float, nargs="*", default=[5.5, 7.5, 11.0, 15.0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, str | int]] = []
    for free in (None, *options.free):
        holds = free is not None and options.backend == "cuda"
        with held_but_for(free) if holds else nullcontext():
            code, status, seconds = quick(options.backend, options.only)
        first = float(rows[0]["seconds"]) if rows else seconds
        values = ("all" if free is None else free, code, status["ok"], status["skipped"],
                  status["failed"], f"{seconds:.1f}", f"{seconds / first:.2f}")  # fmt: skip
        rows.append(dict(zip(COLUMNS, values, strict=True)))
        print(", ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    if options.out:
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return int(any(row["code"] != 0 for row in rows))


def quick(backend: str, only: Sequence[str]) -> tuple[int, Counter[str], float]:
    """The exit code of one run, its cases by how they ended, and its seconds."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "harness", "run", "--quick", "--backend", backend,
                   "--out", f"{folder}/run"]  # fmt: skip
        command += [word for pattern in only for word in ("--only", pattern)]
        began = time.monotonic()
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - began
        results = Path(folder, "run", "results.csv")
        if not results.exists():
            sys.exit(f"the run ended with {ended.returncode}\n{ended.stderr[-2000:]}")
        with results.open(newline="") as file:
            status = Counter(row["status"] for row in csv.DictReader(file))
        if ended.returncode:
            print(ended.stdout[-3000:], file=sys.stderr)
    return ended.returncode, status, seconds


if __name__ == "__main__":
    sys.exit(main())
