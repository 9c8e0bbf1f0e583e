// The sum of each target's rows, once it is known which rows those are.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "elementwise_add/index.cuh"


// A block of up to 1024 threads, a multiple of 32, for each target, with a float of dynamic shared
// memory for each thread. The target's rows are order[begin .. end). They are distributed over the
// warps, and each warp adds up its own in registers, in float32 for every element type: consecutive
// lanes take consecutive columns. The warps' sums are combined in shared memory. Targets without
// rows get zeros.
template <typename T>
__device__ __forceinline__ void add_segment(const T* source, const int* order, int begin, int end,
                                            T* output, unsigned int cols) {
    extern __shared__ float of_warps[];
    const unsigned int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;

    for (unsigned int first = 0; first < cols; first += 32) {
        const unsigned int col = first + lane;
        float sum = 0.0f;
        if (col < cols) {
            // Four rows of a warp are in flight together.
#pragma unroll 4
            for (int r = begin + warp; r < end; r += warps) {
                sum += static_cast<float>(source[static_cast<Index>(order[r]) * cols + col]);
            }
        }
        __syncthreads();  // the sums of the columns before are read
        of_warps[threadIdx.x] = sum;
        __syncthreads();
        if (warp == 0 && col < cols) {
            for (int w = 1; w < warps; w++) sum += of_warps[32 * w + lane];
            output[static_cast<Index>(blockIdx.x) * cols + col] = static_cast<T>(sum);
        }
    }
}
