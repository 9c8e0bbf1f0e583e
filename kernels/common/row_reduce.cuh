// Sums and maxima of a row that is shorter than a warp (a few lanes), or longer than a block (a
// cluster of blocks). common/all_reduce.cuh has those for a warp and a block.
#pragma once

#include <cooperative_groups.h>

#include "common/all_reduce.cuh"

// Every lane of a full warp calls this and gets the result for its group of COUNT lanes, a power of
// 2 up to 32. Groups lie side by side.
template <typename Op, unsigned int COUNT>
__device__ __forceinline__ float lanes_all(float value) {
#pragma unroll
    for (unsigned int bit = COUNT / 2; bit > 0; bit /= 2) {
        value = Op()(value, __shfl_xor_sync(0xffffffffu, value, bit));
    }
    return value;
}

// Every thread of a cluster of up to 16 blocks calls this and gets the same. Each block stores its
// word in every block, in distributed shared memory, and then every warp reduces the words by
// itself. A block must have started before others write to it: the kernel's first lines ensure that
// (barrier_arrive, and barrier_wait before the first call).
//
// CALL distinguishes the calls in a kernel. Each has its own words, so none waits for threads that
// still read the previous call's.
template <typename Op, int CALL>
__device__ __forceinline__ float cluster_all(float value) {
    __shared__ float of_blocks[16];
    const auto cluster = cooperative_groups::this_cluster();
    const unsigned int blocks = cluster.num_blocks(), lane = threadIdx.x % 32;

    value = block_all<Op>(value);
    if (threadIdx.x < blocks) {
        *cluster.map_shared_rank(of_blocks + cluster.block_rank(), threadIdx.x) = value;
    }
    cluster.sync();
    return warp_all<Op>(lane < blocks ? of_blocks[lane] : Op::identity);
}
