// The second step of every two-step variant: output[0] = sum of partials[0 .. count).
//
// Contract: one block of 1024 threads, no dynamic shared memory; partials is 16-byte aligned, as
// every device allocation is; 1 <= count <= 2^27.
//
// One block, so nothing is left to combine afterwards and the order of additions is fixed: the same
// partials give the same bits every time. The price is that one SM reads everything. That is
// negligible for the roughly one thousand partials of a fixed-size grid, but v0 to v3 leave one per
// block, 2^21 of them for n = 2^28 in blocks of 128, and then a single SM's bandwidth is the limit.
// Hence the 128-bit loads, four of them independent: 64 KiB in flight at once.
#pragma once

#include "common/block.cuh"
#include "common/vector.cuh"

extern "C" __global__ void __launch_bounds__(1024)
sum_partials(const float* partials, float* output, unsigned int count) {
    const float4* partials4 = reinterpret_cast<const float4*>(partials);
    const unsigned int count4 = count / 4;
    const unsigned int threads = blockDim.x;
    float x = 0.0f;

    // The guards are predicates on the loads and not branches around them, so that even a few
    // partials cost one trip to memory, not one trip per load.
    for (unsigned int i = threadIdx.x; i < count4; i += 4 * threads) {
        const float4 a = partials4[i];
        const float4 b = load_or_zero(partials4, i + threads, count4);
        const float4 c = load_or_zero(partials4, i + 2 * threads, count4);
        const float4 d = load_or_zero(partials4, i + 3 * threads, count4);
        x += (sum(a) + sum(b)) + (sum(c) + sum(d));
    }
    const unsigned int tail = 4 * count4 + threadIdx.x;
    if (tail < count) x += partials[tail];

    x = block_sum(x);
    if (threadIdx.x == 0) *output = x;
}
