// output[i] = exp(input[i] - max) / sum of exp(input[j] - max), i = 0 .. n - 1, float32
//
// Idea: the definition, a kernel per pass. Only at the end of a launch are all blocks known to be
// done, so the maximum, the sum that needs it, and the normalisation that needs both are three
// launches. Each block stores a partial result, and every block of the next launch reduces all of
// those by itself: a few KiB from the L2 cache instead of further launches. The input is read three
// times.
//
// Contract: any 1 <= n <= 2^31, the same grid for all three kernels, of at most 65536 blocks; a
// block of 32 to 1024 threads, a multiple of 32; no dynamic shared memory. Finite input.
//
// From: the CUDA C++ Programming Guide on what a launch orders, and any numerical textbook on
// subtracting the maximum: exp(89) overflows float32.
//
// Measured: H200, n = 2³⁰: 6.30 ms ± 0.068 %.
#include "common/all_reduce.cuh"

// The reduction of partials[0 .. gridDim.x), for every thread of the block.
template <typename Op>
__device__ __forceinline__ float over_blocks(const float* partials) {
    float value = Op::identity;
    for (unsigned int i = threadIdx.x; i < gridDim.x; i += blockDim.x) {
        value = Op()(value, partials[i]);
    }
    return block_all<Op>(value);
}

extern "C" __global__ void find_maxima(const float* input, float* maxima, unsigned int n) {
    const unsigned int step = gridDim.x * blockDim.x;
    float max = Max::identity;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        max = fmaxf(max, input[i]);
    }
    max = block_all<Max>(max);
    if (threadIdx.x == 0) maxima[blockIdx.x] = max;
}

extern "C" __global__ void add_up(const float* input, const float* maxima, float* sums,
                                  unsigned int n) {
    const float max = over_blocks<Max>(maxima);
    const unsigned int step = gridDim.x * blockDim.x;
    float sum = 0.0f;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        sum += expf(input[i] - max);
    }
    sum = block_all<Sum>(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern "C" __global__ void normalise(const float* input, const float* maxima, const float* sums,
                                     float* output, unsigned int n) {
    const float max = over_blocks<Max>(maxima);
    const float scale = 1.0f / over_blocks<Sum>(sums);
    const unsigned int step = gridDim.x * blockDim.x;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        output[i] = expf(input[i] - max) * scale;
    }
}
