// y = a x, float32; a is m × k, row-major
//
// Idea: a warp for each row. Its lanes read 32 consecutive words of it, four sectors per request,
// and add up their products with shuffles. If k is a multiple of 32, all lanes have equally many;
// otherwise some lanes are idle in the last round, and rows begin in the middle of a sector.
//
// Contract: any m, k >= 1 with m k below 2^32; a block of a multiple of 32 threads; the blocks
// cover m with one row per warp. No shared memory.
//
// From: the ladder of matrix-vector kernels by the length of the rows in Xiandong Liu's "How to
// optimize in GPU" (2022): sgemv_v0.
//
// Measured: H200, m = 2¹⁴, k = 2¹⁴: 242 µs ± 0.13 %.
#include "common/warp.cuh"

extern "C" __global__ void sgemv(const float* a, const float* x, float* y, unsigned int m,
                                 unsigned int k) {
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= m) return;  // a whole warp
    float sum = 0.0f;
    for (unsigned int j = lane; j < k; j += 32) sum += a[row * k + j] * x[j];
    sum = warp_sum(sum);
    if (lane == 0) y[row] = sum;
}
