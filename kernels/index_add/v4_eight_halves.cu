// output[t][c] = sum of source[r][c] over all r with index[r] = t; source is rows × cols, row by
// row, float16
//
// Idea: eight halves, 16 bytes, per atomic, as v1 has for four floats. CUDA C++ has no atomicAdd()
// of so many, but compute capability 9.0 adds up to four pairs of halves with one instruction
// (`red` with a vector, in PTX). The L2 cache gets a quarter of v1's requests for the same bytes.
//
// Contract: any rows, cols and targets of at least 1 with products of at most 2^31, and index from
// 0 to targets - 1. Any grid and block. output must be zero before it, which the step `zero`
// ensures. No shared memory. source and output are 16-byte aligned, as every device allocation is;
// if cols is not a multiple of eight, rows are not aligned, and elements are added one by one.
//
// From: the PTX ISA on vectors of `red` (from 8.1, compute capability 9.0).
#include "index_add/zero.cuh"

__device__ __forceinline__ void add_eight(DTYPE* to, uint4 halves) {
#if __CUDA_ARCH__ >= 900
    asm volatile("red.relaxed.gpu.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};"
                 :: "l"(__cvta_generic_to_global(to)), "r"(halves.x), "r"(halves.y),
                    "r"(halves.z), "r"(halves.w)
                 : "memory");
#else
    const __half2* pairs = reinterpret_cast<const __half2*>(&halves);
#pragma unroll
    for (int j = 0; j < 4; j++) atomicAdd(reinterpret_cast<__half2*>(to) + j, pairs[j]);
#endif
}

__global__ void add(const DTYPE* source, const int* index, DTYPE* output, unsigned int rows,
                    unsigned int cols) {
    const unsigned int step = gridDim.x * blockDim.x;
    const unsigned int start = blockIdx.x * blockDim.x + threadIdx.x;
    if (cols % 8 == 0) {
        const uint4* eights = reinterpret_cast<const uint4*>(source);
        const unsigned int width = cols / 8;
        for (unsigned int i = start; i < rows * width; i += step) {
            add_eight(&output[8 * (index[i / width] * width + i % width)], eights[i]);
        }
    } else {
        for (unsigned int i = start; i < rows * cols; i += step) {
            atomicAdd(&output[index[i / cols] * cols + i % cols], source[i]);
        }
    }
}
