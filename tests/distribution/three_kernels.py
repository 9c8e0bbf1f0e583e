"""A user's repository, as the texts of its files: three problems with one kernel each.

The kernels suffice to test the whole path to a pull request: an addition, a sum within a block, and
a transpose through shared memory whose padding avoids bank conflicts.
"""

from __future__ import annotations

from pathlib import Path

_PROBLEM = """\
import numpy as np

from harness.problem import Buffer, Problem, Work


class Given(Problem):
    title = "{title}"

    def buffers(self, sizes, dtype):
        n = sizes["n"]
        return [Buffer("x", "input", dtype, {read}), Buffer("y", "output", dtype, {written})]

    def inputs(self, sizes, dtype, rng, draw):
        n = sizes["n"]
        return {{"x": rng.integers(-9, 10, {read}).astype(dtype)}}

    def reference(self, sizes, dtype, inputs):
        n, x = sizes["n"], inputs["x"].astype(np.float64)
        return {{"y": {reference}}}

    def tolerance(self, sizes, dtype, inputs):
        return {{"y": 0}}  # whole numbers, of which float32 holds every sum here

    def work(self, sizes, dtype):
        n = sizes["n"]
        return Work(4 * ({read}), 4 * ({written}), {read})
"""
_MATRIX = """\
dtypes: [float32]
sizes: {{test: {{n: {test}}}, bench: {{n: [{bench}]}}}}
launch: {{block: [{block}]}}
baseline: v0
defaults:
  steps:
    {name}: {{grid: {grid}, block: {threads}, args: [x, y, n]}}
variants:
  v0: {{}}
"""
_ADD_ONE = """\
__global__ void add_one(const float* x, float* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + 1;
}
"""
_BLOCK_SUMS = """\
__global__ void block_sums(const float* x, float* y, unsigned int n) {
    __shared__ float sums[256];
    const unsigned int at = threadIdx.x;
    sums[at] = x[blockIdx.x * 256 + at];
    for (unsigned int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (at < half) sums[at] += sums[at + half];
    }
    if (at == 0) y[blockIdx.x] = sums[0];
}
"""
_TRANSPOSE = """\
__global__ void transpose(const float* x, float* y, unsigned int n) {
    __shared__ float tile[32][33];
    const unsigned int row = blockIdx.y * 32, column = blockIdx.x * 32;
    for (unsigned int i = threadIdx.y; i < 32; i += 8)
        tile[i][threadIdx.x] = x[(row + i) * n + column + threadIdx.x];
    __syncthreads();
    for (unsigned int i = threadIdx.y; i < 32; i += 8)
        y[(column + i) * n + row + threadIdx.x] = tile[threadIdx.x][i];
}
"""
PADDED, CONFLICTING = "float tile[32][33];", "float tile[32][32];"


def write(folder: Path) -> Path:
    """Write bench.yaml and kernels/ into a folder; return kernels/."""
    kernels = folder / "kernels"
    _write(kernels, "add_one", _ADD_ONE, "y[i] = x[i] + 1", "n", "n", "x + 1",
           test="[1, 33, 1021]", bench="2**16", block="256", grid='"ceil_div(n, block)"',
           threads="block")  # fmt: skip
    _write(kernels, "block_sums", _BLOCK_SUMS, "y[b] is the sum of 256 numbers", "n", "n // 256",
           "x.reshape(-1, 256).sum(1)", test="[256, 1024]", bench="2**16", block="256",
           grid="n // 256", threads="block")  # fmt: skip
    _write(kernels, "transpose", _TRANSPOSE, "y[c][r] = x[r][c]", "n * n", "n * n",
           "x.reshape(n, n).T.ravel()",
           test="[32, 64]", bench="256", block="32", grid="[n // 32, n // 32]",
           threads="[block, 8]")  # fmt: skip
    (folder / "bench.yaml").write_text("limits: {qualify_s: 60}\n")
    return kernels


def _write(
    kernels: Path, name: str, kernel: str, title: str, read: str, written: str, reference: str,
    **matrix: str,
) -> None:  # fmt: skip
    own = kernels / name
    own.mkdir(parents=True)
    (own / "v0.cu").write_text(kernel)
    (own / "bench.yaml").write_text(_MATRIX.format(name=name, **matrix))
    (own / "problem.py").write_text(
        _PROBLEM.format(title=title, read=read, written=written, reference=reference)
    )
