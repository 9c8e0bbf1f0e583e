"""Compare the harness's times with CUPTI's durations, in a table.

    python scripts/timing/beside_cupti.py [--out reports/h200/timing]

Needs a GPU and the package `cupti-python`, which the harness itself does not use. Every kernel is
timed as in the harness: batches of launches in all phases, each between two events, whose cost is
measured in the same placement and subtracted. Then the kernels are timed again while CUPTI records
when each kernel begins and ends. Tracing lengthens the interval between two events, so the events'
cost is measured again while CUPTI traces, and each launch is compared with CUPTI's duration of the
same launch.

Tracing also slows many kernels down. `disturbed` marks cases whose net time with tracing differs
from that without by more than half of the allowed difference between the two clocks. For these
cases, a time without tracing cannot be compared with CUPTI's, so only the comparison of the same
launches is used.

cupti.csv: kernel, n, cache, steps, between_events_us, net_us (both without tracing), cupti_us
(first begin to last end), differ_us (net less CUPTI, without tracing), traced_differ_us (the same,
launch by launch, with tracing), allowed_us (0.25 µs or 1 %, the larger one), disturbed, and
agrees: the same launches agree and, unless the case is disturbed, so does the time without tracing.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pycuda.driver as cuda
import runs
from cupti import cupti

from harness.backends.base import TimedWorkspace
from harness.backends.cuda.backend import CudaBackend
from harness.cases import Case
from harness.compiler import compile as compiler
from harness.compiler.compile import Built
from harness.journal.records import Cache
from harness.matrix import model, plan
from harness.measure.rounds import CACHES
from harness.statistics import event_cost
from harness.statistics.intervals import batch_time

ONLY = ("reduce_sum/*/float32/*/block=256",)
BATCH = 12
"""The number of launches in a batch: three at each of the four launch phases."""
BATCHES = 4
Key = tuple[str, int, Cache]
Costs = dict[Cache, list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=runs.TABLES)
    out = parser.parse_args().out
    backend = CudaBackend()
    bench = model.load(runs.ROOT / "bench.yaml", runs.ROOT / "kernels")
    found = plan.resolve(bench, backend.device, "cuda", ONLY)
    problem = found.problems["reduce_sum"]
    groups: dict[int, list[tuple[Case, Built]]] = defaultdict(list)
    for case in found.cases:
        if case.kind == "kernel" and case.launch.get("block") == runs.BLOCK:
            built = compiler.build(compiler.unit(case, bench.kernels, backend.device.arch))
            groups[case.sizes["n"]].append((case, built))
    random = np.random.default_rng(0)
    trace = Trace()
    plain, traced = Times(), Times()
    for times in (plain, traced):
        for n, cases in groups.items():
            if times is traced:
                trace.begin()
            inputs = {"input": random.standard_normal(n).astype(np.float32)}
            with backend.workspace(problem, problem.buffers({"n": n}, "float32"), inputs) as space:
                times.take(
                    backend, space, cases, random, trace.durations if times is traced else None
                )
    rows = [
        row(case, cache, plain, traced)
        for cases in groups.values()
        for case, _ in cases
        for cache in CACHES
    ]
    runs.write(out / "cupti.csv", rows)
    for cache in CACHES:
        print(f"two events cost {median(plain.costs[cache]) / 1e3:.2f} µs {cache}, "
              f"{median(traced.costs[cache]) / 1e3:.2f} while CUPTI traces")  # fmt: skip
    print(f"{backend.device.name}: {sum(each['agrees'] for each in rows)} of {len(rows)} agree, "
          f"{sum(each['disturbed'] for each in rows)} of them disturbed by CUPTI")  # fmt: skip
    backend.close()


class Times:
    """The intervals between each case's two events, in ns, and the cost of two events, measured
    over the same period."""

    def __init__(self) -> None:
        self.costs: Costs = defaultdict(list)
        self.batches: dict[Key, list[list[float]]] = defaultdict(list)
        self.durations: dict[Key, list[list[float]]] = defaultdict(list)
        """CUPTI's durations of the same launches."""

    def take(
        self, backend: CudaBackend, space: TimedWorkspace, cases: Sequence[tuple[Case, Built]],
        random: np.random.Generator, durations: Callable[[Case, Cache, int], list[float]] | None,
    ) -> None:  # fmt: skip
        """Time every case once per round, in random order, like a placement of the harness."""
        for case, built in cases:
            space.run(case, built)  # loads the case's code
        for _ in range(BATCHES):
            for cache in CACHES:
                samples = backend.event_costs(cache, event_cost.LAUNCHES)
                self.costs[cache].append(event_cost.cost(samples))
            for index in random.permutation(len(cases)):
                case, built = cases[index]
                for cache in CACHES:
                    key = case.variant, case.sizes["n"], cache
                    if durations:
                        durations(case, cache, 0)  # discards earlier records
                    launches = space.time(case, built, cache, BATCH).times_ns
                    self.batches[key].append([sum(each) for each in launches])
                    if durations:
                        self.durations[key].append(durations(case, cache, len(launches)))

    def between(self, key: Key) -> float:
        """The interval between two events, ns, summarised as the harness summarises batches."""
        return median(batch_time(batch) for batch in self.batches[key])

    def net(self, key: Key) -> float:
        return self.between(key) - median(self.costs[key[2]])


