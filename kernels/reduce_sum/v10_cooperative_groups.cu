// output[0] = sum of input[0 .. n), float32
//
// Idea: v9 with its tree in the cooperative groups library. The block and its warps become objects:
// a warp is a tile of the block, reduce() folds it, meta_group_rank() is its number. The threads of
// a group are in the type, so no mask and no `% 32` is written by hand, and the library picks the
// instructions. It should cost nothing: compare the registers and the times with v9's.
//
// Contract: any 1 <= n <= 2^31, a block of 64 to 1024 threads, a multiple of 32, no dynamic shared
// memory. Any grid is correct. input is 16-byte aligned, as every device allocation is.
//
// From: Mark Harris and Kyrylo Perelygin, "Cooperative Groups: Flexible CUDA Thread Programming"
// (NVIDIA developer blog, 2017); reduce() came with CUDA 11.
//
// Measured: H200, n = 2²⁸: 1.001× v9 (the same within 1 %).
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "common/vector.cuh"
#include "reduce_sum/sum_partials.cuh"

namespace cg = cooperative_groups;

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
    __shared__ float warp_sums[32];
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);

    float x = cg::reduce(warp, thread_sum(input, n, blockIdx.x, gridDim.x), cg::plus<float>());
    if (warp.thread_rank() == 0) warp_sums[warp.meta_group_rank()] = x;
    block.sync();

    if (warp.meta_group_rank() == 0) {
        // Zero for warps that do not exist in this block.
        x = warp.thread_rank() < warp.meta_group_size() ? warp_sums[warp.thread_rank()] : 0.0f;
        x = cg::reduce(warp, x, cg::plus<float>());
        if (warp.thread_rank() == 0) partials[blockIdx.x] = x;
    }
}
