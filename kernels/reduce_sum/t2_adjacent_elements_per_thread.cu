// output[0] = sum of input[0 .. n), float32
//
// A trap: give each thread neighbouring elements, thread t the k that start at k * t, as one would
// for the cache of a CPU core. The lanes of a warp are then k words apart in every load, so for k
// >= 8 each load touches 32 sectors where v8's touches four. The next seven loads find their words
// in the same sectors, but only if those are still in the L1 cache, where each thread of the SM now
// needs a line of its own.
//
// Contract: any 1 <= n <= 2^31, a block of 64 to 1024 threads, a multiple of 32, no dynamic shared
// memory. Any grid is correct; a multiple of the number of SMs gives each SM the same work.
//
// Compare with v8: the same number of threads and of elements per thread, in an order that suits
// the GPU; the tree is the same (common/block.cuh). Neighbours in one 128-bit load (v9a) are no
// trap: the cost comes from the gap between the lanes of a load, not between loads.
//
// Measured: H200, n = 2²⁸: 0.658× v8.
#include "common/block.cuh"
#include "reduce_sum/sum_partials.cuh"

extern "C" __global__ void block_sums(const float* input, float* partials, unsigned int n) {
    const unsigned int threads = gridDim.x * blockDim.x;
    const unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;
    // Rounded up, so the last threads may have fewer elements or none. threads * k, the highest
    // `begin` + k, is below n + threads, far from 2^32.
    const unsigned int k = (n - 1) / threads + 1;
    const unsigned int begin = thread * k;
    const unsigned int end = min(begin + k, n);

    float sum = 0.0f;
    // Two loads in flight, as in v8. Otherwise nvcc would unroll this to eight, and the comparison
    // would be of the number of loads and not of their addresses.
#pragma unroll 1
    for (unsigned int i = begin; i < end; i += 2) {
        sum += input[i];
        if (i + 1 < end) sum += input[i + 1];
    }

    sum = block_sum(sum);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
