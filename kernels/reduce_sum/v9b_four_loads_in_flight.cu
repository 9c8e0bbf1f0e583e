// output[0] = sum of input[0 .. n), float32
//
// Idea: keep more bytes in flight. A thread of v9a has at most two loads in flight, 32 KiB for 1024
// threads of an SM; by Little's law the SM's share of the bandwidth times the latency of memory,
// some tens of KiB, has to be in flight to keep the memory busy. A thread here issues four
// independent loads before it uses the first: 64 KiB for 1024 threads.
//
// v9_vectorized launches this file with as many threads as the SMs hold at once, and with no more
// blocks than there are tiles: the bytes in flight then follow from the GPU and not from a number
// of blocks that suited one card. Compute capability 8.0, 9.0 and 10.0 hold 2048 threads.
//
// Contract: any 1 <= n <= 2^31, a block of 64 to 1024 threads, a multiple of 32, no dynamic shared
// memory. Any grid is correct. input is 16-byte aligned, as every device allocation is.
//
// From: Vasily Volkov, "Better Performance at Lower Occupancy" (GTC 2010).
//
// Measured: H200, n = 2²⁸: 1.007× v9a (the same within 1 %).
#include "common/block.cuh"
#include "common/vector.cuh"
#include "reduce_sum/sum_partials.cuh"

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

extern "C" __global__ void block_sums(const float* input, float* partials, unsigned int n) {
    const float x = block_sum(thread_sum(input, n, blockIdx.x, gridDim.x));
    if (threadIdx.x == 0) partials[blockIdx.x] = x;
}
