// output[i] = exp(input[i] - max) / sum of exp(input[j] - max), i = 0 .. n - 1, float32
//
// Idea: keep on the chip what the second pass will need. v3's blocks stay through both passes, so
// each can copy the first part of its input into shared memory, 28 MB on all multiprocessors, all
// at once, and read the rest while that arrives. The second pass goes backwards, as v4's does, and
// ends with what was kept. Up to seven million elements are read from memory once.
//
// Contract: any 1 <= n <= 2^31; a block of 32 to 1024 threads, a multiple of 32; KEPT float4 per
// thread of dynamic shared memory. All blocks must be resident at once, because a waiting block does
// not make room: no more than fit on an otherwise idle card. `barrier` has two words, zero before
// the launch, and zero again after it. input and output are 16-byte aligned, as every device
// allocation is. Finite input. Compute capability 8.0.
//
// From: Lingqi Zhang et al., "PERKS: a Locality-Optimized Execution Model for Iterative Memory-bound
// GPU Applications" (2023), which keeps data on the chip from one step of an iteration to the next.
//
// Measured: H200, n = 2³⁰: 1.07× v3.
#include "common/async_copy.cuh"
#include "softmax/grid_barrier.cuh"
#include "softmax/passes.cuh"

template <unsigned int KEPT>
__global__ void softmax(const float* input, float* maxima, float* sums, float* output,
                        unsigned int* barrier, unsigned int n) {
    extern __shared__ float4 kept[];  // KEPT × blockDim.x
    const float4* input4 = reinterpret_cast<const float4*>(input);
    float4* output4 = reinterpret_cast<float4*>(output);
    const unsigned int count4 = n / 4, step = gridDim.x * blockDim.x;
    // A thread takes the float4 first, first + step, … : this many.
    const unsigned int first = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int mine = first < count4 ? (count4 - 1 - first) / step + 1 : 0;

#pragma unroll
    for (unsigned int k = 0; k < KEPT; k++) {
        const bool exists = k < mine;
        copy_16(kept + k * blockDim.x + threadIdx.x, input4 + (exists ? first + k * step : 0),
                exists ? 16 : 0);
    }
    commit_copies();
    Running r;
    for (unsigned int k = KEPT; k < mine; k += 2) {
        const bool two = k + 1 < mine;  // both loads are issued before the first is waited for
        const float4 a = input4[first + k * step];
        const float4 b = input4[first + (two ? k + 1 : k) * step];
        r = with(r, a);
        if (two) r = with(r, b);
    }
    wait_for_all_but<0>();
    for (unsigned int k = 0; k < min(mine, KEPT); k++) {
        r = with(r, kept[k * blockDim.x + threadIdx.x]);
    }
    const unsigned int left = 4 * count4 + threadIdx.x;  // fewer than four do not fill a float4
    if (blockIdx.x == 0 && left < n) r = with(r, input[left]);

    r = block_all(r);
    if (threadIdx.x == 0) {
        maxima[blockIdx.x] = r.max;
        sums[blockIdx.x] = r.sum;
    }
    grid_barrier(barrier);
    r = over_blocks(maxima, sums);
    const float scale = 1.0f / r.sum;
    for (unsigned int k = mine; k > KEPT; k -= 2) {
        const bool two = k - 1 > KEPT;
        const unsigned int i = first + (k - 1) * step, j = two ? i - step : i;
        const float4 a = input4[i];
        const float4 b = input4[j];
        output4[i] = normalised(a, r.max, scale);
        if (two) output4[j] = normalised(b, r.max, scale);
        if (!two) break;
    }
    for (unsigned int k = min(mine, KEPT); k > 0; k--) {
        const float4 v = kept[(k - 1) * blockDim.x + threadIdx.x];
        output4[first + (k - 1) * step] = normalised(v, r.max, scale);
    }
    if (blockIdx.x == 0 && left < n) output[left] = expf(input[left] - r.max) * scale;
}
