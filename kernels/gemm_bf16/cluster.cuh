// Functions with which the blocks of a cluster work together: for v6 to v9. Compute capability 9.0.
#pragma once

// The number of this block in its cluster.
__device__ __forceinline__ unsigned int rank_in_cluster() {
    unsigned int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// All threads of all blocks of the cluster meet. Each block's earlier writes are visible to the
// others, and no block exits before the others are done with its shared memory.
__device__ __forceinline__ void meet_in_cluster() {
    __syncwarp();  // the lanes of a warp arrive as one, wherever they were
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
