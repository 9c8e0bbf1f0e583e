// output[i] = exp(input[i] - max) / sum of exp(input[j] - max), i = 0 .. n - 1, float32
//
// Idea: v2 in one launch. Between the passes all blocks wait for each other at a barrier of the
// grid. That saves the end of a launch and the start of the next, which shows where n is small.
//
// A barrier of the grid is a count of blocks and a loop that waits for it. __threadfence() is none:
// it orders the accesses of the thread that executes it and waits for nobody, and a published
// softmax that used it so reads sums that other blocks have yet to write.
//
// Contract: any 1 <= n <= 2^31; a block of 32 to 1024 threads, a multiple of 32; no dynamic shared
// memory. All blocks have to be on the SMs at once, for a block that waits does not make room: at
// most as many as fit, on a card that does nothing else. barrier is two words, zero before the
// launch; they are zero again after it. input and output are 16-byte aligned, as every device
// allocation is. Finite input.
//
// From: Shucai Xiao and Wu-chun Feng, "Inter-Block GPU Communication via Fast Barrier
// Synchronization" (2010), in the terms of the CUDA C++ memory model. Cooperative groups'
// this_grid().sync() is the same behind a launch that checks that all blocks fit.
//
// Measured: H200, n = 2³⁰: 0.940× v2.
#include <cuda/atomic>

#include "softmax/passes.cuh"

using Count = cuda::atomic_ref<unsigned int, cuda::thread_scope_device>;

// All blocks arrive before any goes on, and then see what all threads wrote before. barrier[0]
// counts arrivals, barrier[1] departures: whoever leaves last knows that nobody looks at the counts
// any more, and sets them back for the next launch.
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

extern "C" __global__ void softmax(const float* input, float* maxima, float* sums, float* output,
                                   unsigned int* barrier, unsigned int n) {
    const Running r = block_all(first_pass(input, n));
    if (threadIdx.x == 0) {
        maxima[blockIdx.x] = r.max;
        sums[blockIdx.x] = r.sum;
    }
    grid_barrier(barrier);
    second_pass(input, output, n, over_blocks(maxima, sums));
}
