"""How long kernels take: the harness's times beside CUPTI's durations, into a table.

    python scripts/timing/beside_cupti.py OUT.csv

Takes a GPU and the package `cupti-python`, which the harness itself does without. First every
kernel is timed as the harness times it, between two events; their cost is found as in a placement
and taken off. Then again with CUPTI recording when each kernel begins and ends. CUPTI slows some
kernels down: where the events show more or less with it than without, by over half of what the two
clocks may differ by, `disturbed` says so.

Columns: kernel, n, cache, steps, between_events_us, net_us, cupti_us (first begin to last end),
differ_us (net less CUPTI), allowed_us (0.25 or 1 %, whichever is more), disturbed, agrees.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pycuda.driver as cuda
from cupti import cupti
from runs import ROOT

from harness.backends.base import TimedWorkspace
from harness.backends.cuda.backend import CudaBackend
from harness.build import compile as compiler
from harness.build.compile import Built
from harness.cases import Case
from harness.matrix import model, plan
from harness.measure import event_cost
from harness.measure.rounds import CACHES
from harness.records import Cache

ONLY = ("reduce_sum/*/float32/*/block=256",)
LAUNCHES, TRACED = 24, 12
Key = tuple[str, int, Cache]


def main(out: Path) -> None:
    backend = CudaBackend()
    bench = model.load(ROOT / "bench.yaml", ROOT / "kernels")
    found = plan.resolve(bench, backend.device, "cuda", ONLY)
    problem = found.problems["reduce_sum"]
    groups = defaultdict(list)
    for case in found.cases:
        if case.kind == "kernel" and case.launch.get("block") == 256:
            built = compiler.build(compiler.unit(case, bench.kernels, backend.device.arch))
            groups[case.sizes["n"]].append((case, built))
    random = np.random.default_rng(0)
    costs = dict[Cache, list[float]]()
    plain, events = dict[Key, float](), dict[Key, float]()
    trace = _Trace()
    for is_traced in (False, True):
        for n, cases in groups.items():
            if is_traced:
                trace.begin()
            inputs = {"input": random.standard_normal(n).astype(np.float32)}
            buffers = problem.buffers({"n": n}, "float32")
            with backend.workspace(problem, buffers, inputs) as workspace:
                if is_traced:
                    events |= _times(workspace, cases, TRACED, random, trace.note)
                else:
                    for cache in CACHES:
                        samples = backend.event_costs(cache, event_cost.LAUNCHES)
                        costs.setdefault(cache, []).append(event_cost.cost(samples))
                    plain |= _times(workspace, cases, LAUNCHES, random)
    traced = {key: median(values) for key, values in trace.durations.items()}
    steps = {(c.variant, n): len(c.steps) for n, cases in groups.items() for c, _ in cases}
    rows = []
    for key, between in plain.items():
        name, n, cache = key
        net, allowed = between - median(costs[cache]), max(250.0, 0.01 * traced[key])
        rows.append({
            "kernel": name, "n": n, "cache": cache, "steps": steps[name, n],
            "between_events_us": between / 1e3, "net_us": net / 1e3, "cupti_us": traced[key] / 1e3,
            "differ_us": (net - traced[key]) / 1e3, "allowed_us": allowed / 1e3,
            "disturbed": abs(events[key] - between) > allowed / 2,
            "agrees": abs(net - traced[key]) <= allowed,
        })  # fmt: skip
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()} for row in rows
        )
    sound = [row for row in rows if not row["disturbed"]]
    cold, warm = (median(costs[cache]) / 1e3 for cache in CACHES)
    print(
        f"{backend.device.name}: two events cost {cold:.2f} µs cold, {warm:.2f} warm; "
        f"{sum(bool(r['agrees']) for r in sound)} of {len(sound)} agree where CUPTI does not "
        f"disturb, {len(rows) - len(sound)} are disturbed"
    )
    backend.close()


class _Trace:
    """What CUPTI records of the kernels that are timed."""

    def __init__(self) -> None:
        self.durations = defaultdict[Key, list[float]](list)
        self._seen: list[tuple[int, int, str]] = []
        self._begun = False

    def begin(self) -> None:
        if not self._begun:
            cupti.activity_register_callbacks(lambda: (2**23, 0), self._completed)
            cupti.activity_enable(cupti.ActivityKind.CONCURRENT_KERNEL)
            self._begun = True

    def _completed(self, activities: Sequence[Any]) -> None:
        self._seen.extend((each.start, each.end, each.name) for each in activities)

    def note(self, case: Case, cache: Cache) -> None:
        """Note how long the last launch took. Its kernels are found by their names."""
        cuda.Context.synchronize()
        cupti.activity_flush_all(1)
        own = {step.kernel.split("<")[0] for step in case.steps}
        last = sorted(s for s in self._seen if any(k in s[2] for k in own))[-len(case.steps) :]
        self.durations[case.variant, case.sizes["n"], cache].append(last[-1][1] - last[0][0])
        self._seen.clear()


def _times(
    workspace: TimedWorkspace, cases: Sequence[tuple[Case, Built]], launches: int,
    random: np.random.Generator, after: Callable[[Case, Cache], None] = lambda case, cache: None,
) -> dict[Key, float]:  # fmt: skip
    """Time every kernel once a round, in random order: the median intervals between events, ns."""
    found = defaultdict[Key, list[float]](list)
    for case, built in cases:
        workspace.run(case, built)  # which loads its code
    for _ in range(launches):
        for index in random.permutation(len(cases)):
            case, built = cases[index]
            for cache in CACHES:
                [[ns]] = workspace.time(case, built, cache, 1).times_ns
                found[case.variant, case.sizes["n"], cache].append(ns)
                after(case, cache)
    return {key: median(values) for key, values in found.items()}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
