"""Write each kernel's measurement into the comment at its top, `// Measured: …`, from the committed
runs.

    python scripts/committed_runs/measured_heads.py            rewrite the lines
    python scripts/committed_runs/measured_heads.py --check    exit 1 if one is out of date

The line gives the first variant's speed-up over its parent at its largest size; for the root
variant, its time. A file that has changed since the run gets no measurement. No other line changes.
The line is not part of the source (harness/files/source_text.py), so the run still matches the
file.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pages"))

from kernels_page import over_parent
from results_table import ROOT

from harness import load
from harness.analysis.ladder import Ladder, ladders, short_names
from harness.analysis.lines.sources import as_it_was
from harness.errors import HarnessError
from harness.matrix import model
from harness.matrix.variants import Problem, Variant
from harness.report import format as fmt
from harness.tables import Run

KERNELS = ROOT / "kernels"
REPORTS = ROOT / "reports"
RUNS = (REPORTS / "h200", REPORTS / "h100")
"""The committed runs, in order of preference: a file's line comes from the first run that measured
the file in its current state."""
LINE = re.compile(r"^// Measured: (.*)$", re.MULTILINE)
NOT_YET = "not yet."


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    options = parser.parse_args(arguments)
    try:
        found = dict(wanted())
    except HarnessError as error:
        print(error, file=sys.stderr)
        return 1
    for path, line in found.items():
        text = path.read_text(encoding="utf-8")
        if len(LINE.findall(text)) != 1:
            print(f"{path}: its head needs one line `// Measured: {NOT_YET}`", file=sys.stderr)
            return 1
        new = LINE.sub(lambda _, line=line: f"// Measured: {line}", text)
        if options.check and new != text:
            print(
                f"{path} is out of date: python scripts/committed_runs/measured_heads.py",
                file=sys.stderr,
            )
            return 1
        if not options.check and new != text:
            path.write_text(new, encoding="utf-8")
    return 0


def wanted() -> Iterator[tuple[Path, str]]:
    """Every variant's file, and the content of its line."""
    for problem in model.load(ROOT / "bench.yaml", KERNELS).problems.values():
        folders = [each / problem.name for each in RUNS]
        runs = [load(each) for each in folders if (each / "results.csv").exists()]
        seen: set[str] = set()
        for variant in problem.variants.values():
            if variant.source and variant.source not in seen:
                seen.add(variant.source)
                lines = (line for run in runs if (line := measured(problem, variant, run)))
                yield KERNELS / problem.name / variant.source, next(lines, NOT_YET)


def measured(problem: Problem, variant: Variant, run: Run) -> str:
    """One sentence with the figures of each type, at the largest size that was timed; empty if the
    run has another version of the file."""
    if as_it_was(run, f"{problem.name}/{variant.source}", KERNELS).missing:
        return ""
    own = [each for each in ladders(run) if each.problem == problem.name]
    shorts = short_names(list(problem.variants))
    texts = [(ladder, text) for ladder in own if (text := _figure(ladder, variant, shorts))]
    if not texts:
        return ""
    sizes, types = texts[0][0].sizes, {ladder.dtype for ladder in own}
    card = run.info["device"]["name"].removeprefix("NVIDIA ")
    parts = [
        f"{ladder.dtype} {text}" if len(types) > 1 else text
        for ladder, text in texts
        if ladder.sizes == sizes
    ]
    return f"{card}, {fmt.assignments(sizes)}: {', '.join(parts)}."


def _figure(ladder: Ladder, variant: Variant, shorts: dict[str, str]) -> str:
    rung = ladder.rung(variant.name)
    if rung is None:
        return ""
    if text := over_parent(rung, variant):
        times, _, verdict = text.partition(" ")
        verdict = verdict.replace("the same", "the same within 1 %")
        return " ".join(filter(None, [times, shorts[variant.builds_on], verdict]))
    return fmt.time_interval(rung.time)


if __name__ == "__main__":
    sys.exit(main())
