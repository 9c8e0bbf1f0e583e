// y = a x, float32; a is m × 16, row-major
//
// Idea: v1a with 16 bytes per lane. A row takes four lanes, so a warp takes eight rows: four times
// as many bytes are in flight, and two steps add up a row.
//
// Contract: any m >= 1 with 16 m below 2^32, k = 16; a block of a multiple of 32 threads; the
// blocks cover m with eight rows per warp. a and x begin on a 16-byte boundary, as every allocation
// does. No shared memory.
//
// From: v1a and "Increase Performance with Vectorized Memory Access" (NVIDIA blog, 2013).
//
// Measured: H200, m = 2²², k = 16: 2.68× v1a.
#include "common/vector.cuh"

extern "C" __global__ void sgemv(const float* a, const float* x, float* y, unsigned int m,
                                 unsigned int k) {
    const unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int row = thread / 4, j = thread % 4;
    const float4 p = load_or_zero(reinterpret_cast<const float4*>(a), thread, 4 * m);
    const float4 q = reinterpret_cast<const float4*>(x)[j];
    float sum = (p.x * q.x + p.y * q.y) + (p.z * q.z + p.w * q.w);
#pragma unroll
    for (unsigned int offset = 2; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset, 4);
    }
    if (row < m && j == 0) y[row] = sum;
}
