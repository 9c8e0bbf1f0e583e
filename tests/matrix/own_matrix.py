"""The text of kernels/double/bench.yaml in the matrix tests, and a second problem."""

import shutil
from pathlib import Path

OWN = """\
dtypes: [float32]
sizes: {test: {n: [1, 33]}, bench: {n: [2**10]}}
launch: {block: [64, 128]}
baseline: v0
defaults:
  let: {blocks: "ceil_div(n, block)"}
  defines: {FACTOR: 2}
  steps:
    twice: {grid: blocks, block: block, shared: 4 * block, args: [input, output, n]}
    check: {grid: 1, block: 32, args: [output]}
variants:
  v0:
    steps: [twice]
  v1:
    builds_on: v0
    source: v0.cu
  v2:
    builds_on: v1
    source: v0.cu
    let: {blocks: 7}
    steps: {twice: {shared: 0}}
"""


def add_triple(path: Path, text: str) -> Path:
    """Write this matrix with its problem again, under the name `triple`; return the folder of that
    problem."""
    body = text[text.index("  double:") : text.index("timing:")]
    path.write_text(text.replace("timing:", body.replace("  double:", "  triple:") + "timing:"))
    kernels = path.parent / "kernels"
    return Path(shutil.copytree(kernels / "double", kernels / "triple"))
