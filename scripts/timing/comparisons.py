"""Simulate how often a gate finds differences between equal kernels, and how often it lets a 2 %
slowdown pass.

    python scripts/timing/comparisons.py --pairs 60 --out reports/simulated/gate.csv

A table of 20 variants is measured by the harness's own rounds and looks, on simulated times
(verdicts.py has the noise models), and judged as `python -m harness compare --gate` does, from two
runs or from one run with both sides. In addition to the noise within a run, a run may be slower as
a whole, and every kernel may have a run-specific offset that all of its placements share.

One row per mode and noise. `false`: pairs of runs of equal kernels in which any verdict is slower
or faster. `found_2pct`: pairs in which one variant takes 2 % longer and its verdict is slower.
`cannot_tell`: such pairs in which its verdict differs, and the gate exits with 3. `passed`: pairs
of runs of equal kernels for which the gate opens. `half`: half the width of a change's interval, as
a fraction of the time, on average.
"""

from __future__ import annotations

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import runs
import verdicts

from harness.comparison import judge
from harness.comparison.judgement import FINE, UNTOLD, Judgement
from harness.journal.records import Outcome
from harness.matrix.model import Timing
from harness.run.measurement import Effort, Measurement
from harness.tables import Run

VARIANTS, SLOWED, SUFFIX = 20, "v7", "__base"
SLOWDOWN = 0.02
TABLE = runs.ROOT / "reports" / "simulated" / "gate.csv"


class Noise(NamedTuple):
    """The noise of a pair of runs. `as_a_whole`: the fraction by which every time in the new run is
    longer. `luck`: the standard deviation of each kernel's run-specific offset."""

    model: Any
    as_a_whole: float = 0.0
    luck: float = 0.0


def run_of(noise: Noise, slowdown: float, seed: int, *sides: str) -> Run:
    """Simulate one run. `sides`: "base", "new", or both; in a run of both, the base's variants end
    in __base."""
    rng = np.random.default_rng([seed, len("".join(sides))])
    names, effects = [], {}
    for side in sides:
        longer = math.log1p(noise.as_a_whole) if side == "new" and len(sides) == 1 else 0.0
        for v in range(VARIANTS):
            names.append(f"v{v}" + (SUFFIX if side == "base" and len(sides) > 1 else ""))
            effects[names[-1]] = noise.luck * rng.standard_normal() - longer
    if "new" in sides:
        effects[SLOWED] -= math.log1p(slowdown)
    cases, planned = verdicts.ladder(names, (256,))
    timing = Timing()
    settings = {**timing.model_dump(mode="json"), "looks": len(timing.looks)}
    device = verdicts.Device(rng, noise.model, effects, planned, settings)
    effort = Effort(timing.looks, timing.choosing, timing.rounds_per_placement, timing.batch,
                    timing.interval, math.inf, ("cold",))  # fmt: skip
    Measurement(device, cases, names[0], effort).carry_out()
    records = [*planned.values(), *(Outcome(case, "ok") for case in planned), *device.rounds]
    info: dict[str, Any] = {
        "id": f"simulated {seed}", "backend": "cuda", "timing": settings,
        "device": {"name": "a device that exists nowhere"}, "driver": "none",
    }  # fmt: skip
    if len(sides) > 1:
        info["beside"] = {"base": "git:main", "commit": "", "suffix": SUFFIX}
    return Run(Path("nowhere"), info, records)


def judged(mode: str, noise: Noise, slowdown: float, seed: int) -> Judgement:
    """Judge a pair in which one variant takes this much longer."""
    if mode == "one run":
        both = run_of(noise, slowdown, seed, "new", "base")
        return judge(both, both)
    return judge(run_of(noise, 0.0, 2 * seed, "base"), run_of(noise, slowdown, 2 * seed + 1, "new"))


def simulated(mode: str, name: str, seed: int) -> dict[str, float]:
    """Simulate, for one seed, a pair of equal kernels and a pair in which one takes 2 % longer."""
    noise = noises()[name]
    equal, slowed = (judged(mode, noise, part, seed) for part in (0.0, SLOWDOWN))
    found = any(
        change.kind == "slower" and change.pair.variant == SLOWED for change in slowed.changes
    )
    widths = [math.sqrt(t.ratio.high / t.ratio.low) - 1
              for change in equal.changes for t in change.times if t.ratio]  # fmt: skip
    return {
        "false": bool(equal.counts["slower"] or equal.counts["faster"]),
        "found_2pct": found,
        "cannot_tell": not found and slowed.code == UNTOLD,
        "passed": equal.code == FINE,
        "half": float(np.mean(widths)),
    }


@cache
def noises() -> dict[str, Noise]:
    """The noise of the pairs: within a run, as in textbook models and as in the committed runs; and
    between runs."""
    white = verdicts.MODELS["white"]
    return {name: Noise(verdicts.noise_of(name)) for name in verdicts.models()} | {
        "3 % slower as a whole": Noise(white, as_a_whole=0.03),
        "luck of 0.2 % each": Noise(white, luck=0.002),
        "luck of 0.5 % each": Noise(white, luck=0.005),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument("--noises", nargs="*")
    options = parser.parse_args(arguments)
    rows = []
    with ProcessPoolExecutor() as pool:
        for mode in ("two runs", "one run"):
            for name in options.noises or noises():
                if mode == "one run" and (noises()[name].as_a_whole or noises()[name].luck):
                    continue  # both sides share what a run adds
                seeds = range(options.pairs)
                found = list(pool.map(simulated, repeat(mode), repeat(name), seeds))
                shares = {key: float(np.mean([each[key] for each in found])) for key in found[0]}
                rows.append({
                    "mode": mode, "noise": name, "pairs": options.pairs,
                    **{key: f"{share:.4f}" for key, share in shares.items()},
                    "commit": runs.commit_of_today(),
                })  # fmt: skip
                print(*rows[-1].values(), flush=True)
    runs.write(options.out, rows, is_simulated=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
