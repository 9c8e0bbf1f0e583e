"""Simulate how often a verdict is false, and how small a difference can be found.

    python scripts/timing/verdicts.py --runs 2000 --out reports/h200/timing/power.csv

Each run is a ladder of 16 variants at 3 launch shapes on a simulated device: the harness's own
measurement, with its looks, its selection of launch shapes and its verdicts, on simulated times.
The first six noise models are textbook ones; `journal` samples the noise of the committed runs of
repeatability.py, placement by placement and round by round.

One row per noise model and effect. `found`: runs in which the verdict on the truly faster variant
is that it is faster than the baseline. `false`: runs in which any two equal kernels of the ladder
get the verdict that they differ. `covered`: the share of the intervals of the variants' displayed
speed-ups that contain the truth; `leader_covered`: the same for the fastest variant. `placements`:
the average number. `commit`: of the harness that was simulated.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import runs

from harness import tables
from harness.backends.base import Right
from harness.cases import Case
from harness.job import Job
from harness.journal.records import Outcome, Planned, Round
from harness.matrix.model import Timing
from harness.processes.workers import Ended
from harness.run.measurement import Effort, Measurement
from harness.statistics.timings import Timings

VARIANTS, SHAPES = 16, 3
Noise = npt.NDArray[np.float64]
Row = dict[str, float]
Simulated = Callable[[Any, float, int], Row]
"""(noise, effect, seed) → what one simulation found."""


def white(rng: np.random.Generator, rounds: int, slots: int) -> Noise:
    """White noise of 0.3 % per batch."""
    return 0.003 * rng.standard_normal((rounds, slots))


def outliers(rng: np.random.Generator, rounds: int, slots: int) -> Noise:
    """White noise, with one batch in twenty longer by 10 % on average."""
    late = rng.random((rounds, slots)) < 0.05
    return white(rng, rounds, slots) + late * rng.exponential(0.1, (rounds, slots))


def student(rng: np.random.Generator, rounds: int, slots: int) -> Noise:
    """Student's t with 2 degrees of freedom, scaled by 0.3 %; its variance is infinite."""
    return 0.003 * rng.standard_t(2, (rounds, slots))


def steps(rng: np.random.Generator, rounds: int, slots: int) -> Noise:
    """White noise, with everything 3 % slower or faster after a random batch."""
    after = np.arange(rounds * slots) >= rng.integers(rounds * slots)
    return white(rng, rounds, slots) + 0.03 * rng.choice([-1, 1]) * after.reshape(rounds, slots)


def autocorrelated(rng: np.random.Generator, rounds: int, slots: int) -> Noise:
    """Autocorrelated noise of 1 %, with a memory of 50 batches."""
    keep = math.exp(-1 / 50)
    found = np.empty(rounds * slots)
    state = rng.standard_normal()
    for i, shock in enumerate(rng.standard_normal(rounds * slots)):
        state = keep * state + math.sqrt(1 - keep**2) * shock
        found[i] = state
    return 0.01 * found.reshape(rounds, slots)


def clock_levels(rng: np.random.Generator, rounds: int, slots: int) -> Noise:
    """White noise plus a clock that jumps between two levels 4 % apart, about once per hundred
    batches."""
    flips = rng.random(rounds * slots) < 0.01
    level = (np.cumsum(flips) + rng.integers(2)) % 2
    return white(rng, rounds, slots) + 0.04 * level.reshape(rounds, slots)


def walk(rng: np.random.Generator, rounds: int, slots: int) -> Noise:
    """White noise, with a random-walk drift of 3 % from the first batch to the last."""
    steps_taken = rng.standard_normal(rounds * slots) * 0.03 / math.sqrt(rounds * slots)
    return white(rng, rounds, slots) + np.cumsum(steps_taken).reshape(rounds, slots)


def slow_placements(rng: np.random.Generator, rounds: int, slots: int) -> Noise:
    """White noise; in one placement of six every case is longer, by up to 10 %, each by its own
    amount."""
    is_slow = rng.random() < 1 / 6
    return white(rng, rounds, slots) + is_slow * rng.uniform(0, 0.1, slots)


MODELS = {
    "white": white, "steps": steps, "outliers": outliers, "student t2": student,
    "autocorrelated": autocorrelated, "clock levels": clock_levels,
    "random walk": walk, "slow placements": slow_placements,
}  # fmt: skip


