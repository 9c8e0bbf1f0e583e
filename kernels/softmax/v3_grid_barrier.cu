// output[i] = exp(input[i] - max) / sum of exp(input[j] - max), i = 0 .. n - 1, float32
//
// Idea: v2 in one launch. Between the passes all blocks wait for each other at a grid barrier. That
// saves the end of a launch and the start of the next, which matters if n is small.
//
// A grid barrier is a count of blocks and a loop that waits for it. __threadfence() is not one: it
// orders the accesses of the thread that executes it and waits for no other, and a published
// softmax that used it like this reads sums that other blocks have yet to write.
//
// Contract: any 1 <= n <= 2^31; a block of 32 to 1024 threads, a multiple of 32; no dynamic shared
// memory. All blocks must be resident at once, because a waiting block does not make room: no more
// than fit on an otherwise idle card. `barrier` has two words, zero before the launch, and zero
// again after it. input and output are 16-byte aligned, as every device allocation is. Finite
// input.
//
// From: Shucai Xiao and Wu-chun Feng, "Inter-Block GPU Communication via Fast Barrier
// Synchronization" (2010), in the terms of the CUDA C++ memory model. Cooperative groups'
// this_grid().sync() is the same, with a launch that checks that all blocks fit.
//
// Measured: H200, n = 2³⁰: 0.940× v2.
#include <cuda/atomic>

#include "softmax/passes.cuh"

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
