"""Write or check docs/measurement.md's table of the commits that produced the committed runs.

    python scripts/pages/evidence_table.py            rewrite the text between the markers
    python scripts/pages/evidence_table.py --check    exit 1 if it is out of date

A run's journal has the hash of every file from which its cases are made; these are compared with
the current files, ignoring comments in C++ files. The harness's own files that compile, launch,
time and verify are compared with those of the run's commit, by their statements only: moving a
module or improving a docstring changes no measurement. The hashes of a commit's files are stored in
reports/h200/statements.json, so that a check needs no history.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import sections
from yardsticks import is_today

from harness import load
from harness.files.statements import statements
from harness.run import staleness
from harness.tables import Run

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"
PAGE = ROOT / "docs" / "measurement.md"
RUNS = ROOT / "reports" / "h200"
STATEMENTS = RUNS / "statements.json"
"""The file that maps each commit to the hashes of all harness files at that commit, in order."""
DIGITS = 12
NAMED = 4
"""Differing files are named if there are at most this many."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    options = parser.parse_args(arguments)
    runs = [load(path.parent) for path in sorted(RUNS.glob("*/results.csv"))]
    if not options.check:
        keep_statements({run.info["commit"]["id"] for run in runs})
    content = "\n".join(table(runs, json.loads(STATEMENTS.read_text())))
    return sections.keep(PAGE, {"evidence": content}, options.check, "make evidence-table")


def keep_statements(commits: set[str]) -> None:
    """Write the hashes of the commits' files, taken from the history; known ones are kept."""
    known = json.loads(STATEMENTS.read_text()) if STATEMENTS.exists() else {}
    kept = {commit: known.get(commit) or statements_of(commit) for commit in sorted(commits)}
    STATEMENTS.write_text(json.dumps(kept, indent=1) + "\n")


def statements_of(commit: str) -> list[str]:
    names = _git("ls-tree", "-r", "--name-only", commit, "harness").splitlines()
    return sorted({
        _hash(statements(_git("show", f"{commit}:{name}"), Path(name).suffix))
        for name in names
        if Path(name).suffix in staleness.CODE
    })  # fmt: skip


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def table(runs: Sequence[Run], known: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the table, with a row for each commit and state of its code. `known`: commit → hashes
    of its files."""
    rows: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for run in runs:
        changed, commit = changed_sources(run), run.info["commit"]["id"]
        rows[commit, _all_but(changed), code_since(known.get(commit, ()))].append(
            f"`{run.folder.name}`"
        )
    yield "| commit | runs | sources as they are today | code that measures as it is today |"
    yield "|---|---|---|---|"
    for (commit, sources, code), names in sorted(rows.items(), key=lambda row: -len(row[1])):
        yield f"| {commit} | {', '.join(names)} | {sources} | {code} |"


def code_since(hashes: Sequence[str]) -> str:
    """Describe how much of the measuring code was the same, statement for statement, at a
    commit."""
    files = list(staleness.harness_files(is_timed=True))
    differ = [file for file in files if _hash_today(file) not in hashes]
    if len(differ) > NAMED:
        return f"all but {len(differ)} of {len(files)} files"
    return _all_but(sorted(str(file.relative_to(staleness.HARNESS)) for file in differ))


@cache
def _hash_today(file: Path) -> str:
    return staleness.statements_hash(file)[:DIGITS]


def _all_but(names: Sequence[str]) -> str:
    return f"all but {', '.join(f'`{name}`' for name in names)}" if names else "all"


def changed_sources(run: Run) -> list[str]:
    """The kernel and problem files that differ from the run's.

    The records of some runs also name other problems' libraries. run.json does not: they were not
    used.
    """
    made_from = {
        (name, digest)
        for case in run.planned.values()
        for name, digest in case.made_from.items()
        if name in run.info["sources"]
    }
    return sorted({name for name, digest in made_from if not is_today(run, name, digest)})


if __name__ == "__main__":
    sys.exit(main())
