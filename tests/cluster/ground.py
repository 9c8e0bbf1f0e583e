"""A matrix of four variants, and a way to make the workers on it wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tiny_problem import KERNEL, MATRIX, PROBLEM

from harness import tables
from harness.commands.printed import results
from harness.commands.request import RunRequest
from harness.commands.runs.here import carry_out
from harness.journal import storage
from harness.journal.file import parsed
from harness.journal.records import Record

VARIANTS = 4
HOLD = """\
    def inputs(self, sizes, dtype, rng, draw):
        import itertools, os, pathlib, time
        hold = pathlib.Path(__file__).with_name("hold")
        if sizes["n"] > 1000 and hold.exists():
            for number in itertools.count():
                try:
                    os.close(os.open(f"{hold}.{number}", os.O_CREAT | os.O_EXCL))
                    break
                except FileExistsError:
                    continue
            while hold.exists() and number >= int(hold.read_text() or 0):
                time.sleep(0.02)
"""


@dataclass
class Ground:
    """A folder with the matrix; run() runs it as the command line does."""

    folder: Path

    @contextmanager
    def held(self, after: int) -> Iterator[None]:
        """Within the `with` block, `after` variants are counted, and workers on any other variant
        wait."""
        hold = self.folder / "kernels" / "double" / "hold"
        for ticket in hold.parent.glob("hold.*"):
            ticket.unlink()
        storage.replace_text(hold, str(after))
        try:
            yield
        finally:
            hold.unlink()

    def run(self, out: str, cluster: str | None = None, backend: str = "emulator") -> int:
        """Run the matrix; return the exit code."""
        asked = RunRequest(
            self.folder / "bench.yaml", backend=backend, out=self.folder / out, jobs=1,
            told=results.OutputOptions(quiet=True), cluster=cluster,
        )  # fmt: skip
        return carry_out(asked)[0]

    def load(self, out: str) -> tables.Run:
        return tables.load(self.folder / out)

    def csv(self, out: str) -> tuple[str, list[str]]:
        """The content of counters.csv, and the rows of results.csv without host and GPU."""
        found = self.load(out)
        there = found.results.drop(columns=["host", "gpu"], errors="ignore")
        return (self.folder / out / "counters.csv").read_text(), there.to_csv().splitlines()

    def until(
        self, out: str, is_there: Callable[[list[Record]], bool], seconds: float = 60
    ) -> None:
        """Wait until the records in the run's journal satisfy a condition."""
        path, end = self.folder / out / "journal.jsonl", time.monotonic() + seconds
        while time.monotonic() < end:
            if path.exists() and is_there(_whole(path)):
                return
            time.sleep(0.02)
        raise AssertionError(f"{path} does not hold what was waited for")


def _whole(path: Path) -> list[Record]:
    content = path.read_bytes()
    return [parsed(line) for line in content[: content.rfind(b"\n") + 1].splitlines()]


def made_in(folder: Path) -> Ground:
    double = folder / "kernels" / "double"
    double.mkdir(parents=True)
    start = MATRIX.index("      v0:\n")
    one = MATRIX[start : MATRIX.index("timing:")]
    every = "".join(one.replace("v0:", f"v{i}:") for i in range(VARIANTS))
    matrix = MATRIX.replace(one, every).replace("block: [64, 128]", "block: [64]")
    (folder / "bench.yaml").write_text(matrix)
    held = PROBLEM.replace("    def inputs(self, sizes, dtype, rng, draw):\n", HOLD)
    assert held != PROBLEM
    (double / "problem.py").write_text(held)
    (double / "v0.cu").write_text(KERNEL)
    return Ground(folder)
