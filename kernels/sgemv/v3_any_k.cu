// y = a x, float32; a is m × k, row-major
//
// Idea: v2 for every k. If k is not a multiple of 4, rows begin anywhere, and a row's 16-byte loads
// start at the first boundary in it (row_product.cuh). If it is, only the tail is new, and the
// kernel compiled for that costs as much as v2.
//
// Contract: any m, k >= 1 with m k below 2^32; a block of a multiple of 32 threads; the blocks
// cover m with one row per warp. VECTOR: k is a multiple of 4. a and x begin on a 16-byte boundary,
// as every allocation does. No shared memory.
//
// From: v2; a head, a body and a tail are how memcpy has always done it.
//
// Measured: H200, m = 2¹⁴, k = 2¹⁴: 0.99996× v2 (the same within 1 %).
#include "common/warp.cuh"
#include "sgemv/row_product.cuh"

template <bool VECTOR>
__global__ void sgemv(const float* a, const float* x, float* y, unsigned int m, unsigned int k) {
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= m) return;  // a whole warp
    const float sum = warp_sum(row_product<VECTOR>(a + row * k, x, k, lane, 32));
    if (lane == 0) y[row] = sum;
}
