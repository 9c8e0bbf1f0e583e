// y = a x, float32; a is m × k, row-major
//
// Idea: v0 with 16 bytes per lane. A quarter of the loads read the same bytes, and with four of
// them in flight a lane waits for 64 bytes of a at a time instead of 4.
//
// Contract: any m >= 1, k a multiple of 128, m k below 2^32; a block of a multiple of 32 threads;
// the blocks cover m with one row per warp. a and x begin on a 16-byte boundary, as every
// allocation does. No shared memory.
//
// From: Xiandong Liu, "How to optimize in GPU" (2022): sgemv_v1.
//
// Measured: H200, m = 2¹⁴, k = 2¹⁴: 1.012× v0.
#include "common/warp.cuh"

extern "C" __global__ void sgemv(const float* a, const float* x, float* y, unsigned int m,
                                 unsigned int k) {
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= m) return;  // a whole warp
    const float4* a4 = reinterpret_cast<const float4*>(a + row * k);
    const float4* x4 = reinterpret_cast<const float4*>(x);
    float sum = 0.0f;
#pragma unroll 4
    for (unsigned int j = lane; j < k / 4; j += 32) {
        const float4 p = a4[j], q = x4[j];
        sum += (p.x * q.x + p.y * q.y) + (p.z * q.z + p.w * q.w);
    }
    sum = warp_sum(sum);
    if (lane == 0) y[row] = sum;
}
