"""A matrix and kernels of three variants, one of which may have bank conflicts."""

from __future__ import annotations

OWN = """\
dtypes: [float32]
sizes: {test: {n: [1, 33]}, bench: {n: [2**10]}}
launch: {block: [32]}
baseline: v0
defaults:
  steps:
    twice: {grid: "ceil_div(n, block)", block: block, args: [input, output, n]}
variants:
  v0: {}
  v1: {builds_on: v0}
  v2: {builds_on: v1}
"""


KERNEL = """\
#include "common/factor.cuh"
#include "near.cuh"
extern "C" __global__ void twice(const float* input, float* output, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = FACTOR * input[i] + NEAR;
}
"""


STRIDED = """\
extern "C" __global__ void twice(const float* input, float* output, int n) {
    __shared__ float tile[1024];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) tile[32 * (threadIdx.x % 32)] = 2 * input[i];
    __syncwarp();
    if (i < n) output[i] = tile[32 * (threadIdx.x % 32)];
}
"""


PLAIN = STRIDED.replace("32 * (threadIdx.x % 32)", "threadIdx.x % 32")
"""The kernel without the 32-way bank conflicts."""
