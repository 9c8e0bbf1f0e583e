// output[0] = sum of input[0 .. n), float32
//
// Idea: no second pass over partial sums. Each block of v9 adds its sum directly to output with one
// atomic. The cost: output has to be zero before, which takes a (tiny) step of its own, and the
// additions happen in the order in which the blocks finish, so the last bits of the result differ
// from run to run.
//
// Contract: any 1 <= n <= 2^31, a block of 64 to 1024 threads, a multiple of 32, no dynamic shared
// memory. Any grid is correct. input is 16-byte aligned, as every device allocation is. zero_output
// is one thread, launched before.
//
// From: Justin Luitjens, "Faster Parallel Reductions on Kepler" (NVIDIA developer blog, 2014).
//
// Measured: H200, n = 2²⁸: 1.005× v9 (the same within 1 %).
#include "common/block.cuh"
#include "common/vector.cuh"

// This thread's sum: four float4 from each of its block's tiles; the blocks take the tiles in turn.
// A tile is 4 * blockDim.x contiguous float4, and in each of its four loads consecutive threads
// read consecutive float4: a warp gets four whole 128-byte lines.
__device__ __forceinline__ float thread_sum(const float* values, unsigned int count,
                                            unsigned int block, unsigned int blocks) {
    const float4* values4 = reinterpret_cast<const float4*>(values);
    const unsigned int count4 = count / 4;
    const unsigned int threads = blockDim.x;
    const unsigned int tid = threadIdx.x;
    float x = 0.0f;

    for (unsigned int i = block * (4 * threads) + tid; i < count4; i += blocks * (4 * threads)) {
        // All four are issued before the first is waited for. The guards for an incomplete last
        // tile are predicates on the loads and do not delay them.
        const float4 a = values4[i];
        const float4 b = load_or_zero(values4, i + threads, count4);
        const float4 c = load_or_zero(values4, i + 2 * threads, count4);
        const float4 d = load_or_zero(values4, i + 3 * threads, count4);
        x += (sum(a) + sum(b)) + (sum(c) + sum(d));
    }
    // Up to three floats are left over that do not fill a float4.
    if (block == 0 && tid < count % 4) x += values[4 * count4 + tid];
    return x;
}

extern "C" __global__ void zero_output(float* output) {
    *output = 0.0f;
}

extern "C" __global__ void sum(const float* input, float* output, unsigned int n) {
    const float x = block_sum(thread_sum(input, n, blockIdx.x, gridDim.x));
    // One atomic per block: the blocks queue at a single address, so one per warp or thread would
    // make that queue the bottleneck.
    if (threadIdx.x == 0) atomicAdd(output, x);
}
