// output[i] = sum of input[0 .. i], i = 0 .. n - 1, float32
//
// Idea: fewer additions. A tree of sums is built upwards, as in a reduction, and then traversed
// downwards: each node passes the sum before itself to its left child, and that plus the left
// child's sum to its right child. That is 2 additions per element for any block, but twice as many
// steps, in which fewer and fewer threads are busy.
//
// The nodes of a level are 2, 4, 8 … words apart, which would be 2-, 4-, 8-way … bank conflicts; a
// word of padding after every 32 spreads them over the banks.
//
// Contract: any 1 <= n <= 2^31, a block of 32 to 1024 threads, a power of two. A block takes two
// elements per thread, and has a float of dynamic shared memory for each element, plus one for
// every 32.
//
// From: Guy Blelloch, "Prefix Sums and Their Applications" (1990), with the padding of GPU Gems 3,
// chapter 39.
//
// Measured: H200, n = 2²⁸: 1.27× v0.
#include "scan/block_offsets.cuh"

__device__ __forceinline__ unsigned int padded(unsigned int i) {
    return i + i / 32;
}

extern "C" __global__ void scan_blocks(const float* input, float* output, float* sums,
                                       unsigned int n) {
    extern __shared__ float tree[];
    const unsigned int tid = threadIdx.x;
    const unsigned int elements = 2 * blockDim.x;
    const unsigned int first = blockIdx.x * elements + tid;
    const unsigned int second = first + blockDim.x;

    const float a = first < n ? input[first] : 0.0f;
    const float b = second < n ? input[second] : 0.0f;
    tree[padded(tid)] = a;
    tree[padded(tid + blockDim.x)] = b;

    // Upwards: the last word of each group of 2 * apart becomes the sum of the group.
    for (unsigned int apart = 1; apart < elements; apart *= 2) {
        __syncthreads();
        const unsigned int right = 2 * apart * (tid + 1) - 1;
        if (right < elements) tree[padded(right)] += tree[padded(right - apart)];
    }
    __syncthreads();
    if (tid == 0) {
        sums[blockIdx.x] = tree[padded(elements - 1)];
        tree[padded(elements - 1)] = 0.0f;  // nothing stands before the whole block
    }

    // Downwards: the word of a node becomes the sum before it.
    for (unsigned int apart = elements / 2; apart > 0; apart /= 2) {
        __syncthreads();
        const unsigned int right = 2 * apart * (tid + 1) - 1;
        if (right < elements) {
            const float left_sum = tree[padded(right - apart)];
            const float before = tree[padded(right)];
            tree[padded(right - apart)] = before;
            tree[padded(right)] = before + left_sum;
        }
    }
    __syncthreads();

    if (first < n) output[first] = tree[padded(tid)] + a;
    if (second < n) output[second] = tree[padded(tid + blockDim.x)] + b;
}