class Trace:
    """CUPTI's records of the timed kernels."""

    def __init__(self) -> None:
        self._seen: list[tuple[int, int, str]] = []
        self._begun = False

    def begin(self) -> None:
        if not self._begun:
            cupti.activity_register_callbacks(lambda: (2**23, 0), self._completed)
            cupti.activity_enable(cupti.ActivityKind.CONCURRENT_KERNEL)
            self._begun = True

    def _completed(self, activities: Sequence[Any]) -> None:
        self._seen.extend((each.start, each.end, each.name) for each in activities)

    def durations(self, case: Case, cache: Cache, launches: int) -> list[float]:
        """Return the duration of each of the last launches in ns, from the first begin to the last
        end, and clear the records.

        A launch's kernels are found by their names. A warm launch follows a launch of the same
        kernels, so every second launch is timed.
        """
        cuda.Context.synchronize()
        cupti.activity_flush_all(1)
        names, steps = {step.kernel.split("<")[0] for step in case.steps}, len(case.steps)
        own = sorted(seen for seen in self._seen if any(name in seen[2] for name in names))
        self._seen.clear()
        if not launches:
            return []
        whole = [own[at : at + steps] for at in range(0, len(own), steps)]
        timed = (whole[1::2] if cache == "warm" else whole)[-launches:]
        return [float(kernels[-1][1] - kernels[0][0]) for kernels in timed]


def row(case: Case, cache: Cache, plain: Times, traced: Times) -> dict[str, Any]:
    """Return a row of the table."""
    key = case.variant, case.sizes["n"], cache
    cupti_ns = median(batch_time(batch) for batch in traced.durations[key])
    net, allowed = plain.net(key), max(250.0, 0.01 * cupti_ns)
    same = [
        between - median(traced.costs[cache]) - duration
        for batch, of in zip(traced.batches[key], traced.durations[key], strict=True)
        for between, duration in zip(batch, of, strict=True)
    ]
    us = {
        "between_events_us": plain.between(key), "net_us": net, "cupti_us": cupti_ns,
        "differ_us": net - cupti_ns, "traced_differ_us": median(same), "allowed_us": allowed,
    }  # fmt: skip
    disturbed = abs(traced.net(key) - net) > allowed / 2
    agrees = abs(median(same)) <= allowed and (disturbed or abs(net - cupti_ns) <= allowed)
    return {
        "kernel": case.variant, "n": case.sizes["n"], "cache": cache, "steps": len(case.steps),
        **{name: round(ns / 1e3, 3) for name, ns in us.items()},
        "disturbed": disturbed, "agrees": agrees,
    }  # fmt: skip


if __name__ == "__main__":
    main()
