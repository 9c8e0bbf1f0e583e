"""Write docs/measurement.md's table of which code made which committed run, or check that it is so.

    python scripts/pages/evidence_table.py            rewrite the text between the markers
    python scripts/pages/evidence_table.py --check    exit 1 if it is out of date

A run's journal has the hash of every file that its cases are made from, and one of the harness's
own files that compile, launch, time and verify. Here they are held to the files of today, so that
a run that is older than the code says so.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import sections
from yardsticks import is_today

from harness import load
from harness.run.staleness import harness_hash
from harness.tables import Run

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"
PAGE = ROOT / "docs" / "measurement.md"
RUNS = ROOT / "reports" / "h200"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    options = parser.parse_args(arguments)
    runs = [load(path.parent) for path in sorted(RUNS.glob("*/results.csv"))]
    content = "\n".join(table(runs, harness_hash(is_timed=True)))
    return sections.keep(PAGE, {"evidence": content}, options.check, "make evidence-table")


def table(runs: Sequence[Run], harness: str) -> Iterator[str]:
    """A row for each commit and state of its code. harness: the hash of the code of today."""
    rows: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for run in runs:
        changed = ", ".join(f"`{name}`" for name in changed_sources(run))
        same = {case.made_from.get("harness") for case in run.planned.values()} == {harness}
        rows[
            run.info["commit"]["id"],
            f"all but {changed}" if changed else "all",
            "the same" if same else "older",
        ].append(f"`{run.folder.name}`")
    yield "| commit | runs | sources as they are today | code that measures |"
    yield "|---|---|---|---|"
    for (commit, sources, code), names in sorted(rows.items(), key=lambda row: -len(row[1])):
        yield f"| {commit} | {', '.join(names)} | {sources} | {code} |"


def changed_sources(run: Run) -> list[str]:
    """The files of kernels and problems that are not what the run was made from."""
    made_from = {
        (name, digest)
        for case in run.planned.values()
        for name, digest in case.made_from.items()
        if Path(name).suffix in {".cu", ".cuh", ".h", ".hpp", ".py"}
    }
    return sorted({name for name, digest in made_from if not is_today(name, digest)})


if __name__ == "__main__":
    sys.exit(main())
