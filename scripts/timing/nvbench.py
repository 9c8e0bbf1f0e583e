"""Compare times with NVBench's for the same compiled kernels, by cache state, in nvbench.csv.

    python scripts/timing/nvbench.py [--out reports/h200/timing]

Needs `pip install cuda-bench`. Times the first step (block_sums) of four reductions. NVBench
flushes the L2 cache with one memset of its size, which leaves lines that have to be written back:
`flush: dirty` does the same. `clean`, the default, leaves no such lines; the difference is the
write-back during the timed launch.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import runs

TIMING = {"rounds": 18, "choosing": 0}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=runs.TABLES)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        benchmark(given.child)
        return
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        theirs = nvbench(folder)
        for flush in ("dirty", "clean"):
            run = runs.fresh(folder / flush, runs.ONLY,
                             {**TIMING, "flush": flush})  # fmt: skip
            for (kernel, n), us in sorted(theirs.items()):
                case = runs.case(kernel, n)
                ours = run.timings.step_times(case, "cold")[0] / 1e3
                rows.append({"kernel": kernel, "n": n, "flush": flush, "nvbench_us": f"{us:.3f}",
                             "harness_us": f"{ours:.3f}", "ratio": f"{ours / us:.4f}"})  # fmt: skip
    runs.write(given.out / "nvbench.csv", rows)


def nvbench(folder: Path) -> dict[tuple[str, int], float]:
    """(kernel, n) → NVBench's mean GPU time with a cold cache, µs; in a process of its own."""
    begun = time.monotonic()
    results = folder / "nvbench.json"
    subprocess.run([sys.executable, __file__, "--child", str(results)], check=True, cwd=runs.ROOT)
    print(f"NVBench took {time.monotonic() - begun:.1f} s", flush=True)
    found = {}
    for benchmark_ in json.loads(results.read_text())["benchmarks"]:
        for state in benchmark_["states"]:
            axes = {axis["name"]: axis["value"] for axis in state["axis_values"]}
            [mean] = (s for s in state["summaries"] if s["tag"] == "nv/cold/time/gpu/mean")
            [value] = (d["value"] for d in mean["data"] if d["name"] == "value")
            found[axes["kernel"], 2 ** int(axes["log2_n"])] = 1e6 * float(value)
    return found


def benchmark(results: Path) -> None:
    """Run NVBench with its defaults in the primary context, in which the modules are loaded."""
    import cuda.bench
    import pycuda.driver
    from cuda.bindings import driver

    from harness.backends.cuda.backend import CudaBackend
    from harness.compiler import compile as compiler
    from harness.matrix import model, plan

    backend = CudaBackend()
    bench = model.load(runs.ROOT / "bench.yaml", runs.ROOT / "kernels")
    found = plan.resolve(bench, backend.device, "cuda", runs.ONLY)
    launches: dict[tuple[str, int], Any] = {}
    memory: dict[int, Mapping[str, Any]] = {}
    for case in found.cases:
        if (short := runs.SHORT.get(case.variant)) not in runs.LADDER:
            continue  # the baseline, which is part of every run
        n, step = case.sizes["n"], case.steps[0]
        if n not in memory:
            buffers = found.problems["reduce_sum"].buffers(case.sizes, "float32")
            memory[n] = {b.name: pycuda.driver.mem_alloc(b.nbytes) for b in buffers}
            pycuda.driver.memset_d32(memory[n]["input"], 0x3F800000, n)
        built = compiler.build(compiler.unit(case, bench.kernels, backend.device.arch))
        symbol = compiler.kernel_name(step.kernel, built, case.source)
        module = _checked(driver.cuModuleLoad(str(built.cubin).encode()))
        function = _checked(driver.cuModuleGetFunction(module, symbol.encode()))
        values = [np.array([int(memory[n][a])], np.uint64) if isinstance(a, str)
                  else np.array([a], np.uint32) for a in step.args]  # fmt: skip
        pointers = np.array([value.ctypes.data for value in values], np.uint64)
        launches[short, n] = function, step, values, pointers

    def timed(state: Any) -> None:
        key = state.get_string("kernel"), 2 ** state.get_int64("log2_n")
        function, step, _, pointers = launches[key]
        stream = driver.CUstream(state.get_stream().addressof())
        state.exec(lambda launch: driver.cuLaunchKernel(
            function, *step.grid, *step.block, step.shared_bytes, stream, pointers.ctypes.data, 0
        ))  # fmt: skip

    registered = cuda.bench.register(timed)
    registered.add_int64_axis("log2_n", sorted({n.bit_length() - 1 for _, n in launches}))
    registered.add_string_axis("kernel", list(runs.LADDER))
    cuda.bench.run_all_benchmarks(["nvbench", "--json", str(results)])
    backend.close()


def _checked(answer: Any) -> Any:
    error, *rest = answer
    if int(error):
        sys.exit(f"the CUDA driver says {error}")
    return rest[0]


if __name__ == "__main__":
    main()
