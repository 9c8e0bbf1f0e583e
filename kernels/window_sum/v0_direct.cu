// output[i] = sum of input[i - RADIUS .. i + RADIUS], zeros beyond the ends, i = 0 .. n - 1,
// float32
//
// Idea: none; each thread reads its whole window. Most of it is in the L1 cache, because neighbours
// read nearly the same, but each of the 2 * RADIUS + 1 reads is an instruction, an address and a
// comparison with the ends.
//
// Contract: any 1 <= n <= 2^30; the blocks cover n, one element per thread. RADIUS is defined. No
// shared memory.
//
// From: the one-dimensional stencil of Mark Harris and Justin Luitjens' introductions to CUDA
// C/C++.
//
// Measured: H200, n = 2²⁸: 1.72 ms ± 0.033 %.
#ifndef RADIUS
#error "v0_direct.cu needs the radius of the window at compile time: -DRADIUS=16"
#endif

extern "C" __global__ void window_sum(const float* input, float* output, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
#pragma unroll
    for (int j = i - RADIUS; j <= i + RADIUS; j++) {
        if (j >= 0 && j < n) sum += input[j];
    }
    output[i] = sum;
}
