"""How often two runs of the same kernels are said to differ, and how small a slowdown is found.

    python scripts/timing/comparisons.py --pairs 400 --out reports/h200/timing/comparisons.csv

Two simulated runs of the same ladder (verdicts.py) are compared as `python -m harness compare
--gate` does. One row per noise model and slowdown of one variant. passed: pairs that exit with 0;
without a slowdown that should be 0.95 or more. found: pairs in which that variant is called slower
at one launch shape or more. others: pairs in which anything else is called slower or faster. half:
half the width of an interval of a change, as a part of the time, on average.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import verdicts

from harness.comparison import judge
from harness.comparison.judgement import FINE
from harness.matrix.model import Timing
from harness.records import Outcome
from harness.run.measurement import Effort, Measurement
from harness.tables import Run

SLOWED = "v7"


def run_of(noise: Any, slowdown: float, seed: list[int], drift: float = 0.0) -> Run:
    """One simulated run. drift: the logarithm by which all of it takes longer."""
    cases, planned = verdicts.ladder()
    timing = Timing()
    settings = {**timing.model_dump(mode="json"), "looks": len(timing.looks)}
    effects = {case.variant: -drift for case in cases} if drift else {}
    effects[SLOWED] = -drift - math.log1p(slowdown)
    device = verdicts.Device(np.random.default_rng(seed), noise, effects, planned, settings)
    effort = Effort(timing.looks, timing.choosing, timing.rounds_per_placement, timing.batch,
                    timing.interval, math.inf, ("cold",))  # fmt: skip
    Measurement(device, cases, "v0", effort).carry_out()
    records = [*planned.values(), *(Outcome(case, "ok") for case in planned), *device.rounds]
    info = {"id": f"simulated {seed}", "backend": "cuda", "timing": settings,
            "device": {"name": "a device that exists nowhere"}, "driver": "none"}  # fmt: skip
    return Run(Path("nowhere"), info, records)


def compared(noise: Any, slowdown: float, seed: int) -> dict[str, float]:
    """One pair: the base, and a new run in which one variant is slower."""
    judgement = judge(run_of(noise, 0.0, [seed, 1]), run_of(noise, slowdown, [seed, 2]))
    told = [(c.pair.new, c.kind) for c in judgement.changes if c.kind in {"slower", "faster"}]
    slowed = [(side, kind) for side, kind in told
              if slowdown and side and side.planned.variant == SLOWED]  # fmt: skip
    widths = [math.sqrt(t.ratio.high / t.ratio.low) - 1
              for c in judgement.changes for t in c.times if t.ratio]  # fmt: skip
    return {
        "passed": judgement.code == FINE,
        "found": any(kind == "slower" for _, kind in slowed),
        "others": len(told) > len(slowed),
        "half": float(np.mean(widths)),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--pairs", type=int, default=400)
    return verdicts.tabulate(parser, arguments, compared, "slowdown", "pairs")


if __name__ == "__main__":
    sys.exit(main())
