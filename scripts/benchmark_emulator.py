"""How fast the emulator is: thread instructions a second, all checks and counters on.

    python scripts/benchmark_emulator.py [--runs 7] [--log2-n 22] [--block 256]

The kernel is a tree reduction in shared memory with sequential addressing. A thread instruction is
one PTX instruction executed by one thread with its predicate on. One core is used.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness.emulator import launch, parse

SOURCE = r"""
extern "C" __global__ void block_sums(const float* input, float* partials, unsigned n) {
    extern __shared__ float s[];
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
    s[tid] = i < n ? input[i] : 0.0f;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
        if (tid < half) s[tid] += s[tid + half];
        __syncthreads();
    }
    if (tid == 0) partials[blockIdx.x] = s[0];
}
"""


def find_nvcc() -> str:
    """nvcc from NVCC, CUDA_HOME, PATH, or the wheels."""
    home = os.environ.get("CUDA_HOME")
    wheel = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin" / "nvcc"
    for candidate in (os.environ.get("NVCC"), home and f"{home}/bin/nvcc", "nvcc", str(wheel)):
        if candidate and shutil.which(candidate):
            return candidate
    raise SystemExit("no nvcc found; set NVCC to its path")


def compile_ptx(nvcc: str, arch: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        source, ptx = Path(folder) / "block_sums.cu", Path(folder) / "block_sums.ptx"
        source.write_text(SOURCE)
        flags = ["-O3", "-lineinfo", "-ptx", f"-arch={arch}"]
        subprocess.run([nvcc, *flags, str(source), "-o", str(ptx)], check=True)
        return ptx.read_text()


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--runs", type=int, default=7)
    arguments.add_argument("--log2-n", type=int, default=22)
    arguments.add_argument("--block", type=int, default=256)
    arguments.add_argument("--arch", default="sm_90")
    options = arguments.parse_args()

    module = parse(compile_ptx(find_nvcc(), options.arch))
    n, block = 1 << options.log2_n, options.block
    grid = -(-n // block)
    values = np.random.default_rng(1).random(n, dtype=np.float32)
    partials = np.empty(grid, np.float32)
    rates, executed = [], 0
    for _ in range(options.runs):
        partials.fill(np.nan)
        start = time.perf_counter()
        report = launch(module, "block_sums", grid, block, [values, partials, n], 4 * block)
        seconds = time.perf_counter() - start
        if report.faults:
            raise SystemExit(f"the kernel failed: {report.faults[0]}")
        executed = report.thread_instructions
        rates.append(executed / seconds)
    exact = float(values.sum(dtype=np.float64))
    error = abs(float(partials.sum(dtype=np.float64)) - exact) / exact
    if not error < 1e-6:
        raise SystemExit(f"the sum is wrong by {error:.1e}")

    print(f"tree reduction in shared memory, n = 2^{options.log2_n}, block {block}, {options.arch}")
    print(f"{processor()}, Python {platform.python_version()}, NumPy {np.__version__}")
    print(f"{executed:,} thread instructions a launch, {options.runs} launches")
    million = [rate / 1e6 for rate in rates]
    print(
        f"median {statistics.median(million):,.0f} million thread instructions a second "
        f"({min(million):,.0f} to {max(million):,.0f})"
    )


if __name__ == "__main__":
    main()
