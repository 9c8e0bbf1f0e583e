"""Run random kernels in the emulator and in a scalar interpreter, and compare the results.

    python scripts/fuzzing/fuzz_emulator.py --kernels 2000 --seed 1 [--out build/fuzz]

The script makes the same comparison as `tests/emulator/engine/test_properties.py`, for thousands of
kernels. Each differing kernel is written under `--out` with its launch, its inputs and the
differences. The same seed gives the same kernels. The exit code is 1 if any kernel differed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "emulator")]

from reference.comparison import BUFFERS, Comparison, compare  # noqa: E402
from reference.kernel import PARAMETERS, If, Leave, Loop, Switch, statements  # noqa: E402
from reference.semantics import OPCODES  # noqa: E402
from reference.strategies import Case, cases, opcodes  # noqa: E402

BATCH = 100  # kernels per Hypothesis run; the bookkeeping grows with a run's length


@dataclass
class Totals:
    """Totals over all kernels that were run."""

    kernels: int = 0
    differing: int = 0
    differences: int = 0
    warps_compared: int = 0
    thread_instructions: int = 0
    distinct: set[int] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)
    definitions: set[str] = field(default_factory=set)
    opcodes: set[str] = field(default_factory=set)

    def add(self, case: Case, found: Comparison) -> None:
        self.kernels += 1
        self.differing += bool(found.differences)
        self.differences += len(found.differences)
        self.warps_compared += found.warps_compared
        self.thread_instructions += found.thread_instructions
        self.distinct.add(hash(case.kernel.ptx()))
        self.opcodes |= opcodes(case.kernel)
        every = [s for s, _ in statements(case.kernel.body)]
        self.definitions |= {s.name for s in every if hasattr(s, "name")}
        kinds = {type(s) for s in every}
        names = {If: "if", Loop: "loop", Switch: "switch", Leave: "break, continue or exit"}
        self.kinds.update(name for kind, name in names.items() if kind in kinds)
        self.kinds.update({"barrier"} if any("bar." in o for o in opcodes(case.kernel)) else ())
        self.kinds.update({"none of these"} if not kinds & set(names) else ())


def write_reproducer(folder: Path, case: Case, found: Comparison) -> None:
    """Write the kernel, its launch and its inputs, with the differences."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.ptx").write_text(case.kernel.ptx())
    (folder / "differences.txt").write_text("\n".join(found.differences) + "\n")
    launch = {
        "grid": case.grid, "block": case.block, "shared_bytes": case.shared_bytes,
        "parameters": [name for _, name in PARAMETERS], "scalar": case.scalar,
        "input_words": len(case.buffers()[0]),
    }  # fmt: skip
    (folder / "launch.json").write_text(json.dumps(launch, indent=1) + "\n")
    for name, array in zip(BUFFERS, case.buffers(), strict=True):
        np.save(folder / f"{name}.npy", array)


def run_batch(number: int, count: int, first_seed: int, out: Path, totals: Totals) -> None:
    @seed(f"{first_seed}/{number}")
    @settings(
        max_examples=count, phases=[Phase.generate], database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(cases())
    def one(case: Case) -> None:
        found = compare(case)
        totals.add(case, found)
        if found.differences:
            write_reproducer(out / f"kernel{totals.kernels:05}", case, found)

    one()


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--kernels", type=int, default=2000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--out", type=Path, default=Path("build/fuzz"))
    options = arguments.parse_args()

    totals, begun, number = Totals(), time.monotonic(), 0
    print(f"{options.kernels} kernels, seed {options.seed}; {len(OPCODES)} instructions without "
          "memory are defined", flush=True)  # fmt: skip
    while totals.kernels < options.kernels:
        before = totals.kernels
        run_batch(number, min(BATCH, options.kernels - before), options.seed, options.out, totals)
        number += 1
        seconds = time.monotonic() - begun
        print(f"{totals.kernels:6} kernels, {totals.differing} with differences, "
              f"{seconds:.0f} s", flush=True)  # fmt: skip
    print(f"{totals.kernels} kernels ({len(totals.distinct)} distinct, "
          f"{totals.thread_instructions / 1e6:.1f} million thread instructions): "
          f"{totals.differing} kernels with {totals.differences} differences")  # fmt: skip
    print(f"warp instructions were compared for {totals.warps_compared} of them")
    print("with " + ", ".join(f"{name}: {n}" for name, n in sorted(totals.kinds.items())))
    print(f"{len(totals.opcodes)} opcodes; of the instructions defined, "
          f"{len(totals.definitions)} of {len(OPCODES)}")  # fmt: skip
    if totals.differing:
        print(f"reproducers are in {options.out}")
    return int(totals.differing > 0)


if __name__ == "__main__":
    raise SystemExit(main())
