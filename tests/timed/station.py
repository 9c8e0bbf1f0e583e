"""Runs on the simulated device, in this process except for its workers."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from fake_device import device

from harness import tables
from harness.errors import HarnessError
from harness.matrix import model
from harness.matrix.filters import Choice
from harness.ncu.stage import ProfileOptions
from harness.run.executor import LocalExecutor
from harness.run.folder import Folder
from harness.run.runner import Runner
from harness.tables import Run

FAKE = "fake_device:open_backend"
MATRIX = """\
timing: {{placements: [3], choosing: 0, rounds_per_placement: 2, batch: 4{timing}}}
limits: {limits}
problems:
  double:
    dtypes: [float32]
    sizes: {{test: {{n: [1, 33]}}, bench: {{n: {sizes}}}}}
    launch: {{block: [64]}}
    baseline: honest1
    library: {library}
    defaults:
      let: {{blocks: "ceil_div(n, block)"}}
      steps: {{twice: {{grid: blocks, block: block, args: [input, output, n]}}}}
    variants:
{variants}
"""


class Station:
    """A folder in which variants are run by name, repeatedly."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.flags = folder, folder / "flags"
        self.journal = folder / "run" / "journal.jsonl"
        self.flags.mkdir()
        self.stopped: HarnessError | None = None
        self.runner: Runner

    def run(
        self, *variants: str, sizes: str = "[1024]", limits: str = "{launch_s: 20}", jobs: int = 1,
        library: str = "null", rows: str = "", choice: Choice | None = None,
        wanted: ProfileOptions | None = None, timing: str = "",
    ) -> Run:  # fmt: skip
        """Run the variants in the folder; return the content of the run's folder. Afterwards,
        `self.stopped` is the error that ended the run early, or None.

        `rows`: the variants' lines of bench.yaml, if names are not enough. `wanted`: the profiling
        options, if any. `timing`: additional settings, after a comma.
        """
        lines = rows or "".join(f"      {name}: {{source: v0.cu}}\n" for name in variants)
        text = MATRIX.format(
            variants=lines, sizes=sizes, limits=limits, library=library, timing=timing
        )
        (self.folder / "bench.yaml").write_text(text)
        bench, out = model.load(self.folder / "bench.yaml"), self.folder / "run"
        now = datetime.now(timezone.utc)
        there = Folder(
            out, bench, choice or Choice(), FAKE, device(), now, only_profiling=bool(wanted)
        )
        self.runner = runner = Runner(
            there.bench, device(), FAKE, there.choice.only, out, wanted, LocalExecutor(jobs),
            there.chosen, matrix=bench,
        )  # fmt: skip
        there.open(runner)
        self.stopped = None
        try:
            runner.run()
        except HarnessError as error:
            self.stopped = error
        there.close(int(runner.failed), tables.load(out))
        return tables.load(out)

    def flag(self, name: str) -> Path:
        """A file that controls the fake device: flag(name).touch()."""
        return self.flags / name
