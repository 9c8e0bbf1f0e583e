"""The text of kernels/double/bench.yaml in the tests of the matrix."""

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
