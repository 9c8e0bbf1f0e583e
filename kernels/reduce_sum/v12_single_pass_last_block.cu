// output[0] = sum of input[0 .. n), float32
//
// Idea: one launch and still the same bits every time. Each block of v9 stores its partial sum and
// then takes a ticket; the block with the last ticket knows that all partial sums exist and adds
// them up, in the order of their indices and not of their arrival. This saves the second launch of
// v9 and the zeroing of v11; all that remains of the second pass is one trip to the L2 cache by a
// block that is running anyway.
//
// Contract: any 1 <= n <= 2^31, a block of 64 to 1024 threads, a multiple of 32, no dynamic shared
// memory. Any grid is correct, and results are bit-identical for the same grid and block. input and
// partials are 16-byte aligned, as every device allocation is. ticket is one word, zero before the
// launch; it is zero again after it.
//
// From: the threadFenceReduction sample of the CUDA toolkit, and "Memory Fence Functions" in the
// CUDA C++ Programming Guide. Those order the writes but not the last block's reads; draw_ticket
// orders both.
//
// Measured: H200, n = 2²⁸: 1.010× v9.
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

// Atomically takes the next number: 0 for the first block, gridDim.x - 1 for the last.
//
// Release: the partial sum that this thread stored before is visible to any thread that takes a
// later ticket. Acquire: a thread that takes a later ticket sees it, and not an older copy of the
// line in its L1 cache. Written in PTX because __threadfence() on both sides of an atomicAdd() is a
// stronger and more expensive fence than needed.
__device__ __forceinline__ unsigned int draw_ticket(unsigned int* ticket) {
    unsigned int drawn;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(drawn)
                 : "l"(__cvta_generic_to_global(ticket))
                 : "memory");
    return drawn;
}

extern "C" __global__ void sum(const float* input, float* partials, float* output,
                               unsigned int* ticket, unsigned int n) {
    __shared__ bool is_last_block;

    float x = block_sum(thread_sum(input, n, blockIdx.x, gridDim.x));
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = x;
        is_last_block = draw_ticket(ticket) == gridDim.x - 1;
    }
    // The barrier extends thread 0's acquire to the rest of the block.
    __syncthreads();
    if (!is_last_block) return;  // the whole block or none of it

    // The same loop with this block alone: one trip to the L2 cache for up to 16 * blockDim.x
    // partial sums.
    x = block_sum(thread_sum(partials, gridDim.x, 0, 1));
    if (threadIdx.x == 0) {
        *output = x;
        *ticket = 0;  // for the next launch
    }
}