@dataclass(frozen=True)
class Recorded:
    """The noise of committed runs at one size, placement by placement."""

    placements: tuple[Noise, ...]
    """Cases × rounds each: logarithms of times, around the case's mean over all runs."""

    def drawn(self, rng: np.random.Generator, rounds: int, slots: int) -> Noise:
        """Choose a random placement, and for each slot the rounds of one of its cases."""
        found = self.placements[rng.integers(len(self.placements))]
        rows = found[rng.integers(len(found), size=slots)]
        columns = rng.integers(rows.shape[1], size=rounds)
        return rows[:, columns].T


def recorded(folders: Sequence[Path], cache: str) -> dict[str, Recorded]:
    """Read the committed runs' noise at each size."""
    logs: dict[str, dict[str, dict[tuple[int, int], list[float]]]] = {}
    for number, folder in enumerate(folders):
        run = tables.load(folder)
        for group, cases in run.groups().items():
            for p in cases:
                of_case = logs.setdefault(group[2], {}).setdefault(p.case, {})
                for (placement, _), ns in run.timings.times(p.case, cache).items():
                    of_case.setdefault((number, placement), []).append(math.log(ns))
    found = {}
    for size, of_size in logs.items():
        placements: dict[tuple[int, int], list[Noise]] = {}
        for of_case in of_size.values():
            centre = np.mean([log for rounds in of_case.values() for log in rounds])
            for at, rounds in of_case.items():
                placements.setdefault(at, []).append(np.array(rounds) - centre)
        whole = max(len(rounds) for rows in placements.values() for rounds in rows)
        found[f"journal {size} {cache}"] = Recorded(tuple(
            np.array(rows) for rows in
            ([row for row in rows if len(row) == whole] for rows in placements.values()) if rows
        ))  # fmt: skip
    return found


@dataclass
class Device:
    """The executor of a simulated run: it responds to a measurement's jobs with simulated
    rounds."""

    rng: np.random.Generator
    noise: Any
    effects: dict[str, float]
    """Variant → the logarithm of how many times faster it is."""
    planned: dict[str, Planned]
    timing: dict[str, Any]
    rounds: list[Round] = field(default_factory=list)
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def job(self, task: str, **more: Any) -> Job:
        return Job(task, "fake", None, Path(), 0, **more)  # type: ignore[arg-type]

    def do(self, job: Job, more_s: float = 0) -> Ended:
        if job.task == "prepare":
            return Ended(right={case.id: Right((0,)) for case in job.cases})
        slots = [(case, False) for case in job.cases]
        slots += [(case, True) for case in job.cases if case.variant == job.reference]
        noise = self.noise(self.rng, job.rounds, len(slots))
        for number in range(job.rounds):
            for place, slot in enumerate(self.rng.permutation(len(slots))):
                case, repeat = slots[slot]
                ns = 1e6 * math.exp(noise[number, place] - self.effects.get(case.variant, 0.0))
                self.rounds.append(
                    Round(case.id, "cold", number, repeat, (ns,), placement=job.placement)
                )
        return Ended()

    def is_open(self, case: Case) -> bool:
        return case.id not in self.outcomes

    def finish(self, case: Case, status: str, reason: str = "") -> None:
        self.outcomes[case.id] = Outcome(case.id, status, reason)  # type: ignore[arg-type]

    def timings(self, cases: Sequence[Case]) -> Timings:
        outcomes = {name: Outcome(name, "ok") for name in self.planned}
        return Timings(self.rounds, self.planned, outcomes, self.timing)


def ladder(
    names: Sequence[str] = tuple(f"v{v}" for v in range(VARIANTS)),
    blocks: Sequence[int] = (128, 256, 512),
) -> tuple[list[Case], dict[str, Planned]]:
    """v0 … v15 at three block sizes; each variant builds on the one before it, and the first is the
    baseline."""
    cases, planned = [], {}
    for v, name in enumerate(names):
        for block in blocks:
            case = Case("sum", name, "float32", {"n": 1}, {"block": block})
            cases.append(case)
            planned[case.id] = Planned(case.id, "sum", case.variant, "float32", case.sizes,
                                       case.launch, 4, 1, v == 0, False,
                                       builds_on=names[v - 1] if v else "")  # fmt: skip
    return cases, planned


