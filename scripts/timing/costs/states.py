"""Measure by how much the inputs' states lengthen a kernel's time (which should be zero) and a
batch.

    python scripts/timing/costs/states.py [ROUNDS]

Batches in which a random state is chosen for each launch alternate with batches without states, in
one process. Prints a line per kernel, size and cache: the number of changed elements, the median µs
between the events without and with, their difference with twice its standard error, and the host's
milliseconds for a batch of each.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runs import ALL, ROOT, SHORT

from harness.backends.base import Right
from harness.backends.cuda.backend import CudaBackend
from harness.compiler import compile as compiler
from harness.matrix import model, plan
from harness.measure.rounds import CACHES
from harness.worker.inputs import Inputs
from harness.worker.states import other_state

LAUNCHES = 12
ADDS = "elementwise_add/v0_scalar/*"


def main(rounds: int) -> None:
    backend = CudaBackend()
    bench = model.load(ROOT / "bench.yaml", ROOT / "kernels")
    found = plan.resolve(bench, backend.device, "cuda", [*ALL, ADDS])
    print("kernel,n,cache,places,without_us,with_us,difference_pct,within_pct,"
          "batch_without_ms,batch_with_ms")  # fmt: skip
    for case in found.cases:
        name = SHORT.get(case.variant, case.variant)
        if case.is_library or (case.problem == "reduce_sum" and case.variant not in SHORT):
            continue
        built = compiler.build(compiler.unit(case, bench.kernels, backend.device.arch))
        problem = found.problems[case.problem]
        buffers = problem.buffers(case.sizes, case.dtype)
        own = Inputs(problem, case, 1, problem.timed_draw)
        seen = other_state(problem, case, own)
        if seen is None:
            print(f"{name}: no change of the inputs is seen", file=sys.stderr)
            continue
        changes, other = seen
        with backend.workspace(problem, buffers, other.values) as workspace:
            rights = []
            for values in (other.values, own.values):
                workspace.refill(values)
                workspace.run(case, built)
                right = workspace.right(case, built)
                if not isinstance(right, Right):
                    sys.exit(f"{case.id}: {right}")
                rights.append(right)
            in_other, in_own = (right.hashes for right in rights)
            for cache in CACHES:
                us: dict[bool, list[float]] = {False: [], True: []}
                ms: dict[bool, list[float]] = {False: [], True: []}
                for _ in range(rounds):
                    for told_apart in random.sample((False, True), 2):
                        workspace.alternate(changes if told_apart else {})
                        right = Right(in_own, other=in_other if told_apart else ())
                        started = time.perf_counter()
                        batch = workspace.time(case, built, cache, LAUNCHES, right)
                        ms[told_apart].append(1e3 * (time.perf_counter() - started))
                        if batch.wrong or batch.late or batch.busy_ns or batch.changed:
                            sys.exit(f"{case.id}: an honest kernel is accused: {batch}")
                        us[told_apart].append(
                            statistics.median(total for [total] in batch.times_ns) / 1e3
                        )
                ratios = [a / b - 1 for a, b in zip(us[True], us[False], strict=True)]
                within = 2 * statistics.stdev(ratios) / len(ratios) ** 0.5
                places = sum(len(change.where) for change in changes.values())
                sizes = "x".join(map(str, case.sizes.values()))
                print(f"{name},{sizes},{cache},{places},{statistics.median(us[False]):.3f},"
                      f"{statistics.median(us[True]):.3f},{100 * statistics.mean(ratios):+.2f},"
                      f"{100 * within:.2f},{statistics.median(ms[False]):.2f},"
                      f"{statistics.median(ms[True]):.2f}", flush=True)  # fmt: skip
    backend.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
