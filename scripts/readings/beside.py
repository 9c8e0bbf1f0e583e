"""Compare an emulated run's counters with those read in a run on a GPU; write a CSV file.

    python scripts/readings/beside.py EMULATED READ [EMULATED READ …] > readings.csv

EMULATED and READ are folders of runs, or counters.csv files, compressed or not. Each row is a
counter of a launch that both runs have. For each variant and provenance, the number of equal
counters is written to standard error; ratios are compared to six digits. A counter that only one
run has is reported there as not compared. The exit code is 1 if a counter that is labelled exact
differs, or if none was compared.
"""

from __future__ import annotations

import csv
import gzip
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from harness.analysis.readings import JUDGES

COLUMNS = ("case", "step", "metric", "emulated", "read", "equal", "provenance")
_READ = "ncu"
_DIGITS = 1e-6

Key = tuple[str, str, str]


def counters(path: Path) -> dict[Key, dict[str, str]]:
    """Case, step and metric → its row."""
    found = [path] if path.is_file() else sorted(path.glob("counters.csv*"))
    if not found:
        sys.exit(f"{path} has no counters.csv: make it by `python -m harness profile --out {path}`")
    opened = gzip.open if found[0].suffix == ".gz" else open
    with opened(found[0], "rt") as lines:
        return {(row["case"], row["step"], row["metric"]): row for row in csv.DictReader(lines)}


def compared(
    emulated: Mapping[Key, Mapping[str, str]], read: Mapping[Key, Mapping[str, str]]
) -> Iterator[dict[str, str]]:
    """Pairs of an emulated counter and Nsight Compute's, for the same launch."""
    for key, ours in emulated.items():
        theirs = read.get(key)
        if (
            theirs is None
            or theirs["provenance"] != _READ
            or not (ours["value"] and theirs["value"])
        ):
            continue
        equal = math.isclose(float(ours["value"]), float(theirs["value"]), rel_tol=_DIGITS)
        values = (*key, ours["value"], theirs["value"], str(equal).lower(), ours["provenance"])
        yield dict(zip(COLUMNS, values, strict=True))


def summary(rows: Iterable[Mapping[str, str]]) -> dict[tuple[str, str], tuple[int, int]]:
    """Variant and provenance → the numbers of equal and of compared counters."""
    found: dict[tuple[str, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for row in rows:
        key = "/".join(row["case"].split("/")[:2]), row["provenance"]
        equal, every = found[key]
        found[key] = equal + (row["equal"] == "true"), every + 1
    return dict(found)


def main(paths: Sequence[Path], to: TextIO) -> int:
    """Write the rows of pairs of paths, and report how many are equal."""
    rows: dict[Key, dict[str, str]] = {}
    alone = 0
    for emulated, read in zip(paths[::2], paths[1::2], strict=True):
        ours = counters(emulated)
        found = list(compared(ours, counters(read)))
        alone += len(ours) - len(found)
        rows |= {(row["case"], row["step"], row["metric"]): row for row in found}
    out = csv.DictWriter(to, COLUMNS, lineterminator="\n")
    out.writeheader()
    out.writerows(rows.values())
    for (variant, provenance), (equal, every) in summary(rows.values()).items():
        print(f"{variant}: {equal} of {every} equal, {provenance}", file=sys.stderr)
    print(f"{alone} emulated counters were not read", file=sys.stderr)
    exact = [row["equal"] for row in rows.values() if row["provenance"] in JUDGES]
    return 1 if "false" in exact or not rows else 0


if __name__ == "__main__":
    if len(sys.argv) < 3 or len(sys.argv) % 2 == 0:
        sys.exit(__doc__)
    sys.exit(main([Path(each) for each in sys.argv[1:]], sys.stdout))
