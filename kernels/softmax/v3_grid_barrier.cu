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
// Measured: H200, n = 2³⁰: 0.935× v2.
#include "softmax/grid_barrier.cuh"
#include "softmax/passes.cuh"

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
