// output[0] = sum of input[0 .. n), float32
//
// A trap: cut the input into as many contiguous shares as there are blocks, as one would for the
// threads of a CPU, and accept the resulting sizes.
//   - A share of n / blocks + 1 elements is generally not a multiple of 8, so the blocks start in
//     the middle of a 32-byte sector. A warp's 128 bytes then lie in five sectors instead of four:
//     a quarter more sectors per request, for the whole of the share.
//   - A round number of blocks is not a multiple of the number of SMs. Of 1024 blocks, some of 132
//     SMs get eight and some seven; and if fewer fit at once (four blocks of 512 per SM are 528),
//     the rest wait for a second wave that cannot fill the GPU.
//
// Contract: any 1 <= n <= 2^31, a block of 64 to 1024 threads, a multiple of 32, no dynamic shared
// memory. Any grid is correct.
//
// Compare with v8: the two loads in flight per thread and the tree (common/block.cuh) are the same;
// the elements that a block reads and the number of blocks differ. If all blocks fit at once, t1
// has more warps waiting for memory than v8's few blocks per SM, which can hide the loss: look at
// the sectors per request, not only at the time.
//
// Measured: H200, n = 2²⁸: 1.08× v8.
#include "common/block.cuh"
#include "reduce_sum/sum_partials.cuh"

extern "C" __global__ void block_sums(const float* input, float* partials, unsigned int n) {
    // One element more than an even share, so even a power of two gives unaligned shares. The last
    // shares are therefore shorter, or empty for a small n. gridDim.x * share stays below 2^32.
    const unsigned int share = (n - 1) / gridDim.x + 2;
    const unsigned int begin = blockIdx.x * share;
    const unsigned int end = min(begin + share, n);

    float sum = 0.0f;
    for (unsigned int i = begin + threadIdx.x; i < end; i += 2 * blockDim.x) {
        sum += input[i];
        if (i + blockDim.x < end) sum += input[i + blockDim.x];
    }

    sum = block_sum(sum);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