def simulate(noise: Any, effect: float, seed: int) -> dict[str, float]:
    """Simulate one run in which the variant v7 is truly faster, by the given effect, and all others
    are equal."""
    cases, planned = ladder()
    timing = Timing()
    settings = {**timing.model_dump(mode="json"), "looks": len(timing.looks)}
    device = Device(np.random.default_rng([seed, 1]), noise,
                    {"v7": math.log1p(effect)} if effect else {}, planned, settings)  # fmt: skip
    effort = Effort(timing.looks, timing.choosing, timing.rounds_per_placement, timing.batch,
                    timing.interval, math.inf, ("cold",))  # fmt: skip
    Measurement(device, cases, "v0", effort).carry_out()
    found = device.timings(cases)
    [group] = found.groups
    wrong = False
    for case, against in found.family(group):
        differ = effect and (planned[case].variant == "v7") != (planned[against].variant == "v7")
        said = found.compare(case, against).verdict
        wrong |= not differ and said in {"faster", "slower"}
    seven = found.shape(group, "v7")
    leader = found.leader(group)
    assert seven is not None
    assert leader is not None
    baseline = found.baseline_of(seven.case)
    assert baseline is not None
    shown = [p for p in found.shown(group) if not p.is_baseline]
    placements = {r.placement for r in device.rounds}
    return {
        "found": found.compare(seven.case, baseline).verdict == "faster",
        "false": wrong,
        "covered": float(np.mean([_covered(found, p, device.effects) for p in shown])),
        "leader_covered": _covered(found, leader, device.effects),
        "placements": len(placements) - timing.choosing,
    }


def _covered(found: Timings, p: Planned, effects: dict[str, float]) -> bool:
    baseline = found.baseline_of(p.case)
    if baseline is None or baseline == p.case:
        return True
    ratio = found.compare(p.case, baseline).ratio
    truth = math.exp(effects.get(p.variant, 0.0))
    return ratio is not None and ratio.low <= truth <= ratio.high


_RECORDED: dict[str, Recorded] = {}


def models() -> list[str]:
    """The names of the textbook models and those of the committed runs' noise, which this function
    reads."""
    folders = sorted((runs.TABLES / "runs").glob("*"))
    for cache in ("cold", "warm"):
        _RECORDED.update(recorded(folders, cache))
    return [*MODELS, *_RECORDED]


def noise_of(model: str) -> Any:
    return MODELS[model] if model in MODELS else _RECORDED[model].drawn


def means(pool: Executor, simulated: Simulated, model: str, effect: float, number: int) -> Row:
    """Average over `number` simulations, with seeds 0, 1, …, distributed over the pool."""
    size = max(1, number // (4 * (os.cpu_count() or 1)))
    parts = [range(i, min(i + size, number)) for i in range(0, number, size)]
    done = [pool.submit(_part, simulated, model, effect, part) for part in parts]
    made = [each for part in done for each in part.result()]
    return {key: float(np.mean([each[key] for each in made])) for key in made[0]}


def _part(simulated: Simulated, model: str, effect: float, seeds: range) -> list[Row]:
    noise = noise_of(model)
    return [simulated(noise, effect, seed) for seed in seeds]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    return tabulate(parser, arguments, simulate, "effect", "runs")


def tabulate(
    parser: argparse.ArgumentParser,
    arguments: list[str] | None,
    simulated: Simulated,
    effect: str,
    number: str,
) -> int:
    """Make one row per noise model and effect; print and write them after each model.

    `effect`, `number`: the columns' names for the effect and for the number of simulations.
    """
    parser.add_argument("--out", type=Path)
    parser.add_argument("--models", nargs="*")
    options = parser.parse_args(arguments)
    every = models()
    names, commit = options.models or every, runs.commit_of_today()
    rows: list[dict[str, Any]] = [
        {**row, "commit": row.get("commit") or runs.commit_of(options.out)}
        for row in runs.earlier(options.out) if row["noise"] not in names
    ]  # fmt: skip
    with ProcessPoolExecutor() as pool:
        for model in names:
            for size in (0.0, 0.005, 0.01):
                of = getattr(options, number)
                found = means(pool, simulated, model, size, of)
                row = {"noise": model, effect: size, number: of, **found, "commit": commit}
                if not size:
                    row["found"] = ""
                rows.append({k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items()})
                print(*rows[-1].values(), flush=True)
            if options.out:  # after each model, so that an early end costs the others nothing
                runs.write(options.out, rows, is_simulated=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
