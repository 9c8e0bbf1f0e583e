"""Fuzz kernels that use Hopper's asynchronous instructions: their PTX, cubins and listings.

    python scripts/fuzzing/fuzz_asynchronous.py --inputs 60000 --seed 39 --jobs 16 --seconds 420

The inputs are those of fuzz_kernels.py --asynchronous and of the targets sm_90a-cubin and
sm_90a-listing of fuzz_machine_code.py. The batches run on all cores. Each has a process and a seed
of its own, so that a process that crashes or hangs costs one batch, and `--batches FIRST` continues
where an earlier call ended. Writes a row for each target in the form of
reports/emulated/mutations.csv, and keeps every failing input beside it. The exit code is 1 if any
input fails.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts"), str(Path(__file__).parent)]

import fuzz  # noqa: E402
import fuzz_kernels  # noqa: E402, F401 (it adds its target)
import fuzz_machine_code  # noqa: E402, F401

from harness.emulator.engine.library import load as load_engine  # noqa: E402
from harness.emulator.sass.library import load as load_machine  # noqa: E402

TARGETS = {
    "asynchronous": ("PTX of the asynchronous machine", 0.4),
    "sm_90a-listing": ("listings of the same at sm_90a", 0.4),
    "sm_90a-cubin": ("cubins of the same at sm_90a", 0.2),
}
"""Each target's title, and its share of the inputs."""
BATCH = 200
CRASHES, HANGS, LONG, TRACEBACKS = "crashes", "hangs", "messages_too_long", "tracebacks"
_SILENT_S = 6 * fuzz.DEADLINE_S  # no input finished for this long: the engine's own code hangs


@dataclass
class Batch:
    """The inputs of one process. `found`: the number of failures of each kind."""

    target: str
    number: int
    inputs: int
    folder: Path
    process: BaseProcess | None = None
    done: int = 0
    since: float = 0.0
    cpu_s: float = 0.0
    found: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return f"{self.target}-{self.number}"

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def current(self) -> Path:
        return self.folder / f"{self.name}.input"


def try_all(batch: Batch, seed: int, seeds: list[bytes]) -> None:
    """Try inputs in a separate process, and write a line for each."""
    target, draw = (
        fuzz.TARGETS[batch.target],
        random.Random(f"{batch.target}/{seed}/{batch.number}"),
    )
    mutate = target.mutate or fuzz.mutated
    signal.signal(signal.SIGALRM, fuzz.raise_late)
    with batch.log.open("w", buffering=1) as log:
        for n in range(batch.inputs):
            content = mutate(draw, seeds)
            batch.current.write_bytes(content)
            what = fuzz.failure(target, content, batch.folder, fuzz.DEADLINE_S)
            if what:
                batch.current.with_suffix(f".failure-{n}").write_bytes(content)
            log.write(f"{time.process_time():.3f} {' '.join((what or '').split())}\n")


def kind_of(what: str) -> str:
    """The column in which a failure is counted. `what`: its description by fuzz.failure()."""
    if "not done after" in what:
        return HANGS
    return LONG if "a message of" in what else TRACEBACKS


def look_at(batch: Batch, now: float) -> bool:
    """Update a running batch, and kill its process if it hangs; return whether the batch has
    ended."""
    assert batch.process is not None
    running = batch.process.is_alive()
    lines = batch.log.read_text().splitlines() if batch.log.exists() else []
    if len(lines) > batch.done:
        batch.done, batch.since = len(lines), now
    hangs = running and now - batch.since > _SILENT_S
    if running and not hangs:
        return False
    if hangs:
        batch.process.kill()
    batch.process.join()
    batch.cpu_s = float(lines[-1].split()[0]) if lines else 0.0
    batch.found = Counter(kind_of(what) for line in lines if (what := line.partition(" ")[2]))
    if hangs or batch.process.exitcode:
        batch.found[HANGS if hangs else CRASHES] += 1
        batch.done += 1
        batch.current.rename(batch.current.with_suffix(".hang" if hangs else ".crash"))
    else:
        batch.current.unlink(missing_ok=True)
    batch.log.unlink(missing_ok=True)
    return True


def batches(inputs: int, first: int, folder: Path) -> Iterator[Batch]:
    """The batches of all targets in turn, so that a call that ends early has tried some of each."""
    left = {target: round(inputs * share) for target, (_, share) in TARGETS.items()}
    number = first
    while any(left.values()):
        for target, some in left.items():
            if some:
                yield Batch(target, number, min(BATCH, some), folder)
                left[target] -= min(BATCH, some)
        number += 1


def run(asked: argparse.Namespace) -> list[Batch]:
    """Run batches in as many processes as asked, until all inputs or the time are used up."""
    seeds = {target: fuzz.TARGETS[target].seeds() for target in TARGETS}
    for load in (load_engine, load_machine):
        library = load()
        assert not isinstance(library, str), library
    fork = multiprocessing.get_context("fork")  # children inherit the libraries and the seeds
    waiting = batches(asked.inputs, asked.batches, asked.out)
    running: list[Batch] = []
    ended: list[Batch] = []
    begun = time.monotonic()
    while True:
        now = time.monotonic()
        for batch in [each for each in running if look_at(each, now)]:
            running.remove(batch)
            ended.append(batch)
        while now - begun < asked.seconds and len(running) < asked.jobs:
            upcoming = next(waiting, None)
            if upcoming is None:
                break
            upcoming.since = now
            upcoming.process = fork.Process(
                target=try_all, args=(upcoming, asked.seed, seeds[upcoming.target])
            )
            upcoming.process.start()
            running.append(upcoming)
        if not running:
            return ended
        time.sleep(0.1)


def write(ended: list[Batch], asked: argparse.Namespace) -> None:
    """Write and print a row for each target."""
    columns = ("what", "inputs", CRASHES, HANGS, TRACEBACKS, LONG, "seconds", "command")
    with (asked.out / "mutations.csv").open("w", newline="") as file:
        for out in (csv.writer(file), csv.writer(sys.stdout)):
            out.writerow(columns)
            for target, (title, _) in TARGETS.items():
                own = [each for each in ended if each.target == target]
                found = sum((each.found for each in own), Counter())
                last = max((each.number for each in own), default=asked.batches)
                command = (f"scripts/fuzzing/fuzz_asynchronous.py --seed {asked.seed}; batches "
                           f"{asked.batches} to {last} of {BATCH}")  # fmt: skip
                out.writerow([title, sum(each.done for each in own),
                              *(found[each] for each in (CRASHES, HANGS, TRACEBACKS, LONG)),
                              round(sum(each.cpu_s for each in own)), command])  # fmt: skip


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--inputs", type=int, default=60_000)
    arguments.add_argument("--seed", type=int, default=39)
    arguments.add_argument("--batches", type=int, default=0, metavar="FIRST")
    arguments.add_argument("--seconds", type=float, default=420, help="no batch starts after these")
    arguments.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz-asynchronous")
    asked = arguments.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    ended = run(asked)
    write(ended, asked)
    return int(any(each.found for each in ended))


if __name__ == "__main__":
    sys.exit(main())
