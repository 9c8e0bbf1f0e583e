"""A bare measurement: plain allocations, one launch between two events, and no other overhead.

    python scripts/timing/costs/bare.py PLACEMENTS

Times the same compiled kernels as the harness, after the same flush, in a single process. As in the
harness, empty kernels between the launches shift each launch to another phase
(harness/backends/cuda/launch_phase.py).
Prints one line of JSON per batch: n, kernel, placement, round, samples_ns and turns, the number of
kernels launched before each launch, modulo four.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pycuda.driver as cuda

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runs import ALL, ROOT, SHORT

from harness.backends.cuda.backend import CudaBackend
from harness.backends.cuda.calls import Modules, kernel_call
from harness.backends.cuda.launch_phase import TURNS, empty_kernels
from harness.backends.cuda.stream import StreamControl
from harness.cases import Case
from harness.compiler import compile as compiler
from harness.compiler.compile import Built
from harness.matrix import model, plan

LAUNCHES, ROUNDS = 12, 3
FLUSHES = 2
"""The number of kernels that empty the cache."""
TILE = 2**20
"""The number of random floats that an input repeats; its values do not matter here."""


class Plain(NamedTuple):
    """A buffer allocated by cudaMalloc."""

    address: int
    memory: Any


def main(placements: int) -> None:
    backend = CudaBackend()
    stream = cuda.Stream()
    control, modules = StreamControl(stream, backend.device), Modules(backend.device.arch)
    bench = model.load(ROOT / "bench.yaml", ROOT / "kernels")
    found = plan.resolve(bench, backend.device, "cuda", ALL)
    by_size: dict[int, list[tuple[str, Case, Built]]] = {}
    for case in found.cases:
        if (short := SHORT.get(case.variant)) is None:
            continue  # the baseline, which is part of every run
        built = compiler.build(compiler.unit(case, bench.kernels, backend.device.arch))
        by_size.setdefault(case.sizes["n"], []).append((short, case, built))
    random = np.random.default_rng()
    values = random.standard_normal(TILE).astype(np.float32)
    for n, of_size in by_size.items():
        for placement in range(placements):
            # Allocate something else first, so that each placement gets different memory from the
            # last one.
            other = [cuda.mem_alloc(int(k)) for k in random.integers(2**20, 2**26, 6)]
            memory = {}
            for buffer in found.problems["reduce_sum"].buffers({"n": n}, "float32"):
                allocated = cuda.mem_alloc(buffer.nbytes)
                memory[buffer.name] = Plain(int(allocated), allocated)
                cuda.memset_d8(allocated, 0, buffer.nbytes)
            for start in range(0, n, TILE):
                part = values[: min(TILE, n - start)]
                cuda.memcpy_htod(memory["input"].address + 4 * start, part)
            for each in other:
                each.free()
            for batch in _rounds(of_size, memory, control, modules, stream, random):
                print(json.dumps({"n": n, "placement": placement, **batch}), flush=True)
            for plain in memory.values():
                plain.memory.free()
    control.close()
    modules.clear()
    backend.close()


def _rounds(
    of_size: list[tuple[str, Case, Built]], memory: Any, control: StreamControl, modules: Modules,
    stream: Any, random: np.random.Generator,
) -> Any:  # fmt: skip
    calls = {
        short: [kernel_call(s, modules.of(built), case.source, memory, stream) for s in case.steps]
        for short, case, built in of_size
    }
    before, after = cuda.Event(), cuda.Event()
    for steps in calls.values():  # so that their code is loaded
        for step in steps:
            step()
    stream.synchronize()
    launched = 0
    for number in range(ROUNDS):
        for short in random.permutation(list(calls)):
            samples, turns = [], []
            kernels = FLUSHES + len(calls[short])
            for launch in range(LAUNCHES):
                passed = empty_kernels(launch, kernels)
                control.pass_turns(passed)
                turns.append((launched + passed) % TURNS)
                launched += passed + kernels
                control.flush_l2("clean")
                before.record(stream)
                for step in calls[short]:
                    step()
                after.record(stream)
                after.synchronize()
                samples.append(1e6 * after.time_since(before))
            yield {"kernel": str(short), "round": number, "samples_ns": samples, "turns": turns}


if __name__ == "__main__":
    main(int(sys.argv[1]))
