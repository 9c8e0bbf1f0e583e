"""The tiny problem of many tests: a vector doubled, as the texts of its files."""

from __future__ import annotations

from pathlib import Path

MATRIX = """\
problems:
  double:
    dtypes: [float32]
    sizes:
      test:
        n: [1, 33]
      bench:
        n: [2**10]
    launch:
      block: [64, 128]
    baseline: v0
    variants:
      v0:
        source: v0.cu
        steps:
          - kernel: twice
            grid: ceil_div(n, block)
            block: block
            args: [input, output, n]
timing:
  rounds: 6
limits:
  qualify_s: 60
"""

PROBLEM = """\
from harness.problem import Buffer, Problem, Work


class Double(Problem):
    title = "output[i] = 2 input[i]"

    def buffers(self, sizes, dtype):
        n = sizes["n"]
        return [Buffer("input", "input", dtype, n), Buffer("output", "output", dtype, n)]

    def inputs(self, sizes, dtype, rng, draw):
        return {"input": rng.random(sizes["n"], dtype=dtype) + 1}

    def reference(self, sizes, dtype, inputs):
        return {"output": 2.0 * inputs["input"].astype("float64")}

    def tolerance(self, sizes, dtype, inputs):
        return {"output": 1e-6}

    def work(self, sizes, dtype):
        return Work(4 * sizes["n"], 4 * sizes["n"], sizes["n"])
"""

KERNEL = """\
extern "C" __global__ void twice(const DTYPE* input, DTYPE* output, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = 2 * input[i];
}
"""


def edit(path: Path, old: str, new: str) -> None:
    """Replace the only occurrence of `old` in a file."""
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
    path.write_text(text.replace(old, new))


def timed_matrix(
    *variants: str, test: str = "1, 33", bench: str = "1024", rounds: int = 2, limits: str = ""
) -> str:
    """A matrix with three placements and one line per variant, the first of which is the
    baseline."""
    return "\n".join((
        f"timing: {{placements: [3], choosing: 0, rounds_per_placement: {rounds}, batch: 4}}",
        *([f"limits: {{{limits}}}"] if limits else []),
        "problems:",
        "  double:",
        "    dtypes: [float32]",
        f"    sizes: {{test: {{n: [{test}]}}, bench: {{n: [{bench}]}}}}",
        "    launch: {block: [64]}",
        f"    baseline: {variants[0].partition(':')[0]}",
        "    defaults:",
        '      let: {blocks: "ceil_div(n, block)"}',
        "      steps: {twice: {grid: blocks, block: block, args: [input, output, n]}}",
        "    variants:",
        *(f"      {each}" for each in variants),
        "",
    ))  # fmt: skip
