// output[b] = the number of input[0 .. n) equal to b, b = 0 .. 255, int32
//
// Idea: v0 with four elements per load, a quarter of the instructions that read. The atomics are
// the same as before: the gain over v0 is the cost of reading there.
//
// Contract: any 1 <= n < 2^31, elements from 0 to 255, any grid; a block of at least 3 threads.
// output must be zero before it, which the step `zero` ensures. No shared memory. input is 16-byte
// aligned, as every device allocation is.
//
// From: Justin Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access" (NVIDIA
// developer blog, 2013).
//
// Measured: H200, n = 2²⁸, skew = 1: 1.0001× v0 (the same within 1 %).
#include "histogram/bins.cuh"

extern "C" __global__ void count(const int* input, int* output, unsigned int n) {
    const int4* input4 = reinterpret_cast<const int4*>(input);
    const unsigned int step = gridDim.x * blockDim.x;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += step) {
        const int4 v = input4[i];
        atomicAdd(&output[v.x], 1);
        atomicAdd(&output[v.y], 1);
        atomicAdd(&output[v.z], 1);
        atomicAdd(&output[v.w], 1);
    }
    // Up to three elements are left over that do not fill an int4.
    const unsigned int left = n / 4 * 4 + threadIdx.x;
    if (blockIdx.x == 0 && left < n) atomicAdd(&output[input[left]], 1);
}
