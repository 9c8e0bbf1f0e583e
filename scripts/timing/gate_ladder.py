"""Measure how often the gate finds differences in a ladder of 20 variants compared with itself, on
the GPU.

    python scripts/timing/gate_ladder.py --fresh 10 --beside 30 --out reports/h200/reliability
    python scripts/timing/gate_ladder.py --out reports/h200/reliability FOLDER …

Every reduction in blocks of 256 threads is timed at two sizes. Between runs, each fresh run is
compared with every other one on the same card, at all sizes that both have. Within one run, the
comparison is `beside git:HEAD` in a repository in which nothing changed. The identity of the
machine code is hidden from the comparison, so that it has to decide from the times alone. Earlier
runs are named by their folders.

gate_ladder.csv has a row per comparison of one size. `mode`: two runs, or one run. `card`: the
first part of its UUID. `cases`: how many were compared. `blamed`: how many of these get the verdict
slower or faster, which is always false. `code`: the exit code of the gate, 3 if it cannot tell.
`code_2pct`: the exit code when one variant's launches are made 2 % longer on paper (their net
time). `found_2pct`: whether that variant is called slower.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import gate
import runs

from harness import tables
from harness.comparison import judge
from harness.comparison.judgement import Judgement
from harness.comparison.pairs import suffix_of
from harness.journal.records import Compiled, Record, Round
from harness.tables import Run, packed

PROBLEM = "reduce_sum"
SIZES = (2**20, 2**24)
SLOWED, SLOWDOWN = "v8_warp_shuffle", 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--fresh", type=int, default=0)
    parser.add_argument("--beside", type=int, default=0)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="elements of the sum")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--keep", type=Path, help="where the runs are kept, packed")
    parser.add_argument("folders", nargs="*", type=Path)
    given = parser.parse_args()
    ladder = [f"{PROBLEM}/*/*/n={n}/block={runs.BLOCK}" for n in given.sizes]
    libraries = [f"{PROBLEM}/{name}/*/n={n}" for name in ("torch", "cub") for n in given.sizes]
    everything = [*ladder, *libraries]
    found = [tables.load(folder) for folder in given.folders]
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(given.fresh):
            found.append(runs.fresh(Path(scratch) / f"fresh-{number}", everything))
            _keep(found[-1], given.keep, f"fresh-{number}")
        for number in range(given.beside):
            found.append(_beside(Path(scratch) / f"beside-{number}", ladder))
            _keep(found[-1], given.keep, f"beside-{number}")
    runs.write(given.out / "gate_ladder.csv", list(compared(found)), found[0])


def compared(found: Sequence[Run]) -> Iterator[dict[str, Any]]:
    """Compare each two-sided run with itself, and all others in pairs on the same card."""
    both = [run for run in found if suffix_of(run)]
    alone = [run for run in found if not suffix_of(run)]
    pairs = [(run, run) for run in both]
    pairs += [(one, two) for one, two in combinations(alone, 2) if _card(one) == _card(two)]
    for base, new in pairs:
        for n in sorted({p.sizes["n"] for p in new.planned.values()}):
            now = _of_size(new, n)
            was = now if base is new else _of_size(base, n)
            slower = _slowed(now)
            plain = judge(was, now)
            changed = judge(slower if base is new else was, slower)
            yield {
                "mode": "one run" if base is new else "two runs",
                "base": _name(base), "new": _name(new),
                "card": _card(new), "n": n, "cases": len(plain.compared),
                "blamed": plain.counts["slower"] + plain.counts["faster"], "code": plain.code,
                "code_2pct": changed.code, "found_2pct": int(_is_found(changed)),
                "commit": str(new.info["commit"]["id"])[:7],
            }  # fmt: skip


def _is_found(judgement: Judgement) -> bool:
    return any(c.kind == "slower" and c.pair.variant == SLOWED for c in judgement.changes)


def _name(run: Run) -> str:
    folder = run.folder
    return folder.parent.name if folder.name == "run" else folder.name


def _card(run: Run) -> str:
    return str((run.info.get("card") or {}).get("uuid", ""))[4:12]


def _of_size(run: Run, n: int) -> Run:
    """Keep the run's cases of one size, and remove the hashes that identify equal machine code."""
    cases = {case for case, planned in run.planned.items() if planned.sizes["n"] == n}
    records: list[Record] = []
    for record in run.records:
        if getattr(record, "case", None) in cases or not hasattr(record, "case"):
            if isinstance(record, Compiled):
                record = replace(record, sass_sha256="")  # noqa: PLW2901
            records.append(record)
    return Run(run.folder, run.info, records)


def _slowed(run: Run) -> Run:
    """Change the run as if the variant's launches took 2 % longer."""
    [case] = [case for case, planned in run.planned.items() if planned.variant == SLOWED]
    more = {cache: SLOWDOWN * time.value for cache in ("cold", "warm")
            if (time := run.time(case, cache))}  # fmt: skip
    records = [
        replace(record, samples_ns=tuple(ns + more[record.cache] for ns in record.samples_ns))
        if isinstance(record, Round) and record.case == case else record
        for record in run.records
    ]  # fmt: skip
    return Run(run.folder, run.info, records)


def _beside(folder: Path, ladder: Sequence[str]) -> Run:
    """Run every variant twice in one run. `ladder`: the pattern for `--only`."""
    folder.mkdir(parents=True)
    gate.commit(folder, PROBLEM)
    only = [word for pattern in ladder for word in ("--only", pattern)]
    ended = subprocess.run(
        [sys.executable, "-m", "harness", "beside", "git:HEAD", "--backend", "cuda", *only,
         "--out", str(folder / "run")],
        cwd=folder, capture_output=True, text=True, env=gate.environment(),
    )  # fmt: skip
    if not (folder / "run" / "run.json").exists():
        sys.exit(f"the comparison failed\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return tables.load(folder / "run")


def _keep(run: Run, folder: Path | None, name: str) -> None:
    if folder:
        packed.pack(run.folder, folder / name)


if __name__ == "__main__":
    main()
