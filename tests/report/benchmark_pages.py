"""Measure how long a run of 28 problems takes to draw, and how large its pages are.

Processor time is also expressed as a number of plain figures (20 bars, as SVG and PNG), because
these also take longer on a slow machine. At 0.24 s each on the original machine, 250 figures are
one minute. The exit code is 1 if drawing takes longer or a page is too large.
"""

from __future__ import annotations

import io
import os
import platform
import tempfile
import time
from pathlib import Path

from matplotlib.figure import Figure
from synthetic_runs import many

from harness import report


def processor_seconds() -> float:
    """The processor time of this process and of those child processes that have ended."""
    return sum(os.times()[:4])


def plain_figure_seconds() -> float:
    start = time.process_time()
    for _ in range(5):
        figure = Figure(figsize=(10, 4))
        axes = figure.add_axes((0.2, 0.1, 0.7, 0.8))
        axes.barh([f"v{i}" for i in range(20)], range(20))
        for i in range(20):
            axes.text(i, i, f"{i} GB/s")
        for kind in ("svg", "png"):
            figure.savefig(io.BytesIO(), format=kind)
    return (time.process_time() - start) / 5


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = many(Path(folder))
        before, start, clock = plain_figure_seconds(), processor_seconds(), time.perf_counter()
        home = report.write(run)
        taken, wall = processor_seconds() - start, time.perf_counter() - clock
        plain = max(before, plain_figure_seconds())
        pages = [home, *(run.folder / "problems").glob("*.html")]
        largest = max(page.stat().st_size for page in pages)
        cases = len(run.planned)
    print(f"{platform.machine()}, Python {platform.python_version()}")
    print(f"28 problems, {cases} cases: {wall:.1f} s, {taken:.1f} s of the processor")
    print(f"that is {taken / plain:.0f} plain figures of {plain:.2f} s; 250 are a minute")
    print(f"{len(pages)} pages, the largest of {largest / 1e6:.2f} MB; 3 MB are allowed")
    if taken > 250 * plain or largest > 3_000_000:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
