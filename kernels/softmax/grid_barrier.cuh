// A barrier for all blocks of a grid, which must be resident at once.
#pragma once

#include <cuda/atomic>

using Count = cuda::atomic_ref<unsigned int, cuda::thread_scope_device>;

// All blocks arrive before any continues, and then see all threads' earlier writes. barrier[0]
// counts arrivals, barrier[1] departures: the last to leave knows that no block reads the counts
// any more, and resets them for the next launch.
__device__ __forceinline__ void grid_barrier(unsigned int* barrier) {
    __syncthreads();  // all of the block's writes come before its arrival
    if (threadIdx.x == 0) {
        Count arrived(barrier[0]), left(barrier[1]);
        arrived.fetch_add(1, cuda::memory_order_acq_rel);
        while (arrived.load(cuda::memory_order_acquire) < gridDim.x) {
        }
        if (left.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1) {
            arrived.store(0, cuda::memory_order_relaxed);
            left.store(0, cuda::memory_order_relaxed);
        }
    }
    __syncthreads();  // and hands on what thread 0 has seen
}
