// output[i] = sum of input[i - RADIUS .. i + RADIUS], zeros beyond the ends, i = 0 .. n - 1,
// float32
//
// Idea: neighbouring windows differ in two elements. A thread computes RUN consecutive outputs: it
// adds up the first window, and then slides it by adding the element that enters and subtracting
// the one that leaves, two operations instead of 2 * RADIUS. The rounding of one output is carried
// into the next, which is why a run is short.
//
// The threads of a warp read RUN words apart. RUN is odd, so those are 32 different banks. Results
// go back into shared memory, and from there to the output in whole lines.
//
// Contract: any 1 <= n <= 2^30; the blocks cover n, RUN elements per thread, with dynamic shared
// memory for RUN * blockDim.x + 2 * RADIUS floats. RADIUS and RUN are defined; RUN is odd.
//
// From: the moving averages of any text on signal processing.
//
// Measured: H200, n = 2²⁸: 2.02× v1.
#include "window_sum/tile.cuh"

#if !defined(RUN) || RUN % 2 == 0
#error "v2_running_sum.cu needs an odd number of outputs per thread at compile time: -DRUN=7"
#endif

extern "C" __global__ void window_sum(const float* input, float* output, int n) {
    extern __shared__ float tile[];
    const int count = RUN * blockDim.x;
    const int first = blockIdx.x * count;
    load_with_halo(tile, input, first, count, n);
    __syncthreads();

    const float* window = tile + RUN * threadIdx.x;
    float sums[RUN];
    sums[0] = 0.0f;
#pragma unroll
    for (int j = 0; j <= 2 * RADIUS; j++) sums[0] += window[j];
#pragma unroll
    for (int k = 1; k < RUN; k++) sums[k] = sums[k - 1] + (window[2 * RADIUS + k] - window[k - 1]);
    __syncthreads();  // all windows are read

#pragma unroll
    for (int k = 0; k < RUN; k++) tile[RUN * threadIdx.x + k] = sums[k];
    __syncthreads();
    for (int j = threadIdx.x; j < count && first + j < n; j += blockDim.x) {
        output[first + j] = tile[j];
    }
}
