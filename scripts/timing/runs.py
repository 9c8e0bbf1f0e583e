"""Fresh runs of the harness for the experiments in this folder, and the location of their
tables."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from harness import tables
from harness.machine import devices, environment

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "reports" / "h200" / "timing"
BLOCK = 256
LADDER = {
    "v3": "v3_no_bank_conflict", "v6": "v6_unroll_all", "v8": "v8_warp_shuffle",
    "v9": "v9_vectorized",
}  # fmt: skip
"""Four reductions, each of two kernels, by their names in the tables."""
ONE_KERNEL = {"v12": "v12_single_pass_last_block"}
SHORT = {name: short for short, name in (LADDER | ONE_KERNEL).items()}


def case(kernel: str, n: int | str = "*") -> str:
    """The id of a case of the ladder; without n a pattern for all of its sizes."""
    size = n if n == "*" else f"n={n}"
    return f"reduce_sum/{(LADDER | ONE_KERNEL)[kernel]}/float32/{size}/block={BLOCK}"


ONLY = [case(kernel) for kernel in LADDER]
"""The `--only` patterns for the ladder at every size."""
ALL = [*ONLY, *(case(kernel) for kernel in ONE_KERNEL)]
"""The `--only` patterns for the ladder and the reduction with one kernel, at every size."""


def fresh(folder: Path, only: Sequence[str], timing: Mapping[str, Any] | None = None) -> tables.Run:
    """Make one run in its own processes, with bench.yaml's timing except for the given settings."""
    bench = yaml.safe_load((ROOT / "bench.yaml").read_text())
    bench["timing"] |= timing or {}
    folder.mkdir(parents=True, exist_ok=True)
    matrix = folder / "bench.yaml"
    matrix.write_text(yaml.safe_dump(bench))
    patterns = [word for pattern in only for word in ("--only", pattern)]
    ended = subprocess.run(
        [sys.executable, "-m", "harness", "run", "--backend", "cuda", "--config", str(matrix),
         "--kernels", str(ROOT / "kernels"), "--out", str(folder / "run"), *patterns],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    if ended.returncode:
        sys.exit(f"{folder}: the run failed\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
    return tables.load(folder / "run")


def earlier(path: Path | None) -> list[dict[str, str]]:
    """The rows of a table from an earlier run; empty if the file does not exist."""
    if path is None or not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def commit_of_today() -> str:
    """The current commit, in the form used in a table's rows."""
    return str((environment.commit() or {}).get("id", ""))[:7]


def commit_of(path: Path) -> str:
    """The commit that made a table, from made.json, for tables whose rows do not name it."""
    return str(json.loads(path.with_name("made.json").read_text())[path.name]["commit"]["id"])[:7]


def write(
    path: Path,
    rows: Sequence[Mapping[str, Any]],
    of: tables.Run | None = None,
    is_simulated: bool = False,
) -> None:
    """Write rows as a CSV file, and print them; made.json in the same folder records the commit and
    the machine.

    `of`: the run from which the rows were made, if they do not come from a new measurement.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(path.read_text(), end="", flush=True)
    about = path.with_name("made.json")
    made = json.loads(about.read_text()) if about.exists() else {}
    commit = of.info["commit"] if of else environment.commit()
    if is_simulated:
        where = "simulated"
    else:
        where = of.info["device"]["name"] if of else devices.cuda_device(None).name
    made[path.name] = {"commit": commit, "machine": where}
    about.write_text(json.dumps(dict(sorted(made.items())), indent=1) + "\n")
