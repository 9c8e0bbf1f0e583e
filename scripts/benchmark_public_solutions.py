"""Judge other people's solutions to KernelBench's problems, and its known cheats, without a GPU.

    python scripts/benchmark_public_solutions.py PAIRS --csv FILE

PAIRS has one line per solution: the problem's file, a space and the solution's file, followed by a
third word if the solution is a cheat. Users fetch these files themselves; torch is required. Sizes
are made small enough to be emulated. Results must meet KernelBench's own float32 tolerance, 1e-4
relative and absolute.
"""

from __future__ import annotations

import argparse
import collections
import csv
import sys
from pathlib import Path

from benchmark_public_problems import CAPS, smaller

from harness.errors import HarnessError
from harness.judge.candidates import submission
from harness.judge.judge import Judge
from harness.judge.public import read
from harness.judge.submissions import Submission

TOLERANCE = (1e-4, 1e-4)
COLUMNS = ("problem", "solution", "cheat", "sizes", "verdict", "cause")
PARTLY_READ = {"triangular": ("A", "B"), "symmetric": ("A", "B")}
"""Word in a problem's name → inputs that are zero or partly known, so no kernel has to read
them."""


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--csv", type=Path, required=True)
    options = parser.parse_args()
    came = collections.Counter[tuple[str, str]]()
    with Judge(jobs=1) as judge, options.csv.open("w", newline="") as file:
        rows = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        rows.writeheader()
        for line in options.pairs.read_text().splitlines():
            problem, solution, *cheat = line.split()
            row = judged(judge, Path(problem), Path(solution), bool(cheat))
            rows.writerow(row)
            file.flush()
            came[row["cheat"], row["verdict"]] += 1
            print(*row.values(), flush=True)
    for (cheat, verdict), count in sorted(came.items()):
        print(f"{cheat or 'solutions'}: {count} {verdict}")
    return int(came["cheat", "right"] > 0)


def judged(judge: Judge, problem: Path, solution: Path, is_cheat: bool) -> dict[str, str]:
    """Judge one solution and return its row."""
    row = dict.fromkeys(COLUMNS, "") | {
        "problem": problem.stem, "solution": solution.stem[:8], "cheat": "cheat" * is_cheat,
    }  # fmt: skip
    try:
        made, sizes = traced(problem, solution)
        row["sizes"] = ", ".join(f"{name} = {value}" for name, value in sizes.items())
        verdict = judge.check(made)
        told = (verdict.message or verdict.cause).splitlines() if not verdict.is_right else []
        row |= {"verdict": verdict.verdict, "cause": (told or [""])[0]}
    except HarnessError as error:
        told = str(error).splitlines()[0].partition("cannot be known: ")
        row |= {"verdict": "refused", "cause": told[2] or told[0]}
    row["cause"] = row["cause"].replace(str(problem), problem.name)[:160]
    return row


def traced(problem: Path, solution: Path) -> tuple[Submission, dict[str, int]]:
    """Trace the solution at the first sizes at which the problem can be read."""
    for cap in CAPS:
        sizes = smaller(problem, cap)
        try:
            stated = read(problem, sizes)
        except HarnessError:
            if cap == CAPS[-1]:
                raise
            continue
        named = [n for word, names in PARTLY_READ.items() if word in problem.stem for n in names]
        some = tuple(name for name in named if name in stated.inputs)
        made = submission(
            solution, problem, sizes, seconds=60, tolerance=TOLERANCE, partly_read=some
        )
        return made, sizes
    raise AssertionError


if __name__ == "__main__":
    sys.exit(main())
