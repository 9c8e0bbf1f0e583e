// y = a x, float32; a is m × k, row-major
//
// Idea: with a warp per row, a matrix of 16 rows keeps 16 warps busy, of the 8,448 that the card
// holds. Here a row is cut into parts, one per block, and a second launch adds up the parts of a
// row. A grid of rows by parts fills the card for any shape.
//
// Contract: any m, k >= 1 with m k below 2^32; blocks of 64 to 1024 threads, a multiple of 32; a
// grid of (parts, m) with m <= 65,535 for the first kernel, whose blocks have `part` columns each,
// a multiple of 4; one warp per row for the second. VECTOR: k is a multiple of 4. partials holds m
// * parts words.
//
// From: split-K, as in "Efficient GEMM in CUDA" of CUTLASS's documentation.
//
// Measured: H200, m = 16, k = 2²¹: 88.7× v3.
#include "common/block.cuh"
#include "sgemv/row_product.cuh"

template <bool VECTOR>
__global__ void parts_of_rows(const float* a, const float* x, float* partials, unsigned int k,
                              unsigned int part) {
    const unsigned int first = blockIdx.x * part;
    const unsigned int count = min(part, k - first);
    const float sum = block_sum(row_product<VECTOR>(a + blockIdx.y * k + first, x + first, count,
                                                    threadIdx.x, blockDim.x));
    if (threadIdx.x == 0) partials[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

extern "C" __global__ void sum_parts(const float* partials, float* y, unsigned int m,
                                     unsigned int parts) {
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= m) return;  // a whole warp
    float sum = 0.0f;
    for (unsigned int i = lane; i < parts; i += 32) sum += partials[row * parts + i];
    sum = warp_sum(sum);
    if (lane == 0) y[row] = sum;
}
