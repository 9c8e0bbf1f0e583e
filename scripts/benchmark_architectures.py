"""Emulates the whole matrix for one architecture after another, with --quick.

    python scripts/benchmark_architectures.py [sm_75 sm_80 …] [--out FILE]

Writes reports/emulated/architectures.csv: per architecture the cases and how they ended, and how
many were counted in machine code. A row takes the place of the architecture's earlier one, so that
a few can be done at a time. Exits with 1 where a case failed or a run did not end. Deadlines are
far off: whether a kernel is right has nothing to do with how busy this machine is.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
import yaml

from harness import tables

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "reports" / "emulated" / "architectures.csv"
ALL = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
DEADLINE_S = 3600
COLUMNS = ("arch", "cases", "ok", "skipped", "failed", "counted_in_machine_code")


def main(
    arches: Annotated[list[str] | None, typer.Argument()] = None,
    out: Path = TABLE,
) -> None:
    """Run, and write a row after each architecture."""
    rows = {}
    if out.exists():
        with out.open(newline="") as file:
            rows = {row["arch"]: row for row in csv.DictReader(file)}
    bad = False
    for arch in arches or ALL:
        rows[arch] = row = dict(zip(COLUMNS, map(str, measured(arch)), strict=True))
        bad |= row["failed"] != "0"
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(rows.values(), key=lambda r: int(r["arch"][3:])))
        print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    sys.exit(bad)


def measured(arch: str) -> tuple[str, int, int, int, int, int]:
    """One architecture's row."""
    with tempfile.TemporaryDirectory() as folder:
        matrix = yaml.safe_load((ROOT / "bench.yaml").read_text())
        matrix["limits"]["qualify_s"] = DEADLINE_S
        patient = Path(folder, "bench.yaml")
        patient.write_text(yaml.safe_dump(matrix))
        command = [sys.executable, "-m", "harness", "run", "--quick", "--backend", "emulator",
                   "--arch", arch, "--out", folder + "/run",
                   "--config", str(patient), "--kernels", str(ROOT / "kernels")]  # fmt: skip
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        results = Path(folder, "run", "results.csv")
        if ended.returncode not in (0, 1) or not results.exists():
            sys.exit(f"{arch}: the run ended with {ended.returncode}\n{ended.stderr[-2000:]}")
        with results.open(newline="") as file:
            cases = list(csv.DictReader(file))
        counted = tables.load(results.parent).machine_code
    status = Counter(case["status"] for case in cases)
    return arch, len(cases), status["ok"], status["skipped"], status["failed"], len(counted)


if __name__ == "__main__":
    typer.run(main)
